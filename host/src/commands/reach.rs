//! Lines of the grants file that give nothing on this machine, whatever they say: said where lines are looked at.

use url::{Host, Url};

use crate::capability::{Access, FsGrant, HttpGrant, PluginGrants};
use crate::plugin::is_private;

/// Line number and why, in the file's order.
pub fn out_of_reach(section: &PluginGrants) -> Vec<(usize, String)> {
    let fs = section.fs.iter().filter_map(|grant| Some((grant.line, folder(grant)?)));
    let http = section.http.iter().filter_map(|grant| Some((grant.line, address(grant)?)));
    let mut found: Vec<_> = fs.chain(http).collect();
    found.sort();
    found
}

fn folder(grant: &FsGrant) -> Option<String> {
    let path = grant.path.display();
    match std::fs::metadata(&grant.path) {
        _ if grant.access == Access::None => None,
        Ok(found) if found.is_dir() || grant.one_file => None,
        Ok(found) if found.is_file() => Some(format!("`{path}` became one file since the grants were read; start again")),
        Ok(_) => Some(format!("`{path}` is neither a folder nor a file")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(format!("the folder is not there (`{path}`)")),
        Err(error) => Some(format!("`{path}` cannot be looked at: {error}")),
    }
}

/// Of a name that is looked up only the answer tells; a literal address and `localhost` say it themselves.
fn address(grant: &HttpGrant) -> Option<String> {
    let url = Url::parse(&grant.url).ok()?;
    let private = match url.host()? {
        Host::Ipv4(address) => is_private(address.into()),
        Host::Ipv6(address) => is_private(address.into()),
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
    };
    (private && !grant.private).then(|| "its host is a private address, and the line lacks `private = true`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::{OnMissing, When};

    #[test]
    fn private_hosts_need_the_word() {
        let check = |url: &str, private| {
            address(&HttpGrant {
                url: url.to_owned(),
                methods: vec!["GET".into()],
                private,
                secret: None,
                when: When::Always,
                on_missing: OnMissing::default(),
                tools: Default::default(),
                line: 1,
            })
            .is_some()
        };
        for url in ["http://127.0.0.1:8080/**", "http://localhost/v1/{args.id}", "http://api.localhost/**", "http://[::1]/**", "https://10.0.0.1/**"]
        {
            assert!(check(url, false), "{url}");
            assert!(!check(url, true), "{url}");
        }
        for url in ["https://api.test/**", "https://*.example.org/**", "https://8.8.8.8/**", "http://localhost.example/**"] {
            assert!(!check(url, false), "{url}");
        }
    }
}
