"""The statements that this process sends to a database through `dao`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dao.postgres.pool import AsyncConnection
from dao.postgres.rows import Rows
from dao.postgres.sql import Sql

_execute = AsyncConnection.execute


@contextmanager
def sent_statements() -> Iterator[list[Sql]]:
    """Collect the statements of the block as they are sent; repeated executions without their values."""
    sent: list[Sql] = []

    async def execute(self: AsyncConnection, statement: Sql, values: Any = None) -> Rows:
        own = values if isinstance(values, Mapping) else {}
        sent.append(Sql(statement.text, {**statement.values, **own}))
        return await _execute(self, statement, values)

    AsyncConnection.execute = execute  # type: ignore[method-assign]
    try:
        yield sent
    finally:
        AsyncConnection.execute = _execute  # type: ignore[method-assign]


def explained(statement: Sql) -> Sql:
    """The statement that executes it, and gives its plan as JSON."""
    return Sql(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement.text}", statement.values)
