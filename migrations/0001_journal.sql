-- The journal: one row is one commit of one turn. The key refuses a second writer at the same place.
CREATE TABLE journal (
    turn TEXT NOT NULL,
    seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (turn, seq)
);

-- What lists show of a turn. It can be made again from the journal at any time.
CREATE TABLE turn (
    id TEXT NOT NULL PRIMARY KEY,
    trace TEXT NOT NULL,
    tenant TEXT NOT NULL,
    title TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    started_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    spent BIGINT NOT NULL
);

CREATE INDEX turn_by_start ON turn (started_at);
CREATE INDEX turn_by_trace ON turn (trace);
