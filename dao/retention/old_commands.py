"""Commands whose time is over and that no longer have a run, or never had one: their history and error rows."""

from __future__ import annotations

from dataclasses import dataclass

from dao.postgres.database import FencedTransaction
from dao.postgres.sql import Sql
from dao.retention.floor import ID_STEP
from model.runs.retention_pace import READ_MAX


@dataclass(frozen=True, slots=True)
class DeletedCommands:
    """How many rows of the history were deleted; `after`: up to which id it was read, `is_over`: no later one is old
    enough."""

    count: int
    after: int
    is_over: bool


# `horizon`, the time for which the project `p` keeps commands, `history` and `floor`: see `old_runs`.
_DELETE = Sql("""
    WITH m AS MATERIALIZED (
        SELECT now() AS now,
               now() - (SELECT make_interval(days => min(days)) FROM (
                            SELECT kept_days AS days FROM project WHERE kept_days > 0
                            UNION ALL SELECT CAST(:kept_days AS integer) WHERE :kept_days > 0) AS each) AS horizon
    ), walked AS MATERIALIZED (
        SELECT h.command_id, h.workflow_instance_id, h.handled_at FROM command_history h
        WHERE h.command_id > :after ORDER BY h.command_id LIMIT :read_max           -- index: command_history_pkey
    ), history AS (
        DELETE FROM command_history WHERE command_id = ANY(ARRAY(
            SELECT w.command_id
            FROM m CROSS JOIN walked w LEFT JOIN error_command e ON e.command_id = w.command_id
            LEFT JOIN workflow_definition d ON d.code = e.workflow_code
            LEFT JOIN deleted_workflow gone ON gone.code = e.workflow_code
            LEFT JOIN project p ON p.name = coalesce(d.project, gone.project)
            WHERE (w.handled_at < m.now - (
                       CASE WHEN coalesce(p.kept_days, :kept_days) > 0
                            THEN make_interval(days => coalesce(p.kept_days, CAST(:kept_days AS integer))) END)
                   OR w.workflow_instance_id IS NOT NULL)                           -- its run's time was over
              AND (SELECT 1 FROM workflow_instance i WHERE i.id = w.workflow_instance_id) IS NULL
              AND (SELECT 1 FROM workflow_instance i WHERE i.command_id = w.command_id) IS NULL))
          AND handled_at < now() - interval '1 d'
          AND command_id < coalesce((SELECT id FROM (SELECT id, type FROM command             -- index: command_pkey
                                                     ORDER BY id ASC LIMIT 1) AS c
                                     WHERE length(type) >= 0), 9223372036854775807)
          AND command_id < (SELECT max(command_id) FROM command_history)
          AND command_id < coalesce((SELECT i.command_id FROM workflow_instance i       -- index: workflow_instance_pkey
                                     ORDER BY i.id DESC LIMIT 1), 9223372036854775807)
        RETURNING command_id
    ), errors AS (
        DELETE FROM error_command WHERE command_id IN (SELECT command_id FROM history)
    ), again AS (       -- refused since their ids came again, when their rows in the history were deleted already
        DELETE FROM error_command WHERE command_id = ANY(ARRAY(
            SELECT e.command_id FROM m CROSS JOIN error_command e                    -- index: error_command_pkey
            LEFT JOIN workflow_definition d ON d.code = e.workflow_code
            LEFT JOIN deleted_workflow gone ON gone.code = e.workflow_code
            LEFT JOIN project p ON p.name = coalesce(d.project, gone.project)
            WHERE e.command_id > :after AND e.command_id <= (SELECT max(command_id) FROM walked)
              AND e.refused_at < m.now - (
                      CASE WHEN coalesce(p.kept_days, :kept_days) > 0
                           THEN make_interval(days => coalesce(p.kept_days, CAST(:kept_days AS integer))) END)
              AND (SELECT 1 FROM command_history h WHERE h.command_id = e.command_id) IS NULL
            ORDER BY e.command_id LIMIT :read_max))
    ), floor AS (
        INSERT INTO history_floor (step, residue, command_id)
        SELECT :id_step, command_id % :id_step, max(command_id) FROM history GROUP BY command_id % :id_step
        ON CONFLICT (step, residue)
            DO UPDATE SET command_id = greatest(history_floor.command_id, excluded.command_id)
    )
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
