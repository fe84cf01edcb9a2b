"""The pages that the statements of the hot loops read when nothing waits, by EXPLAIN (ANALYZE, BUFFERS).

Executed after the load measurements, so that there are deleted rows that VACUUM has left. A page is 8 kB; a few polls a
second must touch few pages, and no table may be read in full, except those with one row a pool. Looks and claims search
from the marks that an idle node has a few seconds after a load, and now and then from the first ids.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from bench.cluster import Cluster
from bench.figures import Figure
from dao.cluster import gone_nodes, nodes
from dao.commands import commands, waiting_work
from dao.postgres.database import Database, FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.tasks import task_claims, task_events
from model.choices import Priority
from model.cluster.low_water import ALL_EVERY_S, FROM_FIRST, GRACE_S, MarkOfQueue, Marks, MarksOfLooks
from model.cluster.slots import Slot
from model.ids import Epoch

PART = "What an idle statement reads, after the loads"
_STEAL_AFTER = timedelta(seconds=5)
_SMALL = {"resource_pool", "task_instance_id_seq"}
"""Tables of one page: a row a pool, and what has the last id that was given."""
Statement = Callable[[FencedTransaction], Awaitable[object]]


@dataclass
class _Read:
    pages: int = 0
    ms: float = 0
    whole_tables: tuple[str, ...] = ()


_SAVEPOINT = Sql("SAVEPOINT explained")
_UNDONE = Sql("ROLLBACK TO SAVEPOINT explained")


class _Explaining:
    """Replaces a connection: explains each statement of `dao`, rolls it back, then executes it."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self.info = connection.info
        self.read = _Read()

    async def execute(self, statement: Any, values: Any = None) -> Any:
        await self._connection.execute(_SAVEPOINT)
        explain = Sql(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement.text}")
        found = (await self._connection.execute(explain, values)).scalar_one()
        [said] = found if isinstance(found, list) else json.loads(found)
        top = said["Plan"]
        self.read.pages += top["Shared Hit Blocks"] + top["Shared Read Blocks"]
        self.read.ms += said["Execution Time"]
        self.read.whole_tables += tuple(
            str(node["Relation Name"])
            for node in _nodes(top)
            if node["Node Type"] == "Seq Scan" and node["Relation Name"] not in _SMALL
        )
        await self._connection.execute(_UNDONE)
        return await self._connection.execute(statement, values)


def idle_statements(cluster: Cluster) -> list[Figure]:
    """Pages read by each: the claim of commands, the polls of master and worker, the events, the claim of tasks."""
    master = Epoch(cluster.one("SELECT max(id) FROM node WHERE kind = 'MASTER'"))
    worker = Epoch(cluster.one("SELECT max(id) FROM node WHERE kind = 'WORKER'"))
    last_event, last_run = (
        cluster.one(f"SELECT last_value FROM {table}_id_seq") for table in ("task_event", "workflow_instance")
    )
    slot, groups, places = Slot(0, 1), ["default"], {Priority.MEDIUM: {"default": last_run}}

    def master_look(marks: Marks) -> Statement:
        return lambda c: waiting_work.work_waits(c, slot, _STEAL_AFTER, 1, master, marks=marks)

    def worker_look(first: int) -> Statement:
        return lambda c: task_claims.work_waits(c, groups, worker, first=first, runs=False)

    marks, mark = asyncio.run(_settled(cluster.url, slot, groups, master, worker, last_event))
    every = f"{ALL_EVERY_S:.0f} s"
    statements: dict[str, tuple[str, Statement]] = {
        "claim_commands": ("claim of commands", lambda c: commands.claim(c, slot, 500, 1)),
        "master_look": ("the master's look", master_look(marks)),
        "master_look_all": (f"the same from the first ids, every {every}", master_look(FROM_FIRST)),
        "consume_events": ("the master's events", lambda c: task_events.consume(c, master, 500, first=marks.event)),
        "claim_tasks": ("claim of tasks", lambda c: task_claims.claim(c, groups, 256, worker, places)),
        "worker_look": ("the worker's look", worker_look(mark)),
        "worker_look_all": (f"the same in the whole queue, every {every}", worker_look(0)),
        "sweep": ("the master's look for what dead nodes left", gone_nodes.work_left),
        "living": ("who lives", nodes.living),
    }
    found = asyncio.run(_explain(cluster.url, {key: statement for key, (_, statement) in statements.items()}))
    churned = _dead_rows(cluster)
    figures = []
    for key, (what, _) in statements.items():
        read = found[key]
        how = f"{read.ms:.2f} ms" + (
            f"; READS WHOLE TABLES: {', '.join(read.whole_tables)}" if read.whole_tables else ""
        )
        details = {"ms": read.ms, "whole_tables": list(read.whole_tables), "tables": churned}
        figures.append(Figure(f"pages_{key}", PART, what, read.pages, "pages", how=how, details=details))
    return figures


async def _settled(
    url: str, slot: Slot, groups: list[str], master: Epoch, worker: Epoch, last_event: int
) -> tuple[Marks, int]:
    """The marks of a master that has consumed all its events, and of a worker, after a few looks of each."""
    database = Database(url, application_name="bench-looks", connections_max=1)
    marks, mark = MarksOfLooks(), MarkOfQueue()
    try:
        for second in range(5):
            times_s = (2.0 * second, 2.0 * second)
            async with database.reading() as connection:
                waiting = await waiting_work.work_waits(connection, slot, _STEAL_AFTER, 1, master)
                waits = await task_claims.work_waits(connection, groups, worker)
            given = Marks(waiting.now_s, last_event + 1)
            marks.looked((waiting.oldest_s, waiting.events), given, waiting.horizon, times_s)
            mark.looked(found=waits.queued, given=waits.given + 1, horizon=waits.horizon, times_s=times_s)
            await asyncio.sleep(GRACE_S)
    finally:
        await database.close()
    return marks.now, mark.now


async def _explain(url: str, statements: dict[str, Statement]) -> dict[str, _Read]:
    database = Database(url, application_name="bench-explain", connections_max=1)
    found = {}
    try:
        for key, statement in statements.items():
            async with database.writing() as connection:
                explaining = _Explaining(connection)
                await statement(cast(FencedTransaction, explaining))  # only its `execute` is called
                found[key] = explaining.read
    finally:
        await database.close()
    return found


def _dead_rows(cluster: Cluster) -> dict[str, dict[str, object]]:
    """Dead rows that the load left in the tables, according to the server's statistics."""
    rows = cluster.rows(
        """SELECT relname, n_tup_ins, n_tup_del, n_tup_upd, n_tup_hot_upd, n_dead_tup, autovacuum_count,
                  pg_indexes_size(relid) FROM pg_stat_user_tables
           WHERE relname IN ('command', 'task_event', 'task_instance', 'workflow_instance')"""
    )
    names = ("inserted", "deleted", "updated", "updated_hot", "dead", "autovacuums", "index_bytes")
    return {str(row[0]): dict(zip(names, row[1:], strict=True)) for row in rows}


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)
