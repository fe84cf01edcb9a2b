"""Commands whose time is over and that have no run any more, or never had one: their history and error rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text

from dao.postgres.database import FencedTransaction
from dao.retention.floor import FLOOR, ID_STEP, MAY_GO
from dao.retention.old_runs import KEPT, SHORTEST, project_of
from model.retention import READ_MAX


@dataclass(frozen=True, slots=True)
class DeletedCommands:
    """How many rows of the history were deleted; `after`: up to which id it was read, `is_over`: no later one is old
    enough."""

    count: int
    after: int
    is_over: bool


_DELETE = text(f"""
    WITH m AS MATERIALIZED (SELECT now() AS now, now() - {SHORTEST} AS horizon), walked AS MATERIALIZED (
        SELECT h.command_id, h.workflow_instance_id, h.handled_at FROM command_history h
        WHERE h.command_id > :after ORDER BY h.command_id LIMIT :read_max           -- index: command_history_pkey
    ), history AS (
        DELETE FROM command_history WHERE command_id = ANY(ARRAY(
            SELECT w.command_id
            FROM m CROSS JOIN walked w LEFT JOIN error_command e ON e.command_id = w.command_id
            {project_of("e.workflow_code")}
            WHERE (w.handled_at < m.now - ({KEPT}) OR w.workflow_instance_id IS NOT NULL)   -- its run's time was over
              AND (SELECT 1 FROM workflow_instance i WHERE i.id = w.workflow_instance_id) IS NULL
              AND (SELECT 1 FROM workflow_instance i WHERE i.command_id = w.command_id) IS NULL)) AND {MAY_GO}
        RETURNING command_id
    ), errors AS (
        DELETE FROM error_command WHERE command_id IN (SELECT command_id FROM history)
    ), again AS (       -- refused since their ids came again, when their rows in the history were deleted already
        DELETE FROM error_command WHERE command_id = ANY(ARRAY(
            SELECT e.command_id FROM m CROSS JOIN error_command e                    -- index: error_command_pkey
            {project_of("e.workflow_code")}
            WHERE e.command_id > :after AND e.command_id <= (SELECT max(command_id) FROM walked)
              AND e.refused_at < m.now - ({KEPT})
              AND (SELECT 1 FROM command_history h WHERE h.command_id = e.command_id) IS NULL
            ORDER BY e.command_id LIMIT :read_max))
    ), {FLOOR}
    SELECT (SELECT count(*) FROM history), coalesce((SELECT max(command_id) FROM walked), :after),
           (SELECT count(*) FROM walked) < :read_max
               OR coalesce((SELECT min(handled_at) FROM walked WHERE handled_at <= m.now) >= m.horizon,
                           m.horizon IS NULL)
    FROM m
""")


async def delete(connection: FencedTransaction, after: int, kept_days: int) -> DeletedCommands:
    """Read the next commands of the history by id, and delete those whose time is over and that have no run.

    `kept_days`: of projects that say nothing; 0 = for ever.
    """
    step = (await connection.execute(ID_STEP)).scalar_one()
    values = {"after": after, "kept_days": kept_days, "read_max": READ_MAX, "id_step": step}
    return DeletedCommands(*(await connection.execute(_DELETE, values)).one())
