//! `[people]`, and the rules that count them.

use super::*;
use crate::chain::Actor;

fn approvers(text: &str) -> Vec<String> {
    let grants = read_text(&format!("version = 1\n{text}")).unwrap();
    grants.rules[0].approvers.iter().map(ToString::to_string).collect()
}

const PEOPLE: &str = "[people]\nalice = [\"os:alice\", \"os:al@laptop\", \"token:alice\"]\nbob = [\"token:bob\"]\n";

#[test]
fn a_name_is_all_its_identities_or_a_user_of_this_machine() {
    let rule = |names: &str| format!("{PEOPLE}[[rules]]\ntool = \"*\"\neffect = \"ask\"\napprovers = [{names}]\n");
    assert_eq!(approvers(&rule("\"alice\", \"carol\"")), ["os:alice@h", "os:al@laptop", "token:alice", "os:carol@h"]);
    assert_eq!(approvers(&rule("\"bob\"")), ["token:bob"], "with a line the name means nothing but what stands there");
    assert_eq!(approvers(&rule("\"os:alice\", \"os:bob@elsewhere\", \"token:carol\"")), ["os:alice@h", "os:bob@elsewhere", "token:carol"]);
    assert_eq!(approvers(&rule("\"alice\", \"token:alice\"")).len(), 3);
    let people = read_text(&format!("version = 1\n{PEOPLE}")).unwrap().people;
    let person = |actor: &str| people.person(&Actor(actor.into())).to_owned();
    assert_eq!(["os:alice@h", "os:al@laptop", "os:alice@laptop", "token:bob"].map(person), ["alice", "alice", "os:alice@laptop", "bob"]);
}

#[test]
fn a_quorum_and_an_excluded_requester_are_read() {
    let rule = "[[rules]]\ntool = \"*\"\neffect = \"ask\"\napprovers = [\"alice\", \"bob\"]\nquorum = 2\nexclude_requester = true\n";
    let grants = read_text(&format!("version = 1\n{PEOPLE}{rule}")).unwrap();
    assert_eq!((grants.rules[0].quorum.get(), grants.rules[0].exclude_requester), (2, true));
    let anyone = read_text("version = 1\n[[rules]]\ntool = \"*\"\neffect = \"ask\"\nquorum = 9\n").unwrap();
    assert_eq!((anyone.rules[0].quorum.get(), anyone.rules[0].exclude_requester), (9, false));
}

#[test]
fn an_expiry_an_escalation_and_a_reminder_are_read() {
    let rule = "[[rules]]\ntool = \"*\"\neffect = \"ask\"\napprovers = [\"alice\"]\nexpires = \"24h\"\nescalate_after = \"8h\"\nescalate_to = [\"bob\"]\nremind = \"4h\"\n";
    let rules = read_text(&format!("version = 1\n{PEOPLE}{rule}")).unwrap().rules;
    assert_eq!(rules[0].expires, Some(std::time::Duration::from_secs(24 * 3600)));
    assert_eq!(rules[0].remind, Some(std::time::Duration::from_secs(4 * 3600)));
    let escalation = rules[0].escalation.as_ref().unwrap();
    assert_eq!((escalation.after.as_secs(), escalation.to[0].to_string()), (8 * 3600, "token:bob".to_owned()));
}

#[test]
fn w54_a_slip_about_people_is_refused_with_its_line() {
    let people = |lines: &str| format!("version = 1\n[people]\n{lines}");
    let rule = |lines: &str| format!("version = 1\n{PEOPLE}[[rules]]\ntool = \"*\"\neffect = \"ask\"\n{lines}");
    let broken = [
        ("one identity, two people", people("alice = [\"os:al\"]\nbob = [\"os:al@h\"]")),
        ("an identity twice", people("alice = [\"token:a\", \"token:a\"]")),
        ("nobody behind a name", people("alice = []")),
        ("a bare name", people("alice = [\"alice\"]")),
        ("a name that is an identity", people("\"os:alice\" = [\"token:alice\"]")),
        ("a name with a blank", people("\"al ice\" = [\"token:alice\"]")),
        ("an identity with a blank", people("alice = [\"token:al ice\"]")),
        ("as text", people("alice = \"token:alice\"")),
        ("more than there are", rule("approvers = [\"alice\"]\nquorum = 2")),
        ("identities are not people", rule("approvers = [\"os:alice\", \"token:alice\", \"os:al@laptop\"]\nquorum = 2")),
        ("quorum of none", rule("quorum = 0")),
        ("quorum below none", rule("quorum = -1")),
        ("exclude_requester as text", rule("exclude_requester = \"false\"")),
        ("expires without a unit", rule("expires = \"24\"")),
        ("expires at once", rule("expires = \"10ms\"")),
        ("reminded all the time", rule("remind = \"59s\"")),
        ("escalation without a time", rule("approvers = [\"alice\"]\nescalate_to = [\"bob\"]")),
        ("escalation to nobody", rule("approvers = [\"alice\"]\nescalate_after = \"1h\"")),
        ("escalation from anyone", rule("escalate_after = \"1h\"\nescalate_to = [\"bob\"]")),
        ("escalation after the end", rule("approvers = [\"alice\"]\nexpires = \"1h\"\nescalate_after = \"1h\"\nescalate_to = [\"bob\"]")),
    ];
    insta::assert_snapshot!(reports(&broken), @r#"
    one identity, two people: 4: `people.bob`: os:al@h stands for `alice` already | an identity is one person's, once
    an identity twice: 3: `people.alice`: token:a stands for `alice` already | an identity is one person's, once
    nobody behind a name: 3: `people.alice` is empty
    a bare name: 3: `people.alice`: "alice" is no identity | write `os:alice` for that user of this machine, or `token:alice`
    a name that is an identity: 3: "os:alice" is no person's name | a name holds no `:` and no blanks
    a name with a blank: 3: "al ice" is no person's name | a name holds no `:` and no blanks
    an identity with a blank: 3: `people.alice`: "token:al ice" is no name
    as text: 3: `people.alice` must be an array, not a string
    more than there are: 9: a quorum of 2 among 1 approvers can never be reached | identities of one person count once; name more approvers, or lower the quorum
    identities are not people: 9: a quorum of 2 among 1 approvers can never be reached | identities of one person count once; name more approvers, or lower the quorum
    quorum of none: 8: `rules.quorum` must be at least 1
    quorum below none: 8: `rules.quorum` must be at least 1
    exclude_requester as text: 8: `rules.exclude_requester` must be true or false, not a string
    expires without a unit: 8: `rules.expires`: "24" is no time above zero in ms, s, m or h, such as "30s"
    expires at once: 8: `rules.expires` is shorter than a second
    reminded all the time: 8: `rules.remind` is shorter than a minute
    escalation without a time: 9: `escalate_after` and `escalate_to` stand together
    escalation to nobody: 9: `escalate_after` and `escalate_to` stand together
    escalation from anyone: 9: the rule names no `approvers`, so that anyone decides from the first | name who decides first
    escalation after the end: 10: the pause has expired by then | escalate earlier, or let it expire later
    "#);
}
