"""What each request reads first, its session or token, and the pages of the audit: by their index, and little."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import pytest
import pytest_asyncio

from dao.accounts import audit, expired, idempotency, login_attempts, sessions, tokens
from dao.accounts.audit import AuditFilter
from dao.accounts.idempotency import KeyedRequest
from dao.commands import bulk_operations
from dao.definitions import definitions
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.accounts.audits import Outcome
from model.ids import AuditId, WorkflowCode
from tests.dao.explaining import Explaining

ROWS = 20_000
FULL = f"""
    INSERT INTO account (name) SELECT 'name' || n FROM generate_series(1, {ROWS}) n;
    INSERT INTO project_member (account_id, project, role)
    SELECT 1 + n % {ROWS}, 'project' || n % 100, 'VIEWER' FROM generate_series(1, {ROWS}) n;
    INSERT INTO login_session (secret_hash, csrf_hash, account_id, expires_at, last_seen_at)
    SELECT sha256(int4send(n)), sha256(int4send(n)), n, now() + interval '1 day', now() - interval '1 h'
    FROM generate_series(1, {ROWS}) n;
    INSERT INTO token (secret_hash, account_id, name, scopes, expires_at)
    SELECT sha256(int4send(n)), n, 'ci', '{{admin}}', now() + interval '1 day' FROM generate_series(1, {ROWS}) n;
    INSERT INTO login_attempt (name, address, at)
    SELECT 'name' || n % 5000, 'address' || n % 5000, now() - n * interval '0.05 s' FROM generate_series(1, {ROWS}) n;
    INSERT INTO project (name) SELECT 'project' || n FROM generate_series(1, {ROWS}) n ON CONFLICT DO NOTHING;
    INSERT INTO workflow_definition (code, project, name)
    SELECT n, 'project' || 1 + n % 100, 'w' || n FROM generate_series(1, {ROWS}) n;
    INSERT INTO idempotency_key (actor, key, request_hash, status, headers, body)
    SELECT 'account ' || n % 100, n::text, sha256(''), 200, '{{}}', '' FROM generate_series(1, {ROWS}) n;
    INSERT INTO audit (actor_kind, actor, account_id, action, object_kind, object_id, project, outcome)
    SELECT 'SESSION', 'name' || n % 500, n % 500, 'start_run', 'run', (n % 500)::text, 'project' || n % 100, 'DONE'
    FROM generate_series(1, {ROWS}) n;
    INSERT INTO bulk_operation (action, state, wanted, total, last_run, actor_kind, actor, ended_at)
    SELECT 'STOP', CASE WHEN n % 5000 = 0 THEN 'RUNNING' ELSE 'DONE' END,
           '{{"states": [], "workflow": null, "project": null, "since": null, "until": null, "children": true,
              "visible": null, "conditions": {{"triggers": [], "master": null, "worker": null, "parameters": [],
              "words": null}}}}',
           1, 1, 'SESSION', 'ada', CASE WHEN n % 5000 > 0 THEN now() END FROM generate_series(1, {ROWS}) n;
"""
STATISTICS = {
    "none": "DELETE FROM pg_statistic WHERE starelid >= 16384;"
    "UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0 WHERE oid >= 16384",
    "fresh": "ANALYZE",
}

Call = Callable[[AsyncConnection, bytes], Awaitable[Any]]
CALLS: dict[str, tuple[Call, set[str], int]] = {
    "session": (lambda c, secret: sessions.find(c, secret), {"login_session_secret", "account_pkey"}, 12),
    "token": (lambda c, secret: tokens.find(c, {secret: "10.0.0.1"}), {"token_secret", "account_pkey"}, 12),
    "unknown session": (lambda c, _: sessions.find(c, b"x" * 32), {"login_session_secret"}, 1),
    "attempt": (lambda c, _: login_attempts.begin(c, "name7", "address7"), {"login_attempt_name"}, 16),
    "token and 50 that are none": (
        lambda c, secret: tokens.find(c, dict.fromkeys([secret, *(bytes([n]) * 32 for n in range(50))], "::1")),
        {"token_secret", "account_pkey"}, 12,
    ),
    "idempotency key": (
        lambda c, _: idempotency.begin(c, KeyedRequest("account 7", "107", b"x")), {"idempotency_key_pkey"}, 1,
    ),
    "64 idempotency keys": (
        lambda c, _: idempotency.begin_all(c, [KeyedRequest("account 7", str(n), b"x") for n in range(7, 6_407, 100)]),
        {"idempotency_key_pkey"}, 64,
    ),
    "workflows to start": (
        lambda c, _: definitions.heads(c, [WorkflowCode(n) for n in range(1, 65)]),
        {"workflow_definition_pkey", "project_name"}, 128,
    ),
    "what has expired": (
        lambda c, _: expired.delete(c), {"login_attempt_at", "idempotency_key_created", "bulk_operation_ended"}, 2_100,
    ),
    "the next part of a bulk operation": (
        lambda c, _: bulk_operations.lock_next(c), {"bulk_operation_running"}, 8,
    ),
    "audit of all": (lambda c, _: audit.page(c, AuditFilter(), 50), {"audit_pkey"}, 100),
    "audit, a later page": (lambda c, _: audit.page(c, AuditFilter(), 50, AuditId(9_000)), {"audit_pkey"}, 100),
    "audit of a project": (lambda c, _: audit.page(c, AuditFilter({"project7"}), 50), {"audit_project"}, 110),
    "audit of three projects": (
        lambda c, _: audit.page(c, AuditFilter({"project7", "project8", "none"}), 50), {"audit_project"}, 250,
    ),
    "audit of an actor": (lambda c, _: audit.page(c, AuditFilter(actor="name7"), 50), {"audit_actor"}, 60),
    "audit of an action that nobody took": (
        lambda c, _: audit.page(c, AuditFilter(action="save_user"), 50), {"audit_action"}, 0,
    ),
    "audit of what was denied, nothing": (
        lambda c, _: audit.page(c, AuditFilter(outcome=Outcome.DENIED), 50), {"audit_denied"}, 0,
    ),
    "audit of an object": (
        lambda c, _: audit.page(c, AuditFilter(object_kind="run", object_id="7"), 50), {"audit_object"}, 60,
    ),
}  # fmt: skip


@pytest_asyncio.fixture
async def full(database: Database) -> AsyncIterator[AsyncConnection]:
    async with database.writing() as connection:
        for statement in FULL.split(";\n"):
            if statement.strip():
                await connection.execute(Sql(statement))
        yield connection


@pytest.mark.parametrize("statistics", STATISTICS)
async def test_a_request_reads_by_its_index_and_no_more_than_it_must(full: AsyncConnection, statistics: str) -> None:
    for statement in STATISTICS[statistics].split(";"):
        await full.execute(Sql(statement))
    secret = (await full.execute(Sql("SELECT secret_hash FROM token WHERE id = 7"))).scalar_one()
    for name, (call, indexes, rows_read_max) in CALLS.items():
        explaining = Explaining(full)
        try:
            await call(cast(AsyncConnection, explaining), secret)
        except idempotency.OtherRequest:
            assert name == "idempotency key"
        plan = explaining.plan
        assert not plan.whole_tables, (name, plan)
        assert indexes <= plan.indexes, (name, plan)
        assert sum(plan.read.values()) <= rows_read_max, (name, plan)
