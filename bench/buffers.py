"""What the statements of the hot loops read when nothing waits: pages touched, by EXPLAIN (ANALYZE, BUFFERS).

Executed after the load measurements, so that there are deleted rows that VACUUM has left. A
page is 8 kB; a few polls a second must touch few pages, and no table may be read in full.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from sqlalchemy import text

from bench.cluster import Cluster
from bench.figures import Figure
from dao.cluster import gone_nodes, nodes
from dao.commands import commands, waiting_work
from dao.postgres.database import Database, FencedTransaction
from dao.postgres.engine import AsyncConnection
from dao.tasks import task_claims, task_events
from model.cluster.slots import Slot
from model.ids import Epoch

PART = "What an idle statement reads, after the loads"
_STEAL_AFTER = timedelta(seconds=5)
Statement = Callable[[FencedTransaction], Awaitable[object]]


@dataclass
class _Read:
    pages: int = 0
    ms: float = 0
    whole_tables: tuple[str, ...] = ()


class _Explaining:
    """Replaces a connection: explains each statement of `dao`, rolls it back, then executes it."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self.info = connection.info
        self.read = _Read()

    async def execute(self, statement: Any, values: Any = None) -> Any:
        undone = await self._connection.begin_nested()
        explain = text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement.text}")
        found = (await self._connection.execute(explain, values)).scalar_one()
        [said] = found if isinstance(found, list) else json.loads(found)
        top = said["Plan"]
        self.read.pages += top["Shared Hit Blocks"] + top["Shared Read Blocks"]
        self.read.ms += said["Execution Time"]
        self.read.whole_tables += tuple(
            str(node["Relation Name"]) for node in _nodes(top) if node["Node Type"] == "Seq Scan"
        )
        await undone.rollback()
        return await self._connection.execute(statement, values)


def idle_statements(cluster: Cluster) -> list[Figure]:
    """Pages read by each: the claim of commands, the polls of master and worker, the events, the claim of tasks."""
    master = Epoch(cluster.one("SELECT max(id) FROM node WHERE kind = 'MASTER'"))
    worker = Epoch(cluster.one("SELECT max(id) FROM node WHERE kind = 'WORKER'"))
    slot = Slot(0, 1)
    statements: dict[str, tuple[str, Statement]] = {
        "claim_commands": ("claim of commands", lambda c: commands.claim(c, slot, 500, 1)),
        "master_look": ("the master's look", lambda c: waiting_work.work_waits(c, slot, _STEAL_AFTER, 1, master)),
        "consume_events": ("the master's events", lambda c: task_events.consume(c, master, 500)),
        "claim_tasks": ("claim of tasks", lambda c: task_claims.claim(c, ["default"], 256, worker)),
        "worker_look": ("the worker's look", lambda c: task_claims.work_waits(c, ["default"], worker)),
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
