//! Promises that every store keeps, one file per subject; each test runs on both.

mod append;
mod audit;
mod claim;
mod damage;
mod fold;
mod golden;
mod hold;
mod kept;
mod keyvalue;
mod list;
mod machine;
mod outbox;
pub mod sample;
#[path = "../../../tests/support/postgres.rs"]
pub mod server;
mod together;

/// Each promise as a function, and a module of its name with a test for each store.
macro_rules! on_both_stores {
    ($($(#[doc = $why:literal])* async fn $name:ident($home:ident) $body:block)*) => { $(
        $(#[doc = $why])*
        async fn $name($home: $crate::journal::tests::sample::Home) $body

        mod $name {
            use $crate::journal::tests::sample::Home;

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn sqlite() {
                super::$name(Home::sqlite()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn postgres() {
                super::$name(Home::postgres()).await;
            }
        }
    )* };
}
use on_both_stores;
