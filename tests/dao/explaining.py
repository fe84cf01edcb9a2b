"""What PostgreSQL did for a statement: which indexes it walked and how many rows it read to the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection

Node = Mapping[str, Any]


@dataclass
class Plan:
    """All that the statements of one function of `dao` did.

    `read` counts rows by what they were read through, `searches` how often each of these began, `compared` the pairs of
    rows that a join looked at in vain. `conditions` are those by which each index was searched.
    """

    indexes: set[str] = field(default_factory=set)
    whole_tables: set[str] = field(default_factory=set)
    read: dict[str, int] = field(default_factory=dict)
    searches: dict[str, int] = field(default_factory=dict)
    compared: int = 0
    conditions: dict[str, set[str]] = field(default_factory=dict)

    def add(self, tree: Node) -> None:
        """Take in one statement's plan."""
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


class Explaining:
    """Stands for a connection: each statement is explained, with what really happened, undone, and then executed."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self.plan = Plan()
        self.info = connection.info

    def begin_nested(self) -> Any:
        """As `AsyncConnection.begin_nested`."""
        return self._connection.begin_nested()

    async def execute(self, statement: Any, values: Any = None) -> Any:
        """As `AsyncConnection.execute`."""
        undone = await self._connection.begin_nested()
        explain = text(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement.text}")
        self.plan.add((await self._connection.execute(explain, values)).scalar_one()[0]["Plan"])
        await undone.rollback()
        return await self._connection.execute(statement, values)


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in node.get("Plans", ()):
        yield from _all(child)
