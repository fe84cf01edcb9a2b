"""`task_event`: ends of attempts on their way to the master that owns the run.

Each is addressed to the master that owned its run when it was written, so that a master reads only its own events. The
address is only a hint: the reader checks the owner of the run, and passes on events of runs that it does not own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import EVENT, notify
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import Epoch, TaskCode, WorkflowInstanceId
from model.runs.instances import AttemptEnd, ChildState, HaltRequest
from model.runs.states import TaskState, WorkflowState

# Picks events addressed to this master and consumes those whose run it owns; the others are passed on to the owner. The
# owner is looked up by primary key for each event: a join could start with all runs that it ever owned. By ctid, not by
# id: see the claim in `dao/commands/commands.py`. Under load ANALYZE does see this table empty; by id throughput then
# fell from 10,000 tasks/s to 2,000, since each event was searched for in the whole of the index of owners. SKIP LOCKED:
# an event locked by another session does not block the others.
_CONSUME = Sql("""
    WITH picked AS MATERIALIZED (
        SELECT e.ctid AS place,
               (SELECT master_id FROM workflow_instance i WHERE i.id = e.workflow_instance_id) AS runs_owner
        FROM task_event e                                                        -- index: task_event_pkey
        WHERE e.owner = :master AND e.id >= :first
          AND (CAST(:only AS bigint) IS NULL OR e.workflow_instance_id = CAST(:only AS bigint))
          AND e.workflow_instance_id <> ALL(CAST(:without AS bigint[]))
        ORDER BY e.id LIMIT :limit
        FOR UPDATE OF e SKIP LOCKED
    ), passed_on AS (
        UPDATE task_event e SET owner = coalesce(p.runs_owner, 0) FROM picked p
        WHERE e.ctid = ANY(ARRAY(SELECT place FROM picked WHERE runs_owner IS DISTINCT FROM :master))
          AND p.place = e.ctid
    ), gone AS (
        DELETE FROM task_event WHERE ctid = ANY(ARRAY(SELECT place FROM picked WHERE runs_owner = :master))
        RETURNING id, workflow_instance_id, task_code, attempt, state, outputs, child_index, is_suspect, created_at
    )
    SELECT workflow_instance_id, task_code, attempt, state, outputs, child_index, is_suspect,
           CASE WHEN isfinite(created_at) THEN extract(epoch FROM clock_timestamp() - created_at)::float8 END, id
    FROM gone ORDER BY id
""")
_READDRESS = Sql("""
    WITH stray AS MATERIALIZED (SELECT * FROM stray_events()), locked AS MATERIALIZED (
        SELECT ctid AS place FROM task_event WHERE ctid = ANY(ARRAY(SELECT place FROM stray WHERE is_owned))
        FOR UPDATE SKIP LOCKED
    )
    UPDATE task_event e SET owner = s.master_id FROM stray s
    WHERE e.ctid = ANY(ARRAY(SELECT place FROM locked)) AND s.place = e.ctid
    RETURNING e.owner
""")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that Shoal cannot parse, written by hand. The rows of its run have the actual state."""

    why: str


class TaskEvent(NamedTuple):
    """What the owner of a run is notified of, and the id of its row. `age_s` is how long ago it was written; None if
    nobody knows."""

    run: WorkflowInstanceId
    what: AttemptEnd | ChildState | HaltRequest | Unreadable
    age_s: float | None = None
    id: int = 0


async def consume(
    connection: FencedTransaction,
    master: Epoch,
    limit: int,
    *,
    without: Sequence[WorkflowInstanceId] = (),
    only: WorkflowInstanceId | None = None,
    first: int = 0,
) -> list[TaskEvent]:
    """Take up to `limit` events of this master's runs, oldest first, searched from the id `first` on.

    Leaves out those of the runs in `without`; or takes only those of the run `only`.

    The same transaction must act on them.
    """
    values = {"master": master, "limit": limit, "without": list(without), "only": only, "first": first}
    return [_read(row) for row in await connection.execute(_CONSUME, values)]


async def readdress(connection: FencedTransaction) -> int:
    """Address events of masters that are gone to the current owners of their runs, and notify those. Returns how many.

    A worker that reported an end during the failover of its run may not have seen the new owner yet.
    """
    owners = (await connection.execute(_READDRESS)).scalars()
    if owners:
        await notify(connection, EVENT, set(owners))
    return len(owners)


# Unread events of a former owner, of a run that has ended since or no longer exists.
@statement("""
    WITH stray AS MATERIALIZED (SELECT * FROM stray_events()), locked AS MATERIALIZED (
        SELECT ctid AS place FROM task_event
        WHERE ctid = ANY(ARRAY(SELECT place FROM stray WHERE NOT is_owned AND (has_ended OR run IS NULL)))
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM task_event WHERE ctid = ANY(ARRAY(SELECT place FROM locked))
""")
async def drop_stale(connection: FencedTransaction) -> int:
    """Delete events that nobody will ever read, a bounded number for each owner. Returns how many."""


@statement("""
    DELETE FROM task_event WHERE workflow_instance_id = ANY(CAST(:instances AS bigint[]))  -- index: task_event_run
""")
async def delete_of(connection: FencedTransaction, instances: Sequence[WorkflowInstanceId]) -> None:
    """Delete the events of runs whose rows are read later in the same transaction."""


def _read(row: Sequence[Any]) -> TaskEvent:
    instance, code, attempt, state, outputs, child_index, is_suspect, age_s, id_ = row
    what: AttemptEnd | ChildState | HaltRequest | Unreadable
    try:
        if code == 0:
            what = HaltRequest(WorkflowState(state))
        elif child_index is not None:
            what = ChildState(TaskCode(code), attempt, child_index, WorkflowState(state), outputs)
        else:
            what = AttemptEnd(TaskCode(code), attempt, TaskState(state), outputs, is_suspect=bool(is_suspect))
    except ValueError as error:
        what = Unreadable(str(error))
    return TaskEvent(WorkflowInstanceId(instance), what, age_s, id_)
