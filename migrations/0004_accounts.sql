-- The money of budgets: one row is one budget, for one subject, in one window. All amounts are micro-dollars.
CREATE TABLE account (
    budget TEXT NOT NULL,
    subject TEXT NOT NULL,
    opened_at BIGINT NOT NULL,
    spent BIGINT NOT NULL,
    reserved BIGINT NOT NULL,
    PRIMARY KEY (budget, subject, opened_at)
);

-- What a running turn has set aside, the same amount in each of its accounts (a JSON list).
CREATE TABLE hold (
    turn TEXT NOT NULL PRIMARY KEY,
    amount BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    accounts TEXT NOT NULL
);

-- Up to which time, in microseconds, the calls of a rate have used up their turns.
CREATE TABLE rate (
    id TEXT NOT NULL PRIMARY KEY,
    used_until BIGINT NOT NULL
);
