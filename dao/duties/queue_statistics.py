"""Statistics and dead rows of the tables whose rows come and go fastest.

Only the owner of a table may ANALYZE and VACUUM it; from PostgreSQL 17 on also who has MAINTAIN on it or is a member of
pg_maintain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dao.postgres.database import Database, FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement

LAG = 5.0
"""Autovacuum lags if a table has this many times the changes after which it should have come."""


@dataclass(frozen=True, slots=True)
class TableState:
    """A table: `stale` and `dead` are its changed and dead rows, as multiples of what autovacuum should leave."""

    name: str
    dead_rows: int
    stale: float
    dead: float
    may_maintain: bool


# SKIP_LOCKED: if autovacuum is at it, nothing is left to do.
_ANALYZE: Mapping[str, Sql] = {
    "command": Sql("ANALYZE (SKIP_LOCKED) command"),
    "pool_line": Sql("ANALYZE (SKIP_LOCKED) pool_line"),
    "pool_resource": Sql("ANALYZE (SKIP_LOCKED) pool_resource"),
    "task_event": Sql("ANALYZE (SKIP_LOCKED) task_event"),
    "task_instance": Sql("ANALYZE (SKIP_LOCKED) task_instance"),
    "workflow_instance": Sql("ANALYZE (SKIP_LOCKED) workflow_instance"),
}
_VACUUM: Mapping[str, Sql] = {
    "command": Sql("VACUUM (SKIP_LOCKED, TRUNCATE false, PARALLEL 0) command"),
    "pool_line": Sql("VACUUM (SKIP_LOCKED, TRUNCATE false, PARALLEL 0) pool_line"),
    "pool_resource": Sql("VACUUM (SKIP_LOCKED, TRUNCATE false, PARALLEL 0) pool_resource"),
    "task_event": Sql("VACUUM (SKIP_LOCKED, TRUNCATE false, PARALLEL 0) task_event"),
}
VACUUMED = tuple(_VACUUM)
"""Short queues, which are vacuumed in moments. A vacuum of the others takes longer than a statement may."""


@statement("""
    SELECT c.relname, s.n_dead_tup,
           (s.n_mod_since_analyze / greatest(1, wanted.analyze_threshold + wanted.analyze_scale * c.reltuples))::float8,
           (s.n_dead_tup / greatest(1, wanted.vacuum_threshold + wanted.vacuum_scale * c.reltuples))::float8,
           pg_has_role(c.relowner, 'USAGE')
               OR CASE WHEN current_setting('server_version_num')::integer >= 170000
                       THEN has_table_privilege(c.oid, 'MAINTAIN') ELSE false END
    FROM unnest(CAST(:_ANALYZE AS text[])) AS t (name)
    JOIN pg_class c ON c.oid = to_regclass(t.name) JOIN pg_stat_user_tables s ON s.relid = c.oid
    CROSS JOIN LATERAL (
        SELECT coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'autovacuum_analyze_threshold'),
                        current_setting('autovacuum_analyze_threshold'))::float8 AS analyze_threshold,
               coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'autovacuum_analyze_scale_factor'),
                        current_setting('autovacuum_analyze_scale_factor'))::float8 AS analyze_scale,
               coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'autovacuum_vacuum_threshold'),
                        current_setting('autovacuum_vacuum_threshold'))::float8 AS vacuum_threshold,
               coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'autovacuum_vacuum_scale_factor'),
                        current_setting('autovacuum_vacuum_scale_factor'))::float8 AS vacuum_scale
        FROM pg_options_to_table(c.reloptions) AS o
    ) AS wanted
    ORDER BY c.relname
""")
async def read(connection: AsyncConnection) -> list[TableState]: ...


async def analyze(connection: FencedTransaction, table: str) -> None:
    await connection.execute(_ANALYZE[table])


async def vacuum(database: Database, table: str) -> None:
    """Vacuum a table, outside of any transaction. Raises `Unavailable` if that takes longer than a statement may."""
    async with database.reading() as connection:
        await connection.execute(_VACUUM[table])
