"""What a load costs the database, in counts that other load on the machine does not change."""

from __future__ import annotations

from dataclasses import dataclass

from bench.server import Connection

_COUNTS = """
    SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8, sum(s.calls)::float8,
           sum(s.calls) FILTER (WHERE s.query = 'COMMIT')::float8
    FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
    WHERE s.toplevel AND d.datname = %s
"""


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of one item: statements (BEGIN and COMMIT included), transactions, and bytes of WAL."""

    statements: float
    transactions: float
    wal_bytes: float


class CostWatch:
    """Counts from its creation what is done in one database; the WAL is that of the whole server.

    Args:
        connection: to a database of the server in which the extension `pg_stat_statements` is.
    """

    def __init__(self, connection: Connection, database: str) -> None:
        self._connection = connection
        self._database = database
        self._before = self._counts()

    def used(self, count: int) -> Costs:
        """The cost divided by the number of items."""
        wal, statements, transactions = (
            (after - before) / count for after, before in zip(self._counts(), self._before, strict=True)
        )
        return Costs(statements, transactions, wal)

    def _counts(self) -> list[float]:
        row = self._connection.execute(_COUNTS, (self._database,)).fetchone()
        assert row is not None
        return [float(str(each or 0)) for each in row]
