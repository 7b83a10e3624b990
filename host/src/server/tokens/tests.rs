//! What the token store promises.

use std::os::unix::fs::PermissionsExt;

use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("state/journal.db.tokens")
    }

    /// As another process opens it, so many days later.
    fn after(&self, days: u32) -> Tokens {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        Tokens::new(self.path(), Clock::fixed(later(start, DAY * days)))
    }
}

fn name(token: Result<Option<Token>, TokensError>) -> Option<String> {
    token.unwrap().map(|token| token.name)
}

#[test]
fn a_token_is_known_by_its_text_until_it_is_over_or_revoked() {
    let home = Home::new();
    let text = home.after(0).create("alice", vec![Scope::Approve], Some(DAY * 2)).unwrap();
    let other = home.after(0).create("bob", vec![Scope::Read], None).unwrap();
    assert_eq!(name(home.after(1).by_text(&text)), Some("alice".into()));
    assert_eq!(name(home.after(2).by_text(&text)), None);
    assert_eq!(name(home.after(2).by_text(&other)), Some("bob".into()));
    assert_eq!(name(home.after(0).by_text("pgt_")), None);
    let tokens = home.after(1);
    assert_eq!(name(tokens.by_text(&text)), Some("alice".into()));
    home.after(1).revoke("alice").unwrap();
    assert_eq!(name(tokens.by_text(&text)), None, "another process revoked it");
    assert!(matches!(home.after(1).revoke("alice"), Err(TokensError::Unknown(_))));
}

#[test]
fn the_store_is_private_and_holds_no_secret() {
    let home = Home::new();
    let tokens = home.after(0);
    let text = tokens.create("alice", vec![Scope::Approve], None).unwrap();
    let code = tokens.code("alice").unwrap();
    let stored = fs::read_to_string(home.path()).unwrap();
    let session = tokens.log_in(&code).unwrap().unwrap();
    let stored = stored + &fs::read_to_string(home.path()).unwrap();
    for secret in [text, code, session] {
        assert!(!stored.contains(&secret[4..]), "{stored}");
    }
    for entry in fs::read_dir(home.path().parent().unwrap()).unwrap().map(Result::unwrap) {
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
    }
}

#[test]
fn a_login_code_makes_one_session_and_only_for_a_while() {
    let home = Home::new();
    let tokens = home.after(0);
    tokens.create("alice", vec![Scope::Approve], None).unwrap();
    let (code, late) = (tokens.code("alice").unwrap(), tokens.code("alice").unwrap());
    let session = tokens.log_in(&code).unwrap().unwrap();
    assert_eq!(tokens.log_in(&code).unwrap(), None);
    assert_eq!(name(tokens.by_session(&session)), Some("alice".into()));
    assert_eq!(name(tokens.by_text(&session)), None, "a session is no token");
    assert_eq!(name(home.after(1).by_session(&session)), None);
    assert_eq!(home.after(1).log_in(&late).unwrap(), None);
    assert!(matches!(tokens.code("bob"), Err(TokensError::Unknown(_))));
    tokens.log_out(&session).unwrap();
    assert_eq!(name(tokens.by_session(&session)), None);
}

#[test]
fn a_revoked_token_takes_its_sessions_and_codes_along() {
    let home = Home::new();
    let tokens = home.after(0);
    tokens.create("alice", vec![Scope::Approve], None).unwrap();
    let (session, code) = (tokens.log_in(&tokens.code("alice").unwrap()).unwrap().unwrap(), tokens.code("alice").unwrap());
    tokens.revoke("alice").unwrap();
    tokens.create("alice", vec![Scope::Read], None).unwrap();
    assert_eq!((name(tokens.by_session(&session)), tokens.log_in(&code).unwrap()), (None, None));
}

#[test]
fn a_name_stands_for_one_person_at_a_time() {
    let home = Home::new();
    let tokens = home.after(0);
    tokens.create("alice", vec![Scope::Read], Some(DAY)).unwrap();
    assert!(matches!(tokens.create("alice", vec![Scope::Read], None), Err(TokensError::Taken(_))));
    home.after(2).create("alice", vec![Scope::Read], None).unwrap();
    for name in ["", "Alice", "a b", "a:b", "../x", "-a", &"a".repeat(65)] {
        assert!(matches!(tokens.create(name, vec![Scope::Read], None), Err(TokensError::Name(_))), "{name}");
    }
}

#[test]
fn a_store_that_cannot_be_read_lets_nobody_in_and_is_not_written_over() {
    let home = Home::new();
    home.after(0).create("alice", vec![Scope::Read], None).unwrap();
    for text in ["{", r#"{"version":2,"tokens":[],"codes":[],"sessions":[]}"#, r#"{"version":1,"tokens":[],"codes":[],"sessions":[],"more":1}"#] {
        fs::write(home.path(), text).unwrap();
        assert!(matches!(home.after(0).by_text("pgt_"), Err(TokensError::Damaged { .. })));
        assert!(matches!(home.after(0).create("bob", vec![Scope::Read], None), Err(TokensError::Damaged { .. })));
        assert_eq!(fs::read_to_string(home.path()).unwrap(), text);
    }
}

/// A stored format: this file must stay readable.
#[test]
fn the_first_version_is_read() {
    let home = Home::new();
    fs::create_dir_all(home.path().parent().unwrap()).unwrap();
    let text = format!(
        r#"{{"version":1,"tokens":[{{"name":"alice","hash":"{}","scopes":["read","run","approve","admin"],"created_at":"2026-01-01T00:00:00Z"}}],"codes":[],"sessions":[]}}"#,
        hash("pgt_known")
    );
    fs::write(home.path(), text).unwrap();
    assert_eq!(name(home.after(0).by_text("pgt_known")), Some("alice".into()));
}
