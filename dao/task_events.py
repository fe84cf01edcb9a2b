"""`task_event`: ends of attempts on their way to whoever owns the workflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from model.ids import Epoch, TaskCode, WorkflowInstanceId
from model.instances import ChildEnd, HaltAsked, TaskEnd
from model.states import TaskState, WorkflowState

# The owner is looked up by primary key for each event: a join could begin with all that this master ever owned. And
# ANY(ARRAY()), not a join: see the claim in `dao/commands.py`. Under load ANALYZE does see this table empty; with a
# join, 6,000 tasks/s then fell to 300, and the more events waited, the slower they were taken.
_CONSUME = text("""
    WITH picked AS MATERIALIZED (
        SELECT e.id FROM task_event e
        WHERE (SELECT master_id FROM workflow_instance i WHERE i.id = e.workflow_instance_id) = :master
          AND (CAST(:only AS bigint) IS NULL OR e.workflow_instance_id = CAST(:only AS bigint))
          AND e.workflow_instance_id <> ALL(CAST(:aside AS bigint[]))
        ORDER BY e.id LIMIT :limit
    ), gone AS (
        DELETE FROM task_event WHERE id = ANY(ARRAY(SELECT id FROM picked))
        RETURNING id, workflow_instance_id, task_code, attempt, state, outputs, child_index
    )
    SELECT workflow_instance_id, task_code, attempt, state, outputs, child_index FROM gone ORDER BY id
""")
_FORGET = text("DELETE FROM task_event WHERE workflow_instance_id = ANY(CAST(:instances AS bigint[]))")
# What a former owner left unread of an instance that has ended since.
_DROP_STALE = text("""
    DELETE FROM task_event e USING workflow_instance i, node n
    WHERE i.id = e.workflow_instance_id AND i.ended_at IS NOT NULL AND n.id = i.master_id
      AND n.state IN ('FENCED', 'LEFT')
""")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that tells nothing that Shoal knows: somebody else wrote it. What is so stands in the rows of its run."""

    workflow_instance_id: WorkflowInstanceId
    what: str


async def consume(
    connection: AsyncConnection,
    master: Epoch,
    limit: int,
    *,
    aside: Sequence[WorkflowInstanceId] = (),
    only: WorkflowInstanceId | None = None,
) -> list[TaskEnd | ChildEnd | HaltAsked | Unreadable]:
    """Take up to `limit` events of this master's instances, oldest first: none of those `aside`, or of one `only`.

    The transaction must act on them.
    """
    values = {"master": master, "limit": limit, "aside": list(aside), "only": only}
    rows = (await connection.execute(_CONSUME, values)).all()
    return [_read(*row) for row in rows]


async def drop_stale(connection: AsyncConnection) -> int:
    """Remove events that nobody will ever read. How many there were."""
    return (await connection.execute(_DROP_STALE)).rowcount


async def forget(connection: AsyncConnection, instances: Sequence[WorkflowInstanceId]) -> None:
    """Remove the events of instances whose rows are read in the same transaction, after this."""
    await connection.execute(_FORGET, {"instances": list(instances)})


def _read(
    instance: int, code: int, attempt: int, state: str, outputs: str | None, child_index: int | None
) -> TaskEnd | ChildEnd | HaltAsked | Unreadable:
    try:
        return _event(instance, code, attempt, state, outputs, child_index)
    except ValueError as error:
        return Unreadable(WorkflowInstanceId(instance), str(error))


def _event(
    instance: int, code: int, attempt: int, state: str, outputs: str | None, child_index: int | None
) -> TaskEnd | ChildEnd | HaltAsked:
    id_ = WorkflowInstanceId(instance)
    if code == 0:
        return HaltAsked(id_, WorkflowState(state))
    if child_index is not None:
        return ChildEnd(id_, TaskCode(code), attempt, child_index, WorkflowState(state), outputs)
    return TaskEnd(id_, TaskCode(code), attempt, TaskState(state), outputs)
