"""The statements of `dao/tasks/task_events.py`."""

from __future__ import annotations

from collections.abc import Sequence

from dao.postgres.notify import EVENT
from dao.tasks.task_events import TaskEvent
from model.cluster.nodes import NodeKind
from model.ids import Epoch, WorkflowInstanceId
from model.runs.instances import AttemptEnd, ChildState, HaltRequest
from model.runs.states import TaskState, WorkflowState
from tests.simulation.statements.rows import owns_no_more
from tests.simulation.tables import Row, Transaction, Values

T, W = TaskState, WorkflowState


def consume(
    tx: Transaction,
    master: Epoch,
    limit: int,
    *,
    without: Sequence[WorkflowInstanceId] = (),
    only: WorkflowInstanceId | None = None,
    first: int = 0,
) -> list[TaskEvent]:
    """Addressed to us, oldest first, except those of `without`; FOR UPDATE SKIP LOCKED. DELETE those of own instances;
    the others are addressed to who owns them."""
    told: list[TaskEvent] = []
    picked = 0
    for row, event in list(tx.scan(tx.server.events.rows)):
        id_ = event.workflow_instance_id
        wanted = event.owner == master and row.id >= first and id_ not in without and only in (None, id_)
        if not wanted or picked == limit or not tx.try_lock(row):
            continue
        picked += 1
        instance = tx.get(tx.server.instances, id_)
        if instance is not None and instance.master_id == master:
            tx.delete(row)
            told.append(TaskEvent(id_, _told(event), id=row.id))
        else:
            tx.update(row, owner=0 if instance is None else instance.master_id)
    return told


def strays(tx: Transaction) -> list[tuple[Row, Values, Values | None]]:
    """Events addressed to a master that is gone, with their runs."""
    return [
        (row, event, tx.get(tx.server.instances, event.workflow_instance_id))
        for row, event in tx.scan(tx.server.events.rows)
        if owns_no_more(tx, event.owner, NodeKind.MASTER)
    ]


def is_owned(tx: Transaction, run: Values | None) -> bool:
    return run is not None and not owns_no_more(tx, run.master_id, NodeKind.MASTER)


def is_stale(tx: Transaction, run: Values | None) -> bool:
    return run is None or (run.state.is_final and not is_owned(tx, run))


def readdress(tx: Transaction) -> int:
    """Move events of gone owners to the living owners of the runs, FOR UPDATE SKIP LOCKED."""
    owners = set()
    count = 0
    for row, _, run in strays(tx):
        if run is not None and is_owned(tx, run) and tx.try_lock(row):
            tx.update(row, owner=run.master_id)
            owners.add(run.master_id)
            count += 1
    if owners:
        tx.notes.append((EVENT, ",".join(sorted(map(str, owners)))))
    return count


def _told(event: Values) -> AttemptEnd | ChildState | HaltRequest:
    code = event.task_code
    if code == 0:
        return HaltRequest(W(event.state))
    if event.child_index is not None:
        return ChildState(code, event.attempt, event.child_index, W(event.state), event.outputs)
    return AttemptEnd(code, event.attempt, T(event.state), event.outputs, is_suspect=bool(event.is_suspect))


def drop_stale(tx: Transaction) -> int:
    """Delete events of ended or missing runs whose master is gone; FOR UPDATE SKIP LOCKED."""
    stale = [row for row, _, run in strays(tx) if is_stale(tx, run) and tx.try_lock(row)]
    for row in stale:
        tx.delete(row)
    return len(stale)


def delete_of(tx: Transaction, instances: Sequence[WorkflowInstanceId]) -> None:
    for row, event in list(tx.scan(tx.server.events.rows)):
        if event.workflow_instance_id in instances:
            tx.delete(row)
