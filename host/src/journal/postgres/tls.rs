//! TLS to the server: one connector, whose certificate check is never weakened.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::client;

use super::address::Tls;

/// Makes connections private; without a configuration it is never asked to.
#[derive(Clone)]
pub struct Connector(Option<Arc<ClientConfig>>);

/// The handshake failed over what was said in it, not over the network.
#[derive(Debug, thiserror::Error)]
#[error("TLS failed: {0}")]
pub struct Handshake(String);

type Fault = Box<dyn std::error::Error + Send + Sync>;

impl Connector {
    pub fn new(tls: Option<&Tls>) -> Result<Self, String> {
        tls.map(|tls| config(tls.roots.as_deref()).map(Arc::new)).transpose().map(Self)
    }
}

fn config(roots: Option<&Path>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let Some(file) = roots else {
        let builder = builder.with_platform_verifier();
        return builder.map(|builder| builder.with_no_client_auth()).map_err(|error| error.to_string());
    };
    let unread = |error: String| format!("`sslrootcert={}` cannot be read: {error}", file.display());
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unread(error.to_string()))? {
        let certificate = certificate.map_err(|error| unread(error.to_string()))?;
        store.add(certificate).map_err(|error| unread(error.to_string()))?;
    }
    if store.is_empty() {
        return Err(unread("it holds no certificate".to_owned()));
    }
    Ok(builder.with_root_certificates(store).with_no_client_auth())
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Connector {
    type Stream = Private<S>;
    type TlsConnect = Named;
    type Error = Fault;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Named, Fault> {
        let named = |config: &Arc<ClientConfig>| {
            let name = ServerName::try_from(domain.to_owned()).map_err(|_| Handshake("the host is no name to check a certificate for".to_owned()))?;
            Ok::<_, Fault>((Arc::clone(config), name))
        };
        self.0.as_ref().map(named).transpose().map(Named)
    }
}

/// A connector to one host.
pub struct Named(Option<(Arc<ClientConfig>, ServerName<'static>)>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Named {
    type Stream = Private<S>;
    type Error = Fault;
    type Future = BoxFuture<'static, Result<Private<S>, Fault>>;

    fn connect(self, stream: S) -> Self::Future {
        async move {
            let (config, name) = self.0.ok_or_else(|| Handshake("it was not asked for".to_owned()))?;
            match tokio_rustls::TlsConnector::from(config).connect(name, stream).await {
                Ok(stream) => Ok(Private(stream)),
                Err(error) if error.get_ref().is_some() => Err(Handshake(error.to_string()).into()),
                Err(error) => Err(error.into()),
            }
        }
        .boxed()
    }
}

/// A stream that nobody on the way can read.
pub struct Private<S>(client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Private<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Private<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Private<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
