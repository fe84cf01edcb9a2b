"""What follows from the end of an instance that somebody waits for, in the transaction that ends it.

The workflow above it is told by an event, the next in the line of a serial workflow and the next date of a backfill by
a command. Apart from the end itself: an INSERT into `command` wakes all masters, even one of no rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.notify import EVENT, notify
from model.ids import Epoch, WorkflowInstanceId

_AWAITED = text("""
    SELECT coalesce(bool_or(execution_type <> 'PARALLEL'), false) AS serial,
           coalesce(bool_or(backfill IS NOT NULL AND state = 'SUCCESS'), false) AS backfill,
           coalesce(bool_or(parent_instance_id IS NOT NULL), false) AS parent
    FROM workflow_instance WHERE id = ANY(CAST(:ids AS bigint[]))
""")
_TELL_PARENT = text("""
    WITH told AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, outputs, child_index)
        SELECT parent_instance_id, parent_task_code, parent_attempt, state, outputs, child_index
        FROM workflow_instance WHERE id = ANY(CAST(:ids AS bigint[])) AND parent_instance_id IS NOT NULL
        RETURNING workflow_instance_id
    )
    SELECT DISTINCT p.master_id FROM told JOIN workflow_instance p ON p.id = told.workflow_instance_id
""")
# Always, not only if one waits: one that is just being put into the line cannot be seen yet, and whoever handles the
# command waits for it.
_WAKE_LINE = text("""
    INSERT INTO command (type, workflow_code, created_by)
    SELECT DISTINCT 'RECOVER_SERIAL_WAIT', workflow_code, 'serial' FROM workflow_instance
    WHERE id = ANY(CAST(:ids AS bigint[])) AND execution_type <> 'PARALLEL'
""")
_NEXT_DATE = text("""
    INSERT INTO command (type, workflow_code, workflow_version, params, priority, failure_strategy, worker_group,
                         environment, dry_run, warning_type, alert_group, time_zone, start_tasks, task_depend_type,
                         created_by)
    SELECT 'COMPLEMENT_DATA', workflow_code, workflow_version, backfill, priority::text, failure_strategy, worker_group,
           environment, dry_run, warning_type, alert_group, time_zone, scope,
           CASE WHEN scope IS NOT NULL THEN 'TASK_ONLY' END, 'backfill'
    FROM workflow_instance WHERE id = ANY(CAST(:ids AS bigint[])) AND backfill IS NOT NULL AND state = 'SUCCESS'
    ORDER BY id
""")


async def tell(connection: AsyncConnection, ids: Sequence[WorkflowInstanceId]) -> None:
    """Tell whoever waits for these instances, which have just ended."""
    if not ids:
        return
    values = {"ids": list(ids)}
    awaited = (await connection.execute(_AWAITED, values)).one()
    if awaited.parent:
        await tell_parents(connection, ids)
    if awaited.serial:
        await connection.execute(_WAKE_LINE, values)
    if awaited.backfill:
        await connection.execute(_NEXT_DATE, values)


async def tell_parents(connection: AsyncConnection, ids: Sequence[WorkflowInstanceId]) -> None:
    """Tell the instances above these, which have ended, how they stand. Told twice, it is heard once."""
    masters = {Epoch(epoch) for (epoch,) in (await connection.execute(_TELL_PARENT, {"ids": list(ids)})).all()}
    await notify(connection, EVENT, masters)
