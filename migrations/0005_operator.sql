-- What operators said that was not taken up yet: a halt stands until it is lifted, the rest until the turn has it in its journal.
CREATE TABLE operator_order (
    id TEXT NOT NULL PRIMARY KEY,
    turn TEXT,
    body TEXT NOT NULL
);

-- The process that drives the turn, while it runs.
ALTER TABLE turn ADD COLUMN driver TEXT;

-- The audit log: a chain of lines, each hashed with the hash before it. The place is the key, so no two can follow the same line.
CREATE TABLE audit (
    place INTEGER NOT NULL PRIMARY KEY,
    body TEXT NOT NULL,
    hash TEXT NOT NULL
);
