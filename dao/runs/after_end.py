"""The consequences of the end of a run that others wait for, in the transaction that ends it.

The parent run is notified by an event, the next run of a serial line, the next date of a backfill and workflows with
triggers by a command. Not part of the statement for the end: an INSERT into `command` wakes all masters, even one of
no rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import EVENT, notify
from dao.postgres.sql import Sql
from dao.runs import triggers
from model.ids import Epoch, WorkflowInstanceId

_AWAITED = Sql("""
    SELECT coalesce(bool_or(execution_type <> 'PARALLEL'), false) AS serial,
           coalesce(bool_or(backfill IS NOT NULL AND state = 'SUCCESS' AND executing IS NULL), false) AS backfill,
           coalesce(bool_or(parent_instance_id IS NOT NULL), false) AS parent,
           EXISTS (SELECT FROM workflow_version                             -- index: workflow_version_triggered
                   WHERE triggers <> '[]') AS triggers
    FROM workflow_instance WHERE id = ANY(CAST(:ids AS bigint[]))
""")
# `coalesce`: with IS NOT NULL alone and no statistics on children, the planner might scan their whole index. Nobody
# reads an event of a parent that was deleted. A reason may name tasks, parameters and limits, and who sees the run
# above may not see a child of another project.
_NOTIFY_PARENT = Sql("""
    WITH notified AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, outputs, child_index)
        SELECT parent_instance_id, parent_task_code, parent_attempt, state,
               CASE WHEN i.state = 'SUCCESS' THEN i.outputs
                    WHEN (SELECT project FROM workflow_definition WHERE code = i.workflow_code) IS NOT DISTINCT FROM
                         (SELECT d.project FROM workflow_instance p
                          JOIN workflow_definition d ON d.code = p.workflow_code
                          WHERE p.id = i.parent_instance_id)
                         THEN i.reason END,
               child_index
        FROM workflow_instance i WHERE id = ANY(CAST(:ids AS bigint[])) AND coalesce(parent_instance_id, 0) > 0
          AND (SELECT p.id FROM workflow_instance p WHERE p.id = i.parent_instance_id) IS NOT NULL
          AND num_nulls(parent_task_code, parent_attempt, child_index) = 0      -- else it stands under nothing
        RETURNING workflow_instance_id
    )
    SELECT DISTINCT p.master_id FROM notified JOIN workflow_instance p ON p.id = notified.workflow_instance_id
""")
# Always, not only if a run waits: one that is just being added to the line is not visible yet. The lock of the line
# makes the handler of the command wait for it.
_WAKE_LINE = Sql("""
    INSERT INTO command (type, workflow_code, params, created_by)
    SELECT DISTINCT 'RECOVER_SERIAL_WAIT', workflow_code,
           CASE WHEN serial_key = '' THEN '{}' ELSE json_build_object('serial_key', serial_key)::text END, 'serial'
    FROM workflow_instance WHERE id = ANY(CAST(:ids AS bigint[])) AND execution_type <> 'PARALLEL'
""")
# Only once: a date that is run again does not backfill later dates again. Nor does one of which an EXECUTE_TASK left
# tasks to do.
_NEXT_DATE = Sql("""
    WITH ended AS (
        UPDATE workflow_instance i SET backfill = NULL
        FROM (SELECT id, backfill FROM workflow_instance
              WHERE id = ANY(CAST(:ids AS bigint[])) AND backfill IS NOT NULL AND state = 'SUCCESS'
                AND executing IS NULL) AS old
        WHERE i.id = old.id
        RETURNING i.*, old.backfill AS left_to_fill
    )
    INSERT INTO command (type, workflow_code, workflow_version, params, priority, failure_strategy, worker_group,
                         environment, dry_run, warning_type, alert_group, time_zone, start_tasks, task_depend_type,
                         created_by)
    SELECT 'COMPLEMENT_DATA', workflow_code, workflow_version, left_to_fill, priority::text, failure_strategy,
           worker_group, environment, dry_run, warning_type, alert_group, time_zone, scope,
           CASE WHEN scope IS NOT NULL THEN 'TASK_ONLY' END, 'backfill'
    FROM ended ORDER BY id
""")


async def notify_awaiting(connection: FencedTransaction, ids: Sequence[WorkflowInstanceId]) -> None:
    """Notify whatever waits for these runs, which have just ended."""
    if not ids:
        return
    values = {"ids": list(ids)}
    awaited = (await connection.execute(_AWAITED, values)).one()
    if awaited.parent:
        masters = {Epoch(epoch) for (epoch,) in await connection.execute(_NOTIFY_PARENT, values)}
        await notify(connection, EVENT, masters)
    if awaited.serial:
        await connection.execute(_WAKE_LINE, values)
    if awaited.backfill:
        await connection.execute(_NEXT_DATE, values)
    if awaited.triggers:
        await triggers.after_runs(connection, ids)
