"""`task_event`: ends of attempts on their way to whoever owns the workflow.

Each is addressed to the master that owned its run when it was written, so that a look costs a master only what is its
own. An address is where to look and no more: who reads asks the run itself, and passes on what it does not own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.notify import EVENT, notify
from model.ids import Epoch, TaskCode, WorkflowInstanceId
from model.instances import ChildEnd, HaltAsked, TaskEnd
from model.states import TaskState, WorkflowState

# Those addressed to this master, and of them those whose run it owns: what it does not own goes to who does. The owner
# is looked up by primary key for each: a join could begin with all that it ever owned. And ANY(ARRAY()), not a join:
# see the claim in `dao/commands.py`. Under load ANALYZE does see this table empty; with a join, 6,000 tasks/s then fell
# to 300, and the more events waited, the slower they were taken. SKIP LOCKED: an event that a stranger holds keeps
# nobody from the others.
_CONSUME = text("""
    WITH picked AS MATERIALIZED (
        SELECT e.id, (SELECT master_id FROM workflow_instance i WHERE i.id = e.workflow_instance_id) AS runs_owner
        FROM task_event e                                                        -- index: task_event_owner
        WHERE e.owner = :master
          AND (CAST(:only AS bigint) IS NULL OR e.workflow_instance_id = CAST(:only AS bigint))
          AND e.workflow_instance_id <> ALL(CAST(:aside AS bigint[]))
        ORDER BY e.id LIMIT :limit
        FOR UPDATE OF e SKIP LOCKED
    ), passed_on AS (
        UPDATE task_event e SET owner = coalesce(p.runs_owner, 0) FROM picked p
        WHERE e.id = ANY(ARRAY(SELECT id FROM picked WHERE runs_owner IS DISTINCT FROM :master)) AND p.id = e.id
    ), gone AS (
        DELETE FROM task_event WHERE id = ANY(ARRAY(SELECT id FROM picked WHERE runs_owner = :master))
        RETURNING id, workflow_instance_id, task_code, attempt, state, outputs, child_index
    )
    SELECT workflow_instance_id, task_code, attempt, state, outputs, child_index FROM gone ORDER BY id
""")
_FORGET = text("""
    DELETE FROM task_event WHERE workflow_instance_id = ANY(CAST(:instances AS bigint[]))  -- index: task_event_run
""")
# Of each owner that is gone a bounded part: what waits for a takeover of its run goes with that (`forget`).
STRAY_EVENTS = """
    event_owner (id) AS (
        SELECT min(owner) FROM task_event
        UNION ALL
        SELECT (SELECT min(owner) FROM task_event WHERE owner > o.id) FROM event_owner o WHERE o.id IS NOT NULL
    ), gone_owner AS MATERIALIZED (
        SELECT o.id FROM event_owner o
        WHERE o.id IS NOT NULL
          AND (SELECT n.id FROM node n
               WHERE n.id = o.id AND n.kind = 'MASTER' AND n.state IN ('ALIVE', 'LEAVING')) IS NULL
    ), stray AS MATERIALIZED (
        SELECT e.id, i.id AS run, i.master_id, i.ended_at IS NOT NULL AS has_ended,
               (SELECT n.id FROM node n
                WHERE n.id = i.master_id AND n.kind = 'MASTER' AND n.state IN ('ALIVE', 'LEAVING')) IS NOT NULL
                   AS is_owned
        FROM gone_owner g
        CROSS JOIN LATERAL (SELECT e.id, e.workflow_instance_id FROM task_event e  -- index: task_event_owner
                            WHERE e.owner = g.id ORDER BY e.id LIMIT 1000) AS e
        LEFT JOIN LATERAL (SELECT i.* FROM workflow_instance i WHERE i.id = e.workflow_instance_id LIMIT 1) AS i ON true
    )"""
_READDRESS = text(f"""
    WITH RECURSIVE {STRAY_EVENTS}, held AS MATERIALIZED (
        SELECT id FROM task_event WHERE id = ANY(ARRAY(SELECT id FROM stray WHERE is_owned)) FOR UPDATE SKIP LOCKED
    )
    UPDATE task_event e SET owner = s.master_id FROM stray s
    WHERE e.id = ANY(ARRAY(SELECT id FROM held)) AND s.id = e.id
    RETURNING e.owner
""")  # noqa: S608 - the parts are constants of this module
# What a former owner left unread of an instance that has ended since, or is no longer there.
_DROP_STALE = text(f"""
    WITH RECURSIVE {STRAY_EVENTS}, held AS MATERIALIZED (
        SELECT id FROM task_event
        WHERE id = ANY(ARRAY(SELECT id FROM stray WHERE NOT is_owned AND (has_ended OR run IS NULL)))
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM task_event WHERE id = ANY(ARRAY(SELECT id FROM held))
""")  # noqa: S608 - the parts are constants of this module


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


async def readdress(connection: AsyncConnection) -> int:
    """Address events of masters that are gone to those that own their runs now, and tell those. How many there were.

    Whoever told an end while its run was taken over may not have seen the new owner yet.
    """
    owners = (await connection.execute(_READDRESS)).scalars().all()
    if owners:
        await notify(connection, EVENT, set(owners))
    return len(owners)


async def drop_stale(connection: AsyncConnection) -> int:
    """Remove events that nobody will ever read, a bounded number of each owner. How many there were."""
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
