"""Which commands came at a time, and what became of them: for pictures of the slots at work. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from dao.commands.rows import Arrival
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql

READ_MAX = 2_000
"""Of the handled commands the newest so many are searched for those that were handled lately; `_LATELY` has the same
number."""


# Here and below a command that starts a run is named by its run, one that changes a run names it, one that was refused
# its workflow. Of the history only the newest `READ_MAX` entries are read.
_LATELY = Sql("""
    WITH arrived AS MATERIALIZED (
        (SELECT * FROM (
            SELECT c.id, c.type, c.created_at, CAST(NULL AS timestamptz) AS handled_at,
                   CAST(NULL AS bigint) AS master_id, CAST(NULL AS text) AS outcome, c.workflow_instance_id AS run,
                   c.workflow_code AS code
            FROM command c WHERE isfinite(c.created_at)) AS waiting
         ORDER BY id LIMIT :read)
        UNION ALL
        (SELECT newest.* FROM (
            SELECT h.command_id AS id, h.type, h.created_at, h.handled_at, h.master_id, h.outcome,
                   h.workflow_instance_id AS run, CAST(NULL AS bigint) AS code
            FROM command_history h                                              -- index: command_history_pkey
            ORDER BY h.command_id DESC LIMIT 2000) AS newest
         WHERE newest.handled_at >= CAST(:since AS timestamptz) AND isfinite(newest.created_at)
         ORDER BY newest.id DESC LIMIT :read)
    )
    SELECT a.id, a.type, a.created_at, a.handled_at, a.master_id, a.outcome, i.id
    FROM arrived a LEFT JOIN workflow_instance s ON a.run IS NULL AND s.command_id = a.id
    LEFT JOIN workflow_instance i ON i.id = coalesce(a.run, s.id)
    LEFT JOIN error_command e ON a.outcome = 'ERROR' AND e.command_id = a.id
    LEFT JOIN workflow_definition d ON d.code = coalesce(i.workflow_code, a.code, e.workflow_code)
    WHERE CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[]))
    ORDER BY a.id
""")
# Ids grow with the time of their insert, but for moments: the ids of a time are found by bisection, some forty reads
# in the primary key, instead of by an index that every command would have to write. The margin covers those moments.
_BETWEEN = Sql("""
    WITH RECURSIVE bisected (wanted, low, high) AS (
        SELECT w.at, CAST(0 AS bigint), coalesce((SELECT max(command_id) FROM command_history), 0) + 1
        FROM (VALUES (CAST(:since AS timestamptz)), (CAST(:until AS timestamptz))) AS w (at)
        UNION ALL
        SELECT b.wanted,
               CASE WHEN there.created_at < b.wanted THEN there.command_id + 1 ELSE b.low END,
               CASE WHEN there.created_at < b.wanted THEN b.high ELSE (b.low + b.high) / 2 END
        FROM bisected b LEFT JOIN LATERAL (
            SELECT h.command_id, h.created_at FROM command_history h
            WHERE h.command_id >= (b.low + b.high) / 2 ORDER BY h.command_id LIMIT 1) AS there ON true
        WHERE b.low < b.high
    ), bounds AS (
        SELECT min(low) AS first, max(low) AS past FROM bisected WHERE low >= high
    ), arrived AS MATERIALIZED (
        (SELECT * FROM (
            SELECT c.id, c.type, c.created_at, CAST(NULL AS timestamptz) AS handled_at,
                   CAST(NULL AS bigint) AS master_id, CAST(NULL AS text) AS outcome, c.workflow_instance_id AS run,
                   c.workflow_code AS code
            FROM command c WHERE isfinite(c.created_at)) AS waiting
         WHERE created_at >= CAST(:since AS timestamptz) AND created_at < CAST(:until AS timestamptz)
         ORDER BY id LIMIT :read)
        UNION ALL
        (SELECT found.* FROM (
            SELECT h.command_id AS id, h.type, h.created_at, h.handled_at, h.master_id, h.outcome,
                   h.workflow_instance_id AS run, CAST(NULL AS bigint) AS code
            FROM command_history h, bounds b                                    -- index: command_history_pkey
            WHERE h.command_id >= b.first - 100 AND h.command_id < b.past + 100
            ORDER BY h.command_id LIMIT :read + 200) AS found
         WHERE found.created_at >= CAST(:since AS timestamptz) AND found.created_at < CAST(:until AS timestamptz))
    )
    SELECT a.id, a.type, a.created_at, a.handled_at, a.master_id, a.outcome, i.id
    FROM arrived a LEFT JOIN workflow_instance s ON a.run IS NULL AND s.command_id = a.id
    LEFT JOIN workflow_instance i ON i.id = coalesce(a.run, s.id)
    LEFT JOIN error_command e ON a.outcome = 'ERROR' AND e.command_id = a.id
    LEFT JOIN workflow_definition d ON d.code = coalesce(i.workflow_code, a.code, e.workflow_code)
    WHERE CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[]))
    ORDER BY a.id
""")


async def lately(
    connection: AsyncConnection, since: datetime, limit: int, visible: Collection[str] | None
) -> list[Arrival]:
    """The commands that wait, and those that were handled since then, at most `limit` of each, by id.

    `visible`: only those of these projects, of the first `READ_MAX` of each; None = all.
    """
    values = {"since": since, **_seen(limit, visible)}
    return [Arrival(*row) for row in await connection.execute(_LATELY, values)]


async def between(
    connection: AsyncConnection, since: datetime, until: datetime, limit: int, visible: Collection[str] | None
) -> list[Arrival]:
    """The first commands that came between these times, by id. `visible` as in `lately`."""
    values = {"since": since, "until": until, **_seen(limit, visible)}
    return [Arrival(*row) for row in await connection.execute(_BETWEEN, values)][:limit]


def _seen(limit: int, visible: Collection[str] | None) -> dict[str, object]:
    if visible is None:
        return {"read": limit, "visible": None}
    return {"read": max(limit, READ_MAX), "visible": list(visible)}
