-- Approvals that hold for calls to come. The body says for what exactly.
CREATE TABLE remembered_approval (
    capability TEXT NOT NULL,
    body TEXT NOT NULL
);

CREATE INDEX remembered_approval_by_capability ON remembered_approval (capability);
