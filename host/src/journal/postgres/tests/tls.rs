//! Asked for TLS, it is TLS with the right certificate, or nothing is said.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};

use crate::journal::postgres::address::Address;
use crate::journal::tests::sample::{Chain, Home, clock};
use crate::journal::{Journal, JournalError, PostgresJournal};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/journal/postgres/tests/tls");

async fn opened(url: &str) -> Result<PostgresJournal, JournalError> {
    let journal = PostgresJournal::new(Address::parse(url, None).unwrap(), clock())?;
    journal.ready().await.map(|()| journal)
}

/// TLS in front of the tests' server; returns the port.
async fn tls_before(socket: std::path::PathBuf) -> u16 {
    let folder = Path::new(FOLDER);
    let certificate = CertificateDer::from_pem_file(folder.join("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let builder = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let (acceptor, mut server) = (acceptor.clone(), UnixStream::connect(&socket).await.unwrap());
            tokio::spawn(async move {
                let mut request = [0; 8];
                client.read_exact(&mut request).await.unwrap();
                assert_eq!(request, [0, 0, 0, 8, 4, 210, 22, 47], "it asks for TLS before anything else");
                client.write_all(b"S").await.unwrap();
                if let Ok(mut client) = acceptor.accept(client).await {
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn a_certificate_is_checked_for_who_signed_it_and_for_the_host() {
    let Home::Postgres(address) = Home::postgres() else { unreachable!("it was asked for") };
    let tokio_postgres::config::Host::Unix(folder) = &address.config.get_hosts()[0] else { panic!("a socket") };
    let port = tls_before(folder.join(".s.PGSQL.5432")).await;
    let database = address.config.get_dbname().unwrap();
    let url = |host: &str, rest: &str| format!("postgres://pausegate@{host}:{port}/{database}?sslmode=verify-full{rest}");
    let ca = format!("&sslrootcert={FOLDER}/ca.pem");
    let journal = opened(&url("localhost", &ca)).await.unwrap();
    Chain::started(&journal, "ch_1").await;
    for (host, rest, expected) in
        [("localhost", "", "invalid peer certificate"), ("127.0.0.1", &*ca, "invalid peer certificate: certificate not valid for name")]
    {
        let error = opened(&url(host, rest)).await.map(drop).unwrap_err();
        assert!(matches!(&error, JournalError::Unusable { message, .. } if message.contains(expected)), "{host} {rest}: {error:?}");
    }
    let error = opened(&url("localhost", "&sslrootcert=/nowhere.pem")).await.map(drop).unwrap_err();
    assert!(error.to_string().contains("`sslrootcert=/nowhere.pem` cannot be read"), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_hears_nothing_but_the_question_for_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut request = [0; 8];
        client.read_exact(&mut request).await.unwrap();
        client.write_all(b"N").await.unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        rest
    });
    let error = opened(&format!("postgres://u:s3cret@localhost:{port}/d?sslmode=require")).await.map(drop).unwrap_err();
    assert!(matches!(&error, JournalError::Unusable { message, .. } if message == "server does not support TLS"), "{error:?}");
    assert_eq!(heard.await.unwrap(), b"");
}
