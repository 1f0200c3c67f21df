-- Definitions from outside that a person agreed to. Anything else is held back.
CREATE TABLE pin (
    capability TEXT NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL,
    contract TEXT NOT NULL,
    "by" TEXT NOT NULL,
    why TEXT NOT NULL,
    at BIGINT NOT NULL
);
