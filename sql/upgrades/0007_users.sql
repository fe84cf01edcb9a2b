-- old nodes: may run
-- Accounts, how they log in, what they may do, and what they did.
ALTER TABLE project
    ADD COLUMN tenants text[] CONSTRAINT project_tenants CHECK (cardinality(tenants) > 0),
    ADD COLUMN worker_groups text[] CONSTRAINT project_worker_groups CHECK (cardinality(worker_groups) > 0);
COMMENT ON COLUMN project.tenants IS 'The only tenants that its tasks may name; null = all.';
COMMENT ON COLUMN project.worker_groups IS 'The only worker groups that its tasks may name; null = all.';

CREATE TABLE account (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    name          text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}$'),
    password_hash text,
    is_admin      boolean NOT NULL DEFAULT false,
    version       integer NOT NULL DEFAULT 1 CHECK (version > 0),
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    disabled_at   timestamptz
);
COMMENT ON TABLE account IS 'A person or program that may log in. A row is never deleted: the audit names it.';
COMMENT ON COLUMN account.password_hash IS 'argon2id with its parameters; null = no login by password.';
COMMENT ON COLUMN account.version IS 'Raised by each change: whoever changes it says which version was seen.';
COMMENT ON COLUMN account.disabled_at IS 'Since when it may do nothing; null = it may log in.';
-- Names are ASCII, so that upper and lower case mean the same in every collation.
CREATE UNIQUE INDEX account_name ON account (lower(name));

CREATE TABLE login_link (
    secret_hash bytea PRIMARY KEY CHECK (octet_length(secret_hash) = 32),
    account_id  bigint NOT NULL REFERENCES account (id),
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at  timestamptz NOT NULL,
    used_at     timestamptz
);
COMMENT ON TABLE login_link IS 'A login without a password, once and soon.';
COMMENT ON COLUMN login_link.secret_hash IS 'SHA-256; the secret itself stands in no table.';
CREATE INDEX login_link_account ON login_link (account_id);
-- Statement: what has expired.
CREATE INDEX login_link_expires ON login_link (expires_at);

CREATE TABLE login_session (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    secret_hash  bytea NOT NULL CONSTRAINT login_session_secret UNIQUE CHECK (octet_length(secret_hash) = 32),
    csrf_hash    bytea NOT NULL CHECK (octet_length(csrf_hash) = 32),
    account_id   bigint NOT NULL REFERENCES account (id),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    address      text NOT NULL DEFAULT '',
    user_agent   text NOT NULL DEFAULT ''
);
COMMENT ON TABLE login_session IS 'A browser that is logged in. The row is deleted when the session ends.';
COMMENT ON COLUMN login_session.secret_hash IS 'SHA-256 of what the cookie contains.';
COMMENT ON COLUMN login_session.csrf_hash IS 'SHA-256 of what each changing request repeats in a header.';
COMMENT ON COLUMN login_session.expires_at IS 'When it ends however much it is used; unused it ends earlier.';
COMMENT ON COLUMN login_session.last_seen_at IS 'Written at most once a minute.';
CREATE INDEX login_session_account ON login_session (account_id);
-- Statements: what has expired, what was not used for too long.
CREATE INDEX login_session_expires ON login_session (expires_at);
CREATE INDEX login_session_seen ON login_session (last_seen_at);

CREATE TABLE token (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    secret_hash    bytea NOT NULL CONSTRAINT token_secret UNIQUE CHECK (octet_length(secret_hash) = 32),
    account_id     bigint NOT NULL REFERENCES account (id),
    name           text NOT NULL CHECK (name <> ''),
    scopes         text[] NOT NULL CHECK (cardinality(scopes) > 0),
    projects       text[] CHECK (cardinality(projects) > 0),
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at     timestamptz NOT NULL,
    last_used_at   timestamptz,
    last_used_from text,
    revoked_at     timestamptz
);
COMMENT ON TABLE token IS 'What a program sends instead of a login: its account''s rights, as far as its scopes leave them.';
COMMENT ON COLUMN token.secret_hash IS 'SHA-256 of the whole token.';
COMMENT ON COLUMN token.projects IS 'The only projects that it is for; null = all of its account''s.';
COMMENT ON COLUMN token.last_used_at IS 'Written at most once a minute, with the address.';
-- Of the tokens of an account that are not revoked each has another name.
CREATE UNIQUE INDEX token_name ON token (account_id, name) WHERE revoked_at IS NULL;
CREATE INDEX token_account ON token (account_id, id);

