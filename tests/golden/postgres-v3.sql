-- A journal of version 3 in PostgreSQL, as its release made and wrote it; the hashes are by another program.
CREATE SCHEMA pausegate;
SET search_path = pausegate;
CREATE TABLE version (number bigint NOT NULL);
INSERT INTO version (number) VALUES (3);
    CREATE TABLE event (
        chain text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        at text NOT NULL,
        kind text NOT NULL,
        payload text NOT NULL,
        epoch bigint NOT NULL,
        prev_hash bytea NOT NULL,
        hash bytea NOT NULL,
        PRIMARY KEY (chain, seq)
    );
    CREATE TABLE chain (
        id text COLLATE "C" PRIMARY KEY,
        head bigint NOT NULL,
        head_hash bytea NOT NULL,
        epoch bigint NOT NULL,
        holder text,
        token text,
        lease_until timestamptz,
        place text,
        status text NOT NULL,
        detail text NOT NULL,
        title text NOT NULL,
        model text,
        turns bigint NOT NULL,
        calls bigint NOT NULL,
        open_pauses bigint NOT NULL,
        started_by text NOT NULL,
        started_at text COLLATE "C" NOT NULL,
        updated_at text COLLATE "C" NOT NULL
    ) WITH (fillfactor = 70);
    CREATE INDEX chain_by_start ON chain (started_at, id) WHERE head > 0;
    CREATE INDEX chain_runnable ON chain (id) WHERE status = 'runnable';
    CREATE INDEX chain_waiting ON chain (id) WHERE status IN ('paused', 'blocked');
    CREATE TABLE call (
        chain text COLLATE "C" NOT NULL,
        turn bigint NOT NULL,
        ordinal bigint NOT NULL,
        id text NOT NULL,
        tool text NOT NULL,
        status text NOT NULL,
        attempts bigint NOT NULL,
        PRIMARY KEY (chain, turn, ordinal)
    ) WITH (fillfactor = 80);
    CREATE TABLE pause (
        id text COLLATE "C" PRIMARY KEY,
        chain text COLLATE "C" NOT NULL,
        status text NOT NULL,
        opened_at text COLLATE "C" NOT NULL,
        open text
    );
    CREATE INDEX pause_open ON pause (opened_at, id) WHERE status = 'open';
    CREATE INDEX pause_by_chain ON pause (chain);
    CREATE TABLE keyvalue (
        plugin text COLLATE "C" NOT NULL,
        chain text COLLATE "C" NOT NULL,
        number bigint NOT NULL,
        key bytea NOT NULL,
        value bytea NOT NULL,
        bytes bigint NOT NULL,
        PRIMARY KEY (plugin, chain, key),
        UNIQUE (plugin, chain, number)
    );
    CREATE TABLE outbox (
        id text COLLATE "C" PRIMARY KEY,
        channel text COLLATE "C" NOT NULL,
        what text NOT NULL,
        chain text COLLATE "C" NOT NULL,
        while_open text COLLATE "C",
        every bigint,
        number bigint NOT NULL,
        body text NOT NULL,
        due bigint NOT NULL,
        tries bigint NOT NULL,
        why text,
        parked boolean NOT NULL
    );
    CREATE INDEX outbox_due ON outbox (due, id) WHERE NOT parked;
    CREATE TABLE plugin (
        digest text COLLATE "C" PRIMARY KEY,
        bytes bytea NOT NULL
    );
    CREATE TABLE plugin_need (
        chain text COLLATE "C" NOT NULL,
        plugin text COLLATE "C" NOT NULL,
        PRIMARY KEY (chain, plugin)
    );
    CREATE INDEX plugin_needed ON plugin_need (plugin);
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 1, '2026-01-02T03:04:01.002000000Z', 'ChainStarted', '{"started_by":"os:alice@host","settings":{"model":"script:demo.json","system":"Be brief.","max_turns":20,"parallel_calls":4,"pauses_per_call":20,"repeats":3,"calls_per_turn":128},"tools":[{"name":"files__delete","plugin":"files","tool":"delete","title":"Delete a file","description":"Deletes one file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"output_schema":{"type":"object"},"effects":"once","plugin_digest":"sha256:abababababababababababababababababababababababababababababababab"},{"name":"files__list","plugin":"files","tool":"list","description":"Lists a folder.","input_schema":{"type":"object"},"effects":"read-only","plugin_digest":"sha256:abababababababababababababababababababababababababababababababab"}],"messages":[{"role":"system","parts":[{"type":"text","text":"Be brief."}]},{"role":"user","parts":[{"type":"text","text":"clean up /build — „alles“"},{"type":"from_a_newer_writer","x":[1,2.5,null]}],"metadata":{"k":1}}],"continues":"ch_01jgfj1zzz0000000000000000"}', 1, '\x0000000000000000000000000000000000000000000000000000000000000000', '\xc1b9447cc2eafd3a60e2925a3fe6572854211952b4634001527f6f26d3b98cdf');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 2, '2026-01-02T03:04:02.003000000Z', 'TurnReceived', '{"turn":1,"origin":"model","parts":[{"type":"text","text":"I will."},{"type":"tool_call","name":"files__list","arguments":{"path":"/build"},"tool_call_id":"call_1"}],"verbatim":{"format":"anthropic","message":{"role":"assistant","content":[{"type":"text","text":"I will."}]}},"usage":{"input_tokens":120,"output_tokens":30},"calls":[{"call":{"turn":1,"ordinal":0},"id":"call_1","tool":"files__list","text":"{\"path\":\"/build\"}","arguments":{"path":"/build"}},{"call":{"turn":1,"ordinal":1},"id":"tc_01jgfj1zzz0000000000000001","provider_id":"","tool":"files__delete","text":"{\"path\": \"/build/a.tmp\"}","arguments":{"path":"/build/a.tmp"}},{"call":{"turn":1,"ordinal":2},"id":"call_3","tool":"files__delete","text":"{\"path\": ","arguments":null}]}', 1, '\xc1b9447cc2eafd3a60e2925a3fe6572854211952b4634001527f6f26d3b98cdf', '\xa6b9ca598ea842a939e99eeab2a1675379bba58c3b9573358299bbba56b766b7');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 3, '2026-01-02T03:04:03.004000000Z', 'CallFinished', '{"call":{"turn":1,"ordinal":2},"status":"failed","result":{"result":"failure","kind":"invalid-input","message":"arguments are not valid JSON"}}', 1, '\xa6b9ca598ea842a939e99eeab2a1675379bba58c3b9573358299bbba56b766b7', '\xbe82201a538dc1c583a2f9172f51814e3e4fa0782e8163388b012ac197b51056');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 4, '2026-01-02T03:04:04.005000000Z', 'CallsReadied', '{"calls":[{"call":{"turn":1,"ordinal":0},"digest":"sha256:abababababababababababababababababababababababababababababababab"}]}', 1, '\xbe82201a538dc1c583a2f9172f51814e3e4fa0782e8163388b012ac197b51056', '\xc2622d97dcbd670c11f9ea9785d0a54733b96984700b1803a1460a7773d7a4e6');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 5, '2026-01-02T03:04:05.006000000Z', 'PauseOpened', '{"pause":{"id":"pa_01jgfj1zzz0000000000000002","call":{"turn":1,"ordinal":1},"call_id":"tc_01jgfj1zzz0000000000000001","kind":"gate","tool":"files__delete","plugin":"files","effects":"once","arguments":{"path":"/build/a.tmp"},"key":"","reason":"grants.toml:31 asks","ask":{"type":"approval"},"opens":[{"capability":"fs","mount":"/build","host":"/srv/build","access":"write","only":"/build/a.tmp"},{"capability":"http","url":"https://api.test/v1/*","methods":["POST"],"private":false}],"shut":["grants.toml:12: `/build/../a` is not in normal form"],"because":["grants.toml:31: ask files__delete"],"requirements":{"approvers":[["os:alice@host","os:bob@host"]],"on_deny":"stop"},"uses":{"fs_writes":0,"http_requests":0,"http_effects":0},"call_digest":"sha256:abababababababababababababababababababababababababababababababab","digest":"sha256:cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","opened_at":"2026-01-02T03:04:05Z","status":"open"}}', 1, '\xc2622d97dcbd670c11f9ea9785d0a54733b96984700b1803a1460a7773d7a4e6', '\x88a45a3d1c55f63b02f4047b550b04a92eb0e3a4d395f1842c00516a1430adeb');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 6, '2026-01-02T03:04:06.007000000Z', 'CallsStarted', '{"calls":[{"call":{"turn":1,"ordinal":0},"attempt":1,"digest":"sha256:abababababababababababababababababababababababababababababababab","effects":"read-only","approved":false}]}', 1, '\x88a45a3d1c55f63b02f4047b550b04a92eb0e3a4d395f1842c00516a1430adeb', '\xf82512dd3c53c36a015d8a05d7258d6914adba5d871c5b6ae307b77c2f4c46de');
INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES ('ch_golden', 7, '2026-01-02T03:04:07.008000000Z', 'CallFinished', '{"call":{"turn":1,"ordinal":0},"status":"succeeded","result":{"result":"success","content":[{"type":"text","text":"a.tmp"},{"type":"structured","value":{"entries":["a.tmp"]}},{"type":"blob","media_type":"image/png","data":"aGk="}]},"uses":{"fs_writes":0,"http_requests":1,"http_effects":0},"refusals":[{"attempted":"fs write /etc","allow_with":"access = \"write\""}]}', 1, '\xf82512dd3c53c36a015d8a05d7258d6914adba5d871c5b6ae307b77c2f4c46de', '\x41b6c40cd1f1dc0df48fc7f4f8c43faaf0149beaaab1951268ff5165acd5ef91');
INSERT INTO chain (id, head, head_hash, epoch, holder, status, detail, title, model, turns, calls, open_pauses, started_by, started_at, updated_at, place) VALUES ('ch_golden', 7, '\x41b6c40cd1f1dc0df48fc7f4f8c43faaf0149beaaab1951268ff5165acd5ef91', 1, NULL, 'paused', '', 'clean up /build — „alles“', 'script:demo.json', 1, 3, 1, 'os:alice@host', '2026-01-02T03:04:01.002000000Z', '2026-01-02T03:04:07.008000000Z', NULL);
INSERT INTO call (chain, turn, ordinal, id, tool, status, attempts) VALUES ('ch_golden', 1, 0, 'call_1', 'files__list', 'succeeded', 1);
INSERT INTO call (chain, turn, ordinal, id, tool, status, attempts) VALUES ('ch_golden', 1, 1, 'tc_01jgfj1zzz0000000000000001', 'files__delete', 'paused', 0);
INSERT INTO call (chain, turn, ordinal, id, tool, status, attempts) VALUES ('ch_golden', 1, 2, 'call_3', 'files__delete', 'failed', 0);
INSERT INTO pause (id, chain, status, opened_at, open) VALUES ('pa_01jgfj1zzz0000000000000002', 'ch_golden', 'open', '2026-01-02T03:04:05.000000000Z', '{"id":"pa_01jgfj1zzz0000000000000002","call":{"turn":1,"ordinal":1},"call_id":"tc_01jgfj1zzz0000000000000001","kind":"gate","tool":"files__delete","plugin":"files","effects":"once","arguments":{"path":"/build/a.tmp"},"key":"","reason":"grants.toml:31 asks","ask":{"type":"approval"},"opens":[{"capability":"fs","mount":"/build","host":"/srv/build","access":"write","only":"/build/a.tmp"},{"capability":"http","url":"https://api.test/v1/*","methods":["POST"],"private":false}],"shut":["grants.toml:12: `/build/../a` is not in normal form"],"because":["grants.toml:31: ask files__delete"],"requirements":{"approvers":[["os:alice@host","os:bob@host"]],"on_deny":"stop"},"uses":{"fs_writes":0,"http_requests":0,"http_effects":0},"call_digest":"sha256:abababababababababababababababababababababababababababababababab","digest":"sha256:cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","opened_at":"2026-01-02T03:04:05Z","status":"open"}');
INSERT INTO keyvalue (plugin, chain, number, key, value, bytes) VALUES ('files', 'ch_golden', 1, '\x7365656e', '\x612e746d70', 9);
INSERT INTO keyvalue (plugin, chain, number, key, value, bytes) VALUES ('files', '', 1, '\x746f74616c', '\x3431', 7);
INSERT INTO outbox (id, channel, what, chain, while_open, every, number, body, due, tries, why, parked) VALUES ('nt_golden', 'ops', 'pause.opened', 'ch_golden', 'pa_01jgfj1zzz0000000000000002', NULL, 1, '{"what":"pause.opened","at":"2026-01-02T03:04:05.006Z","chain":"ch_golden","seq":5,"title":"clean up","started_by":"os:alice@host"}', 1767323045006, 0, NULL, false);
INSERT INTO plugin (digest, bytes) VALUES ('sha256:8e219e290b178799a1de0e4c486ce602d19d7b9601a5d284ed5e8e48d4c59b70', '\x0061736d206173206974207761730a');
INSERT INTO plugin_need (chain, plugin) VALUES ('ch_golden', 'sha256:8e219e290b178799a1de0e4c486ce602d19d7b9601a5d284ed5e8e48d4c59b70');
