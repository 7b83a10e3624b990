-- A journal of version 5 in SQLite, as its release made and wrote it; the hashes are by another program.
    CREATE TABLE event (
        chain TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        payload TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        prev_hash BLOB NOT NULL,
        hash BLOB NOT NULL,
        UNIQUE (chain, seq)
    ) STRICT;
    CREATE TABLE chain (
        id TEXT NOT NULL PRIMARY KEY,
        head INTEGER NOT NULL,
        head_hash BLOB NOT NULL,
        epoch INTEGER NOT NULL,
        holder TEXT,
        status TEXT NOT NULL,
        detail TEXT NOT NULL,
        title TEXT NOT NULL,
        model TEXT,
        turns INTEGER NOT NULL,
        calls INTEGER NOT NULL,
        open_pauses INTEGER NOT NULL,
        started_by TEXT NOT NULL,
        started_at TEXT NOT NULL,
        updated_at TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX chain_by_start ON chain (started_at, id);
    CREATE TABLE call (
        chain TEXT NOT NULL,
        turn INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        id TEXT NOT NULL,
        tool TEXT NOT NULL,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        PRIMARY KEY (chain, turn, ordinal)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE pause (
        id TEXT NOT NULL PRIMARY KEY,
        chain TEXT NOT NULL,
        status TEXT NOT NULL,
        opened_at TEXT NOT NULL,
        open TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pause_open ON pause (opened_at, id) WHERE status = 'open';
    CREATE INDEX pause_by_chain ON pause (chain);
    CREATE TABLE keyvalue (
        plugin TEXT NOT NULL,
        chain TEXT NOT NULL,
        number INTEGER NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL,
        bytes INTEGER NOT NULL,
        UNIQUE (plugin, chain, key),
        UNIQUE (plugin, chain, number)
    ) STRICT;
    CREATE INDEX keyvalue_usage ON keyvalue (plugin, chain, bytes);
    ALTER TABLE chain ADD COLUMN place TEXT;
    CREATE INDEX chain_runnable ON chain (id) WHERE status = 'runnable';
    CREATE TABLE outbox (
        id TEXT NOT NULL PRIMARY KEY,
        channel TEXT NOT NULL,
        what TEXT NOT NULL,
        chain TEXT NOT NULL,
        while_open TEXT,
        every INTEGER,
        number INTEGER NOT NULL,
        body TEXT NOT NULL,
        due INTEGER NOT NULL,
        tries INTEGER NOT NULL,
        why TEXT,
        parked INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX outbox_due ON outbox (due, id) WHERE parked = 0;
    CREATE TABLE plugin (
        digest TEXT NOT NULL PRIMARY KEY,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE TABLE plugin_need (
        chain TEXT NOT NULL,
        plugin TEXT NOT NULL,
        PRIMARY KEY (chain, plugin)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX plugin_needed ON plugin_need (plugin);
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 1, '2026-01-02T03:04:01.002000000Z', 'ChainStarted', '{"started_by":"os:alice@host","settings":{"model":"script:demo.json","system":"Be brief.","max_turns":20,"parallel_calls":4,"pauses_per_call":20,"repeats":3,"calls_per_turn":128},"tools":[{"name":"files__delete","plugin":"files","tool":"delete","title":"Delete a file","description":"Deletes one file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"output_schema":{"type":"object"},"effects":"once","plugin_digest":"sha256:abababababababababababababababababababababababababababababababab"},{"name":"files__list","plugin":"files","tool":"list","description":"Lists a folder.","input_schema":{"type":"object"},"effects":"read-only","plugin_digest":"sha256:abababababababababababababababababababababababababababababababab"}],"messages":[{"role":"system","parts":[{"type":"text","text":"Be brief."}]},{"role":"user","parts":[{"type":"text","text":"clean up /build — „alles“"},{"type":"from_a_newer_writer","x":[1,2.5,null]}],"metadata":{"k":1}}],"continues":"ch_01jgfj1zzz0000000000000000"}', 1, x'0000000000000000000000000000000000000000000000000000000000000000', x'c1b9447cc2eafd3a60e2925a3fe6572854211952b4634001527f6f26d3b98cdf');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 2, '2026-01-02T03:04:02.003000000Z', 'TurnReceived', '{"turn":1,"origin":"model","parts":[{"type":"text","text":"I will."},{"type":"tool_call","name":"files__list","arguments":{"path":"/build"},"tool_call_id":"call_1"}],"verbatim":{"format":"anthropic","message":{"role":"assistant","content":[{"type":"text","text":"I will."}]}},"usage":{"input_tokens":120,"output_tokens":30},"calls":[{"call":{"turn":1,"ordinal":0},"id":"call_1","tool":"files__list","text":"{\"path\":\"/build\"}","arguments":{"path":"/build"}},{"call":{"turn":1,"ordinal":1},"id":"tc_01jgfj1zzz0000000000000001","provider_id":"","tool":"files__delete","text":"{\"path\": \"/build/a.tmp\"}","arguments":{"path":"/build/a.tmp"}},{"call":{"turn":1,"ordinal":2},"id":"call_3","tool":"files__delete","text":"{\"path\": ","arguments":null}]}', 1, x'c1b9447cc2eafd3a60e2925a3fe6572854211952b4634001527f6f26d3b98cdf', x'a6b9ca598ea842a939e99eeab2a1675379bba58c3b9573358299bbba56b766b7');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 3, '2026-01-02T03:04:03.004000000Z', 'CallFinished', '{"call":{"turn":1,"ordinal":2},"status":"failed","result":{"result":"failure","kind":"invalid-input","message":"arguments are not valid JSON"}}', 1, x'a6b9ca598ea842a939e99eeab2a1675379bba58c3b9573358299bbba56b766b7', x'be82201a538dc1c583a2f9172f51814e3e4fa0782e8163388b012ac197b51056');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 4, '2026-01-02T03:04:04.005000000Z', 'CallsReadied', '{"calls":[{"call":{"turn":1,"ordinal":0},"digest":"sha256:abababababababababababababababababababababababababababababababab"}]}', 1, x'be82201a538dc1c583a2f9172f51814e3e4fa0782e8163388b012ac197b51056', x'c2622d97dcbd670c11f9ea9785d0a54733b96984700b1803a1460a7773d7a4e6');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 5, '2026-01-02T03:04:05.006000000Z', 'PauseOpened', '{"pause":{"id":"pa_01jgfj1zzz0000000000000002","call":{"turn":1,"ordinal":1},"call_id":"tc_01jgfj1zzz0000000000000001","kind":"gate","tool":"files__delete","plugin":"files","effects":"once","arguments":{"path":"/build/a.tmp"},"key":"","reason":"grants.toml:31 asks","ask":{"type":"approval"},"opens":[{"capability":"fs","mount":"/build","host":"/srv/build","access":"write","only":"/build/a.tmp"},{"capability":"http","url":"https://api.test/v1/*","methods":["POST"],"private":false}],"shut":["grants.toml:12: `/build/../a` is not in normal form"],"because":["grants.toml:31: ask files__delete"],"requirements":{"approvers":[["os:alice@host","os:bob@host"]],"on_deny":"stop"},"uses":{"fs_writes":0,"http_requests":0,"http_effects":0},"call_digest":"sha256:abababababababababababababababababababababababababababababababab","digest":"sha256:cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","opened_at":"2026-01-02T03:04:05Z","status":"open"}}', 1, x'c2622d97dcbd670c11f9ea9785d0a54733b96984700b1803a1460a7773d7a4e6', x'88a45a3d1c55f63b02f4047b550b04a92eb0e3a4d395f1842c00516a1430adeb');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 6, '2026-01-02T03:04:06.007000000Z', 'CallsStarted', '{"calls":[{"call":{"turn":1,"ordinal":0},"attempt":1,"digest":"sha256:abababababababababababababababababababababababababababababababab","effects":"read-only","approved":false}]}', 1, x'88a45a3d1c55f63b02f4047b550b04a92eb0e3a4d395f1842c00516a1430adeb', x'f82512dd3c53c36a015d8a05d7258d6914adba5d871c5b6ae307b77c2f4c46de');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 7, '2026-01-02T03:04:07.008000000Z', 'CallFinished', '{"call":{"turn":1,"ordinal":0},"status":"succeeded","result":{"result":"success","content":[{"type":"text","text":"a.tmp"},{"type":"structured","value":{"entries":["a.tmp"]}},{"type":"blob","media_type":"image/png","data":"aGk="}]},"uses":{"fs_writes":0,"http_requests":1,"http_effects":0},"refusals":[{"attempted":"fs write /etc","allow_with":"access = \"write\""}]}', 1, x'f82512dd3c53c36a015d8a05d7258d6914adba5d871c5b6ae307b77c2f4c46de', x'41b6c40cd1f1dc0df48fc7f4f8c43faaf0149beaaab1951268ff5165acd5ef91');
INSERT INTO chain (id, head, head_hash, epoch, holder, status, detail, title, model, turns, calls, open_pauses, started_by, started_at, updated_at, place) VALUES ('ch_golden', 7, x'41b6c40cd1f1dc0df48fc7f4f8c43faaf0149beaaab1951268ff5165acd5ef91', 1, NULL, 'paused', '', 'clean up /build — „alles“', 'script:demo.json', 1, 3, 1, 'os:alice@host', '2026-01-02T03:04:01.002000000Z', '2026-01-02T03:04:07.008000000Z', NULL);
INSERT INTO call (chain, turn, ordinal, id, tool, status, attempts) VALUES ('ch_golden', 1, 0, 'call_1', 'files__list', 'succeeded', 1);
INSERT INTO call (chain, turn, ordinal, id, tool, status, attempts) VALUES ('ch_golden', 1, 1, 'tc_01jgfj1zzz0000000000000001', 'files__delete', 'paused', 0);
INSERT INTO call (chain, turn, ordinal, id, tool, status, attempts) VALUES ('ch_golden', 1, 2, 'call_3', 'files__delete', 'failed', 0);
INSERT INTO pause (id, chain, status, opened_at, open) VALUES ('pa_01jgfj1zzz0000000000000002', 'ch_golden', 'open', '2026-01-02T03:04:05.000000000Z', '{"id":"pa_01jgfj1zzz0000000000000002","call":{"turn":1,"ordinal":1},"call_id":"tc_01jgfj1zzz0000000000000001","kind":"gate","tool":"files__delete","plugin":"files","effects":"once","arguments":{"path":"/build/a.tmp"},"key":"","reason":"grants.toml:31 asks","ask":{"type":"approval"},"opens":[{"capability":"fs","mount":"/build","host":"/srv/build","access":"write","only":"/build/a.tmp"},{"capability":"http","url":"https://api.test/v1/*","methods":["POST"],"private":false}],"shut":["grants.toml:12: `/build/../a` is not in normal form"],"because":["grants.toml:31: ask files__delete"],"requirements":{"approvers":[["os:alice@host","os:bob@host"]],"on_deny":"stop"},"uses":{"fs_writes":0,"http_requests":0,"http_effects":0},"call_digest":"sha256:abababababababababababababababababababababababababababababababab","digest":"sha256:cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","opened_at":"2026-01-02T03:04:05Z","status":"open"}');
INSERT INTO keyvalue (plugin, chain, number, key, value, bytes) VALUES ('files', 'ch_golden', 1, 'seen', x'612e746d70', 9);
INSERT INTO keyvalue (plugin, chain, number, key, value, bytes) VALUES ('files', '', 1, 'total', x'3431', 7);
INSERT INTO outbox (id, channel, what, chain, while_open, every, number, body, due, tries, why, parked) VALUES ('nt_golden', 'ops', 'pause.opened', 'ch_golden', 'pa_01jgfj1zzz0000000000000002', NULL, 1, '{"what":"pause.opened","at":"2026-01-02T03:04:05.006Z","chain":"ch_golden","seq":5,"title":"clean up","started_by":"os:alice@host"}', 1767323045006, 0, NULL, 0);
INSERT INTO plugin (digest, bytes) VALUES ('sha256:8e219e290b178799a1de0e4c486ce602d19d7b9601a5d284ed5e8e48d4c59b70', x'0061736d206173206974207761730a');
INSERT INTO plugin_need (chain, plugin) VALUES ('ch_golden', 'sha256:8e219e290b178799a1de0e4c486ce602d19d7b9601a5d284ed5e8e48d4c59b70');
PRAGMA application_id = 1346857580;
PRAGMA user_version = 5;
