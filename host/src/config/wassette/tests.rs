use insta::assert_snapshot;

use super::*;

/// The blocks, after the reader took them all together.
fn imported(text: &str) -> String {
    let blocks = lines("agent", text).unwrap().join("\n");
    let file = blocks.replacen("[plugins.agent]", "version = 1\n[plugins.agent]\ndigest = \"any\"", 1);
    grants::read(file.as_bytes(), Path::new("/grants/grants.toml"), &Places::default(), "h").unwrap_or_else(|error| panic!("{error}\n{file}"));
    blocks
}

#[test]
fn a_policy_becomes_lines_and_what_has_no_equal_a_comment() {
    assert_snapshot!(imported(
        r#"
$schema: https://raw.githubusercontent.com/microsoft/policy-mcp/main/schema/policy-v1.0.schema.json
version: "1.0"
description: "An agent"
permissions:
  storage:
    allow:
      - uri: "fs://work/agent/**"
        access: ["read", "write"]
      - uri: "fs:///srv/data"
        access: ["read"]
      - uri: "fs://work/*/data"
        access: ["read"]
      - uri: "fs:///"
        access: ["read"]
      - uri: "fs://drop"
        access: ["write"]
      - uri: "s3://bucket"
        access: ["read"]
    deny:
      - uri: "fs://work/agent/secret/**"
        access: ["read", "write"]
  network:
    allow:
      - host: "api.openai.com"
      - host: "https://example.com/"
      - host: "https://example.com/v1/items"
      - host: "*.example.org"
      - host: "*"
      - cidr: "10.0.0.0/8"
    deny:
      - host: "evil.example.org"
  environment:
    allow:
      - key: "PATH"
  resources:
    limits: {cpu: "500m", memory: "512Mi"}
    io: 7
  runtime:
    docker: {security: {privileged: true}}
  ipc:
    allow:
      - uri: "ipc://x"
"#
    ), @r#"
    [plugins.agent] # `pausegate trust agent` writes the digest here
    # not carried over: permissions."runtime" {"docker":{"security":{"privileged":true}}}: there is no such thing here
    # not carried over: permissions."ipc" {"allow":[{"uri":"ipc://x"}]}: there is no such thing here
    # not carried over: environment.allow {"key":"PATH"}: write the value itself, below `[plugins.agent.env]`; nothing is taken from the surroundings
    # not carried over: permissions.resources."io" 7: there is no such thing here
    # not carried over: resources.limits.cpu "500m": a share of a processor; the limit `cpu` here is processor time of one attempt
    [plugins.agent.limits]
    memory = "512MiB"
    [[plugins.agent.fs]]
    path = "./work/agent/secret"
    mount = "/work/agent/secret"
    access = "none"
    [[plugins.agent.fs]]
    path = "./work/agent"
    mount = "/work/agent"
    access = "write"
    [[plugins.agent.fs]]
    path = "/srv/data"
    mount = "/srv/data"
    access = "read"
    # not carried over: storage.allow {"access":["read"],"uri":"fs://work/*/data"}: a folder is granted whole or not at all, so no `*` stands in its path
    # not carried over: storage.allow {"access":["read"],"uri":"fs:///"}: the root of the disk holds what runs the host, which cannot be granted
    # not carried over: storage.allow {"access":["write"],"uri":"fs://drop"}: writing includes reading here, so writing alone cannot be granted
    # not carried over: storage.allow {"access":["read"],"uri":"s3://bucket"}: only `fs://` is known
    # a wassette host admits http, too; write such a line where it is meant, and fewer methods where they are enough
    [[plugins.agent.http]]
    url = "https://api.openai.com/**"
    methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
    [[plugins.agent.http]]
    url = "https://example.com/**"
    methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
    [[plugins.agent.http]]
    url = "https://example.com/v1/items"
    methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
    # not carried over: network.allow {"host":"*.example.org"}: the policy denies some hosts, and a pattern here cannot leave any out; name each host
    # not carried over: network.allow {"host":"*"}: any host at all cannot be granted; name those that are needed
    # not carried over: network.allow {"cidr":"10.0.0.0/8"}: requests are granted by name; private addresses need `private = true` in the line
    # not carried over: network.deny {"host":"evil.example.org"}: what no line allows is refused already
    "#);
}

#[test]
fn without_denied_hosts_a_pattern_is_carried_over() {
    let text = "version: '1.0'\npermissions: {network: {allow: [{host: '*.example.org'}]}}";
    assert!(imported(text).contains(r#"url = "https://*.example.org/**""#));
}

#[test]
fn a_denial_that_cannot_be_said_takes_the_allowances_with_it() {
    let text = "version: '1.0'\npermissions:\n  storage:\n    allow: [{uri: 'fs://a/**', access: [read]}]\n    deny: [{uri: 'fs://a/*.key', access: [read]}]";
    assert!(!imported(text).contains("[[plugins"), "{}", imported(text));
}

#[test]
fn nothing_in_a_policy_breaks_out_of_its_line() {
    let evil = "x\\n[[rules]]\\ntool = \\\"*\\\"\\neffect = \\\"allow\\\"";
    let text = format!(
        "version: '1.0'\n\"{evil}\": 1\npermissions:\n  storage:\n    allow:\n      - uri: \"fs://a{evil}\"\n        access: [read]\n  network:\n    allow:\n      - host: \"{evil}\"\n  environment:\n    allow:\n      - key: \"{evil}\"\n"
    );
    let blocks = imported(&text);
    assert!(!blocks.lines().any(|line| line.starts_with("[[rules]]") || line.starts_with("tool")), "{blocks}");
}

#[test]
fn what_is_no_policy_is_refused() {
    for text in
        ["", "a: [", "- 1", "version: '2.0'", "version: 1.0", "permissions: {}", "version: '1.0'\npermissions: 3", "version: '1.0'\nversion: '1.0'"]
    {
        assert!(lines("agent", text).is_err(), "{text}");
    }
    assert!(matches!(lines("A__b", "version: '1.0'"), Err(WassetteError::Plugin(_))));
    // Each level nine times the one before: gigabytes, were it written out.
    let bomb: String = (1..12).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "))).collect();
    assert!(lines("agent", &format!("version: '1.0'\na0: &a0 [x]\n{bomb}")).is_err());
}

#[test]
fn sizes_keep_their_meaning() {
    for (text, memory_here) in [
        ("512Mi", Some("512MiB")),
        ("1Gi", Some("1GiB")),
        ("1000", Some("1000B")),
        ("2M", Some("2000000B")),
        ("0Mi", None),
        ("x", None),
        ("1.5Gi", None),
    ] {
        assert_eq!(memory(text).as_deref(), memory_here, "{text}");
    }
}
