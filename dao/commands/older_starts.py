"""Starts that are still in the command table, older than a run that is about to begin.

A command with a key is handled by whichever master takes it, so an older one of the same key may still be in the table:
in another slot, in quarantine, locked, or deleted by a transaction that has not committed. The row of the definition is
locked when this is read, and a start of such a command locks it too: so an older command is seen here, or
its run is seen in the line.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.ids import CommandId, WorkflowCode, WorkflowInstanceId
from model.runs.commands import CommandRow


@statement("""
    SELECT id, params FROM workflow_instance WHERE id = ANY(CAST(:runs AS bigint[]))   -- index: workflow_instance_pkey
""")
async def parameters_above(
    connection: AsyncConnection, runs: Collection[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, str | None]:
    """The parameters of these runs, which the starts of their children inherit."""


@statement("""
    SELECT i.id, older.id FROM workflow_instance i CROSS JOIN LATERAL (
        SELECT c.id FROM command c                                              -- index: command_start
        WHERE c.type IN ('START_PROCESS', 'START_CURRENT_TASK_PROCESS', 'SCHEDULER', 'COMPLEMENT_DATA')
          AND c.workflow_code = i.workflow_code AND -c.id > -i.command_id
        ORDER BY -c.id DESC LIMIT 1
    ) AS older
    WHERE i.id = ANY(CAST(:runs AS bigint[])) AND i.serial_key <> ''
""")
async def first_older(
    connection: AsyncConnection, runs: Collection[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, CommandId]:
    """Of each of these runs that has a key the oldest start of its workflow, of any key, that is older than its own."""


@statement("""
    SELECT code FROM unnest(CAST(:least AS bigint[]), CAST(:least.values AS integer[])) AS asked (code, count)
    WHERE (SELECT count(*) FROM (
               SELECT FROM command                                              -- index: command_start
               WHERE type IN ('START_PROCESS', 'START_CURRENT_TASK_PROCESS', 'SCHEDULER', 'COMPLEMENT_DATA')
                 AND workflow_code = code LIMIT count) AS start) >= count
""")
async def backlogs(connection: AsyncConnection, least: Mapping[WorkflowCode, int]) -> set[WorkflowCode]:
    """The workflows of which at least so many starts, one or more, are in the command table."""


# The columns are those of a `CommandRow`, in its order, and `inherited`.
@statement("""
    SELECT older.* FROM unnest(CAST(:before AS bigint[]), CAST(:before.values AS bigint[])) AS line (code, before)
    CROSS JOIN LATERAL (
        SELECT id, coalesce(type, ''), workflow_code::text, workflow_version::text, workflow_instance_id::text, params,
               priority, failure_strategy, worker_group, created_at::text, created_by, warning_type, alert_group,
               environment, dry_run::text, task_depend_type, start_tasks, schedule_time::text, time_zone,
               schedule_id::text, parent, from_above::text, left(traceparent, 100),
               (SELECT i.params FROM workflow_instance i                        -- index: workflow_instance_pkey
                WHERE i.id = CASE WHEN parent ~ '^[0-9]{1,18}/' AND parent NOT LIKE '%/event'
                                  THEN CAST(split_part(parent, '/', 1) AS bigint) END) AS inherited
        FROM command                                                            -- index: command_start
        WHERE type IN ('START_PROCESS', 'START_CURRENT_TASK_PROCESS', 'SCHEDULER', 'COMPLEMENT_DATA')
          AND workflow_code = line.code AND -id > -line.before
        ORDER BY -id DESC LIMIT :limit
    ) AS older
""")
async def older_starts(
    connection: AsyncConnection, before: Mapping[WorkflowCode, CommandId], limit: int
) -> list[tuple[CommandRow, str | None]]:
    """Of each workflow up to `limit` starts that are older than this command, oldest first; with the parameters of the
    run above a child."""
