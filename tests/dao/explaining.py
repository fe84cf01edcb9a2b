"""What PostgreSQL did for a statement: which indexes it walked and how many rows it read to the end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql

Node = Mapping[str, Any]

_SHOWN = (
    "LOAD 'auto_explain'",
    "SET LOCAL auto_explain.log_analyze = on",
    "SET LOCAL auto_explain.log_timing = off",
    "SET LOCAL auto_explain.log_buffers = on",
    "SET LOCAL auto_explain.log_format = json",
    "SET LOCAL auto_explain.log_level = notice",
)
# The server tells of a SELECT when the next statement begins.
_ON, _OFF = ("SET LOCAL auto_explain.log_min_duration = 0", "SET LOCAL auto_explain.log_min_duration = -1")


@dataclass
class Plan:
    """All that the statements of one function of `dao` did.

    `read` counts rows by what they were read through, `searches` how often each of these began, `compared` the pairs of
    rows that a join looked at in vain. `conditions` are those by which each index was searched. `pages` counts a page
    as often as it was read.
    """

    indexes: set[str] = field(default_factory=set)
    whole_tables: set[str] = field(default_factory=set)
    read: dict[str, int] = field(default_factory=dict)
    searches: dict[str, int] = field(default_factory=dict)
    compared: int = 0
    conditions: dict[str, set[str]] = field(default_factory=dict)
    pages: int = 0

    def add(self, tree: Node) -> None:
        """Take in one statement's plan."""
        self.pages += tree.get("Shared Hit Blocks", 0) + tree.get("Shared Read Blocks", 0)
        for node in _all(tree):
            self.compared += round(node.get("Rows Removed by Join Filter", 0) * node["Actual Loops"])
            index, table = node.get("Index Name"), node.get("Relation Name")
            if node["Node Type"] == "Seq Scan":
                self.whole_tables.add(str(table))
            if index is not None:
                self.indexes.add(index)
                if (condition := node.get("Index Cond")) is not None:
                    self.conditions.setdefault(index, set()).add(condition)
            if (through := index or table) is not None and node["Node Type"] != "ModifyTable":
                rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
                self.read[through] = self.read.get(through, 0) + round(rows * node["Actual Loops"])
                self.searches[through] = self.searches.get(through, 0) + round(node["Actual Loops"])

    @property
    def rows_read(self) -> int:
        """Of all tables but those of nodes and of events, which are small or read as a whole."""
        return sum(rows for through, rows in self.read.items() if not through.startswith(("node", "task_event")))


class Explaining:
    """Stands for a connection: the server says how it executes each statement (its module auto_explain).

    It is executed as it is in production: under the session's `plan_cache_mode`, by a plan that may have been made
    before.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._asked = False
        self.plan = Plan()
        self.info = connection.info

    def savepoint(self) -> Any:
        """As `AsyncConnection.savepoint`."""
        return self._connection.savepoint()

    async def execute(self, statement: Any, values: Any = None) -> Any:
        """As `AsyncConnection.execute`."""
        if not self._asked:
            for setting in _SHOWN:
                await self._connection.execute(Sql(setting))
            self._asked = True
        await self._connection.execute(Sql(_ON))
        driver = self._connection.driver
        driver.add_notice_handler(self._note)
        try:
            done = await self._connection.execute(statement, values)
            await self._connection.execute(Sql(_OFF))
            return done
        finally:
            driver.remove_notice_handler(self._note)

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        said, _, tree = (notice.message_primary or "").partition("plan:\n")
        if said.startswith("duration"):
            self.plan.add(json.loads(tree)["Plan"])


@contextmanager
def undoing(connection: AsyncConnection) -> Iterator[None]:
    """Undo what the block does in a transaction. psycopg, which forgets the kept plans at a ROLLBACK, is not told."""
    server = connection.driver.pgconn
    assert not server.exec_(b"SAVEPOINT before").error_message
    try:
        yield
    finally:
        assert not server.exec_(b"ROLLBACK TO before").error_message


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in node.get("Plans", ()):
        yield from _all(child)
