//! TLS to a mail server: its certificate is checked against whom the operating system trusts, or the channel's `authority`.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Host;

use super::Undelivered;
use crate::config::notify::Mail;
use crate::file;

/// Of a file of certificates; what operating systems trust is a third of that.
const AUTHORITY_BYTES_MAX: u64 = 1 << 20;

pub async fn over_tls(stream: TcpStream, mail: &Mail) -> Result<TlsStream<TcpStream>, Undelivered> {
    let config = config(mail.authority.as_deref()).map_err(Undelivered::Now)?;
    let name = match &mail.server.host {
        Host::Domain(name) => {
            ServerName::try_from(name.clone()).map_err(|_| Undelivered::Now("its name is none that a certificate has".to_owned()))?
        }
        Host::Ipv4(address) => ServerName::from(std::net::IpAddr::from(*address)),
        Host::Ipv6(address) => ServerName::from(std::net::IpAddr::from(*address)),
    };
    let shaken = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    shaken.map_err(|error| Undelivered::Now(format!("TLS failed: {error}")))
}

fn config(authority: Option<&Path>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let builder = match authority {
        Some(path) => builder.with_root_certificates(roots(path)?),
        None => builder.with_platform_verifier().map_err(|error| error.to_string())?,
    };
    Ok(builder.with_no_client_auth())
}

fn roots(path: &Path) -> Result<RootCertStore, String> {
    let unread = |why: String| format!("`authority` `{}` cannot be read: {why}", path.display());
    let bytes = file::read(path, AUTHORITY_BYTES_MAX).map_err(|error| unread(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let added = certificate.map_err(|error| error.to_string()).and_then(|certificate| roots.add(certificate).map_err(|error| error.to_string()));
        added.map_err(unread)?;
    }
    if roots.is_empty() { Err(unread("it holds no certificate".to_owned())) } else { Ok(roots) }
}
