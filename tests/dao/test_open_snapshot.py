"""While a transaction stays open, deleted rows stay in the indexes: what is searched from a mark does not walk them."""

from __future__ import annotations

import psycopg
import pytest

from dao.cluster.nodes import Me
from dao.postgres.database import FencedTransaction
from dao.postgres.sql import Sql
from dao.tasks import task_events
from tests.dao.scene import Scene

HANDLED = 10_000
_EVENTS = """INSERT INTO task_event (workflow_instance_id, task_code, attempt, state)
             SELECT :run, n, 1, 'SUCCESS' FROM generate_series(1, :count) AS n"""


@pytest.fixture
def snapshot(database_url: str) -> psycopg.Connection[tuple[object, ...]]:
    """Of a backup, which sees what was there when it began."""
    return psycopg.connect(database_url.replace("+psycopg", ""))


async def pages(connection: FencedTransaction, table: str) -> int:
    """Pages of a table that this transaction has read so far, the same one counted each time."""
    query = Sql("SELECT pg_stat_get_xact_blocks_fetched(CAST(:table AS regclass))")
    return int((await connection.execute(query, {"table": table})).scalar_one())


async def hears(scene: Scene, master: Me, first: int) -> tuple[int, int]:
    """The id of the last event that there was, and pages of the index that were read for it."""
    async with scene.writing() as connection:
        before = await pages(connection, "task_event_pkey") + await pages(connection, "task_event")
        events = await task_events.consume(connection, master.epoch, HANDLED, first=first)
        read = await pages(connection, "task_event_pkey") + await pages(connection, "task_event") - before
    return events[-1].id, read


async def test_events_are_searched_from_the_mark(
    scene: Scene, snapshot: psycopg.Connection[tuple[object, ...]]
) -> None:
    master = await scene.master()
    run = await scene.instance(master)
    with snapshot:
        snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        snapshot.execute("SELECT count(*) FROM task_event")
        await scene.sql(_EVENTS, run=run, count=HANDLED)
        last, _ = await hears(scene, master, 0)
        await scene.sql(_EVENTS, run=run, count=1)
        last, from_mark = await hears(scene, master, last)
        await scene.sql(_EVENTS, run=run, count=1)
        _, from_first = await hears(scene, master, 0)
    assert from_mark <= 10
    assert from_first > 5 * from_mark  # the pages of the deleted rows too