CREATE TABLE project_member (
    account_id bigint NOT NULL REFERENCES account (id),
    project    text NOT NULL CHECK (project <> ''),
    role       text NOT NULL CHECK (role IN ('VIEWER', 'OPERATOR', 'EDITOR', 'OWNER')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account_id, project)
);
COMMENT ON TABLE project_member IS 'What an account may do in a project (docs/users.md). An admin needs no row.';
CREATE INDEX project_member_project ON project_member (project);

CREATE TABLE login_attempt (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name    text NOT NULL,
    address text NOT NULL,
    at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE login_attempt IS 'Logins by password that failed or are being checked; one that succeeded is deleted. Old rows are deleted.';
COMMENT ON COLUMN login_attempt.name IS 'As it was given, in lower case; nobody has to have it.';
COMMENT ON COLUMN login_attempt.address IS 'Of IPv6 the network of 64 bits, all of which one person may have.';
CREATE INDEX login_attempt_name ON login_attempt (name, at);
CREATE INDEX login_attempt_address ON login_attempt (address, at);
-- Statement: what is old.
CREATE INDEX login_attempt_at ON login_attempt (at);

CREATE TABLE audit (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor_kind  text NOT NULL CHECK (actor_kind IN ('SYSTEM_USER', 'SESSION', 'TOKEN', 'NODE')),
    actor       text NOT NULL,
    account_id  bigint,
    action      text NOT NULL CHECK (action <> ''),
    object_kind text NOT NULL,
    object_id   text,
    object_name text,
    project     text,
    before      jsonb,
    after       jsonb,
    address     text NOT NULL DEFAULT '',
    request_id  text NOT NULL DEFAULT '',
    outcome     text NOT NULL CHECK (outcome IN ('DONE', 'DENIED'))
);
COMMENT ON TABLE audit IS 'Who changed what. A row is written by the transaction that makes the change, and never changed.';
COMMENT ON COLUMN audit.actor IS 'A name: of the account, of the user of the operating system, or of the node.';
COMMENT ON COLUMN audit.account_id IS 'Null = the actor is no account.';
COMMENT ON COLUMN audit.action IS 'The name of the operation, such as start_run.';
COMMENT ON COLUMN audit.before IS 'What changed, as it was; secrets are masked. Null = there was nothing.';
COMMENT ON COLUMN audit.after IS 'The same, as it is now. Null = there is nothing any more.';
COMMENT ON COLUMN audit.outcome IS 'DENIED = refused for want of a right; nothing changed.';
-- Statements: pages, newest first, of all (primary key), a project, an actor, an object.
CREATE INDEX audit_project ON audit (project, id) WHERE project IS NOT NULL;
CREATE INDEX audit_actor ON audit (actor, id);
CREATE INDEX audit_object ON audit (object_kind, object_id, id) WHERE object_id IS NOT NULL;

CREATE TABLE idempotency_key (
    actor        text NOT NULL,
    key          text NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    request_hash bytea NOT NULL CHECK (octet_length(request_hash) = 32),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    status       smallint NOT NULL CHECK (status BETWEEN 200 AND 599),
    headers      jsonb NOT NULL CHECK (jsonb_typeof(headers) = 'object'),
    body         bytea NOT NULL,
    PRIMARY KEY (actor, key)
);
COMMENT ON TABLE idempotency_key IS 'The answers to requests that may be repeated, for 24 h. A row is written by the transaction that makes the change, so what has one was done.';
COMMENT ON COLUMN idempotency_key.request_hash IS 'SHA-256 of method, path and body: under one key only the same is asked again.';
-- Statement: what has expired.
CREATE INDEX idempotency_key_created ON idempotency_key (created_at);

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (7, 'users', true);
