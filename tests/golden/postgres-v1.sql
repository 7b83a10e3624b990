-- A journal of version 1 in PostgreSQL, as the first release made and wrote it; the hash is by another program.
CREATE SCHEMA pausegate;
SET search_path = pausegate;
CREATE TABLE version (number bigint NOT NULL);
INSERT INTO version VALUES (1);
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
INSERT INTO event VALUES ('ch_golden', 1, '2026-01-02T03:04:01.002000000Z', 'ChainStarted', '{"started_by":"os:alice@host","settings":{"model":"script:demo.json","system":"Be brief.","max_turns":20,"parallel_calls":4,"pauses_per_call":20,"repeats":3,"calls_per_turn":128},"tools":[{"name":"files__delete","plugin":"files","tool":"delete","title":"Delete a file","description":"Deletes one file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"output_schema":{"type":"object"},"effects":"once","plugin_digest":"sha256:abababababababababababababababababababababababababababababababab"},{"name":"files__list","plugin":"files","tool":"list","description":"Lists a folder.","input_schema":{"type":"object"},"effects":"read-only","plugin_digest":"sha256:abababababababababababababababababababababababababababababababab"}],"messages":[{"role":"system","parts":[{"type":"text","text":"Be brief."}]},{"role":"user","parts":[{"type":"text","text":"clean up /build — „alles“"},{"type":"from_a_newer_writer","x":[1,2.5,null]}],"metadata":{"k":1}}],"continues":"ch_01jgfj1zzz0000000000000000"}', 1, '\x0000000000000000000000000000000000000000000000000000000000000000', '\xc1b9447cc2eafd3a60e2925a3fe6572854211952b4634001527f6f26d3b98cdf');
INSERT INTO chain VALUES ('ch_golden', 1, '\xc1b9447cc2eafd3a60e2925a3fe6572854211952b4634001527f6f26d3b98cdf', 1, NULL, NULL, NULL, NULL, 'runnable', '', 'the first', NULL, 0, 0, 0, 'os:alice@host', '2026-01-02T03:04:01.002000000Z', '2026-01-02T03:04:01.002000000Z');
