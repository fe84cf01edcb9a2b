"""`task_event`: ends of attempts on their way to whoever owns the workflow."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from model.ids import Epoch, TaskCode, WorkflowInstanceId
from model.instances import TaskEnd
from model.states import TaskState

# The owner is looked up by primary key for each event: a join could begin with all that this master ever owned. And
# ANY(ARRAY()), not a join: see the claim in `dao/commands.py`. Under load ANALYZE does see this table empty; with a
# join, 6,000 tasks/s then fell to 300, and the more events waited, the slower they were taken.
_CONSUME = text("""
    WITH picked AS MATERIALIZED (
        SELECT e.id FROM task_event e
        WHERE (SELECT master_id FROM workflow_instance i WHERE i.id = e.workflow_instance_id) = :master
        ORDER BY e.id LIMIT :limit
    ), gone AS (
        DELETE FROM task_event WHERE id = ANY(ARRAY(SELECT id FROM picked))
        RETURNING id, workflow_instance_id, task_code, attempt, state
    )
    SELECT workflow_instance_id, task_code, attempt, state FROM gone ORDER BY id
""")
_FORGET = text("DELETE FROM task_event WHERE workflow_instance_id = ANY(CAST(:instances AS bigint[]))")
# What a former owner left unread of an instance that has ended since.
_DROP_STALE = text("""
    DELETE FROM task_event e USING workflow_instance i, node n
    WHERE i.id = e.workflow_instance_id AND i.ended_at IS NOT NULL AND n.id = i.master_id
      AND n.state IN ('FENCED', 'LEFT')
""")


async def consume(connection: AsyncConnection, master: Epoch, limit: int) -> list[TaskEnd]:
    """Take up to `limit` events of this master's instances, oldest first. The transaction must act on them."""
    rows = (await connection.execute(_CONSUME, {"master": master, "limit": limit})).all()
    return [
        TaskEnd(WorkflowInstanceId(instance), TaskCode(code), attempt, TaskState(state))
        for instance, code, attempt, state in rows
    ]


async def drop_stale(connection: AsyncConnection) -> int:
    """Remove events that nobody will ever read. How many there were."""
    return (await connection.execute(_DROP_STALE)).rowcount


async def forget(connection: AsyncConnection, instances: Sequence[WorkflowInstanceId]) -> None:
    """Remove the events of instances whose rows are read in the same transaction, after this."""
    await connection.execute(_FORGET, {"instances": list(instances)})
