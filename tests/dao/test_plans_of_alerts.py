"""What senders ask and what people look up of a long history of alerts: by index, and little."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import pytest
import pytest_asyncio

from dao.alerts import alert_listings as alerts
from dao.alerts import channels, deliveries, routing
from dao.alerts.alert_listings import AlertFilter
from dao.alerts.deliveries import ClaimedChannel, ClaimTerms, Retry
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.secrets.vault import Sealed
from tests.dao.explaining import Explaining

ROWS, CHANNELS, WAITING = 40_000, 20, 2_000
FULL = f"""
    INSERT INTO alert_channel (name, kind, url, key_id)
    SELECT 'c' || n, 'json', '', 'k' FROM generate_series(1, {CHANNELS}) n;
    INSERT INTO alert_group (name) VALUES ('default');
    INSERT INTO alert_group_channel SELECT 1, id FROM alert_channel;
    INSERT INTO alert (kind, severity, subject, project, state)
    SELECT 'RULE', 'INFO', 's', 'p' || n % 50, CASE WHEN n > {ROWS - 100} THEN 'WAIT' ELSE 'EXPANDED' END
    FROM generate_series(1, {ROWS}) n;
    INSERT INTO alert_delivery (alert_id, channel_id, state, sent_at, tries)
    SELECT n, 1 + n % {CHANNELS},
           CASE WHEN n > {ROWS - WAITING} THEN 'WAIT' WHEN n % 8000 = 0 THEN 'FAILED' ELSE 'SENT' END,
           CASE WHEN n <= {ROWS - WAITING} THEN now() END, 0
    FROM generate_series(1, {ROWS}) n;
"""
STATISTICS = {
    "none": "DELETE FROM pg_statistic WHERE starelid >= 16384;"
    "UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0 WHERE oid >= 16384",
    "fresh": "ANALYZE",
}
SMALL = {"alert_channel"}
"""It has a row for each place to which people have alerts sent."""
MINE = ClaimedChannel(1, "c1", Sealed(b"", "k"), None, None, "mine", ())
TERMS = ClaimTerms("test", lease_s=30, batch=10)
EACH = set(range(ROWS - 20, ROWS, CHANNELS))

Call = Callable[[AsyncConnection], Awaitable[Any]]
CALLS: dict[str, tuple[Call, set[str], int]] = {
    "expansion": (lambda c: routing.expand(c, 20), {"alert_wait"}, 3_000),
    "claim": (
        lambda c: deliveries.claim(c, TERMS, 4, has_failed=False),
        {"alert_delivery_wait", "alert_pkey"},
        400,
    ),
    "claim of what failed": (
        lambda c: deliveries.claim(c, TERMS, 4, has_failed=True),
        {"alert_delivery_wait"},
        400,
    ),
    "sent": (lambda c: deliveries.record_sent(c, MINE, [*EACH], None), set(), 40),
    "failed": (lambda c: deliveries.record_failed(c, MINE, EACH, "x", Retry(pause_s=1, retry_for_s=9)), set(), 40),
    "page of all": (lambda c: alerts.page(c, AlertFilter(None, ()), 50, None), {"alert_pkey"}, 60),
    "page of a project": (
        lambda c: alerts.page(c, AlertFilter({"p7"}, (), project="p7"), 50, None),
        {"alert_project"},
        120,
    ),
    "page of what failed": (
        lambda c: alerts.page(c, AlertFilter(None, (), result="FAILED"), 50, None),
        {"alert_delivery_failed"},
        40,
    ),
    "page of what failed of a project": (
        lambda c: alerts.page(c, AlertFilter({"p0"}, (), project="p0", result="FAILED"), 50, None),
        {"alert_delivery_failed"},
        40,
    ),
    "page of what nobody gets": (
        lambda c: alerts.page(c, AlertFilter(None, (), result="NOBODY"), 50, None),
        {"alert_nobody"},
        5,
    ),
    "page of what waits": (
        lambda c: alerts.page(c, AlertFilter(None, (), result="WAIT"), 50, None),
        {"alert_delivery_wait", "alert_wait"},
        3 * WAITING,
    ),
    "results": (lambda c: alerts.deliveries(c, [*range(1, 51)]), {"alert_delivery_pkey"}, 1_200),
    "channels": (lambda c: channels.all_channels(c), {"alert_delivery_wait", "alert_delivery_sent"}, 3 * WAITING),
}


@pytest_asyncio.fixture(params=STATISTICS)
async def full(database_url: str, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    database = Database(database_url, application_name="test-plans")
    async with database.writing() as connection:
        for statement in FULL.split(";\n"):
            if statement.strip():
                await connection.execute(Sql(statement))
    async with database.writing() as connection:
        for statement in STATISTICS[request.param].split(";"):
            await connection.execute(Sql(statement))
    yield database
    await database.close()


async def test_each_walks_its_index_and_reads_little(full: Database) -> None:
    wrong = []
    for name, (call, indexes, limit) in CALLS.items():
        try:
            async with full.writing() as connection:
                explaining = Explaining(connection)
                await call(cast(AsyncConnection, explaining))
                plan = explaining.plan
                read = sum(plan.read.values())
                if plan.whole_tables - SMALL or not indexes <= plan.indexes or read > limit:
                    wrong.append(f"{name}: {sorted(plan.indexes)} {plan.whole_tables} {read} {plan.read}")
                raise _Undone
        except _Undone:
            pass
    assert not wrong, "\n".join(wrong)


class _Undone(Exception):
    pass
