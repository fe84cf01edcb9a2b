"""How full and how busy the database is: connections, the oldest transaction, the sizes of tables. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql

TABLES_MAX = 40
TRANSACTIONS_MAX = 10


@dataclass(frozen=True)
class Sessions:
    """The connections of one application that are in one state, such as `idle`."""

    application: str
    state: str
    count: int


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction that is open: `pid` of its session, and what that does (or waits for) now."""

    pid: int
    application: str
    state: str
    age_s: float
    waits_for: str | None


@dataclass(frozen=True)
class TableSize:
    """A table with its indexes; rows are the estimate of the last vacuum or analyze, dead ones wait for the next."""

    name: str
    bytes: int
    rows: int
    dead_rows: int
    vacuumed_at: datetime | None


@dataclass(frozen=True)
class ServerLoad:
    """All of that."""

    version: str
    bytes: int
    connections_max: int
    sessions: Sequence[Sessions]
    transactions: Sequence[OpenTransaction]
    tables: Sequence[TableSize]


_SERVER = Sql("""
    SELECT current_setting('server_version'), pg_database_size(current_database()),
           current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
""")
_SESSIONS = Sql("""
    SELECT coalesce(nullif(application_name, ''), '?'), coalesce(state, '?'), count(*)
    FROM pg_stat_activity WHERE backend_type = 'client backend' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2
""")
_TRANSACTIONS = Sql("""
    SELECT pid, coalesce(nullif(application_name, ''), '?'), coalesce(state, '?'),
           extract(epoch FROM clock_timestamp() - xact_start)::float8,
           CASE WHEN wait_event_type = 'Lock' THEN wait_event END
    FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
      AND backend_type = 'client backend'
    ORDER BY xact_start LIMIT :limit
""")
# A partitioned table is one table for people: its partitions are summed up under its name.
_TABLES = Sql("""
    SELECT coalesce(p.relname, t.relname), sum(pg_total_relation_size(t.relid))::bigint, sum(t.n_live_tup)::bigint,
           sum(t.n_dead_tup)::bigint, max(greatest(t.last_vacuum, t.last_autovacuum))
    FROM pg_stat_user_tables t
    LEFT JOIN pg_inherits i ON i.inhrelid = t.relid LEFT JOIN pg_class p ON p.oid = i.inhparent
    WHERE t.schemaname = current_schema() GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT :limit
""")


async def read(connection: AsyncConnection) -> ServerLoad:
    """Ask the server. Without the role pg_read_all_stats, states of other users' sessions are `?`."""
    version, size, most = (await connection.execute(_SERVER)).one()
    sessions = (await connection.execute(_SESSIONS)).all()
    transactions = (await connection.execute(_TRANSACTIONS, {"limit": TRANSACTIONS_MAX})).all()
    tables = (await connection.execute(_TABLES, {"limit": TABLES_MAX})).all()
    return ServerLoad(
        version,
        size,
        most,
        [Sessions(*row) for row in sessions],
        [OpenTransaction(*row) for row in transactions],
        [TableSize(*row) for row in tables],
    )
