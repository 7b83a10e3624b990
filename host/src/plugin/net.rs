//! Names, addresses and TLS of outgoing requests.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use super::http::{IDLE_TIME, Pool};

/// Names to addresses.
pub trait Resolve: Send + Sync {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The host's own resolver.
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.map(|address: SocketAddr| address.ip()).collect()) })
    }
}

/// What requests of all attempts share.
pub struct Net {
    pub resolver: Arc<dyn Resolve>,
    pub pool: Arc<Pool>,
    /// In place of whom the operating system trusts.
    roots: Option<Arc<RootCertStore>>,
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Net {
    pub fn new(resolver: Arc<dyn Resolve>, roots: Option<Arc<RootCertStore>>) -> Self {
        Self { resolver, pool: Arc::new(Pool::new(IDLE_TIME)), roots, tls: OnceLock::new() }
    }

    /// TLS with the certificates that this host trusts, read at the first request.
    pub fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        self.tls.get_or_init(|| tls_config(self.roots.clone()).map(Arc::new)).clone()
    }
}

fn tls_config(roots: Option<Arc<RootCertStore>>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let builder = match roots {
        Some(roots) => builder.with_root_certificates(roots),
        None => builder.with_platform_verifier().map_err(|error| error.to_string())?,
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// An address that is not a public host's: loopback, private, link-local (cloud metadata), shared, reserved, multicast,
/// or IPv6 that carries such an IPv4 address inside.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    // A public one by which a large cloud's hosts reach their own.
    let cloud = address == Ipv4Addr::new(168, 63, 129, 16);
    cloud
        || matches!(
            (a, b, c),
            (0 | 10 | 127, ..)
                | (100, 64..=127, _)
                | (169, 254, _)
                | (172, 16..=31, _)
                | (192, 0, 0 | 2)
                | (192, 88, 99)
                | (192, 168, _)
                | (198, 18 | 19, _)
                | (198, 51, 100)
                | (203, 0, 113)
                | (224.., ..)
        )
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // ::, ::1, IPv4-compatible and IPv4-mapped.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => embedded(high, low),
        // NAT64.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, ..] => true,
        // 6to4.
        [0x2002, high, low, ..] => embedded(high, low),
        // Teredo, benchmarking, ORCHID and the like; documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, ..] => true,
        // ISATAP.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] if embedded(high, low) => true,
        // Discard-only.
        [0x100, 0, 0, 0, ..] => true,
        // Only 2000::/3 is handed out: everything else is local, multicast or reserved.
        [first, ..] => first & 0xe000 != 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w22_addresses_of_this_host_and_network_are_private() {
        for private in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "2001:470:1:1:0:5efe:a00:1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:0:1::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
        ] {
            assert!(is_private(private.parse().unwrap()), "{private}");
        }
        for public in
            ["1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8"]
        {
            assert!(!is_private(public.parse().unwrap()), "{public}");
        }
    }
}
