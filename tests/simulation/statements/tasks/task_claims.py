"""The statements of `dao/tasks/task_claims.py`."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from dao.tasks.looks import InVain
from dao.tasks.task_claims import FEW, ClaimedTask, Report, WorkWaits
from model.choices import Priority
from model.ids import Epoch, TaskInstanceId
from model.runs.queue_places import Places
from model.runs.states import TaskState
from tests.simulation.statements.pools import pool_leases
from tests.simulation.statements.rows import RUNNING, tell_event
from tests.simulation.statements.tasks import looks
from tests.simulation.tables import Transaction, Values

T = TaskState
_ORDER = ("HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST")


def claim(
    tx: Transaction, groups: Sequence[str], limit: int, worker: Epoch, places: Places | None = None
) -> list[ClaimedTask]:
    """QUEUED of these groups in their order, of these places only if any are given, FOR UPDATE SKIP LOCKED."""
    node = tx.get(tx.server.nodes, worker)
    if node is not None and (node.kind, node.name or node.address) in tx.server.drains:
        return []
    queued = [
        (urgency(task), row)
        for row, task in tx.scan(tx.server.tasks.unfinished)
        if task.state is T.QUEUED and task.is_plain and is_searched(task, groups, places)
    ]
    claimed: list[ClaimedTask] = []
    for _, row in sorted(queued, key=itemgetter(0)):
        if len(claimed) < limit and tx.try_lock(row):
            task = tx.see(row)
            assert task is not None
            state = T.RUNNING_EXECUTION if task.write_ahead else T.DISPATCH
            started_s = tx.server.now_s if task.write_ahead else None
            claimed.append(claimed_task(tx, tx.update(row, state=state, worker_id=worker, started_s=started_s)))
    return claimed


def urgency(task: Values) -> tuple[int, int, int, int]:
    """Its place in the queue."""
    ranks = _ORDER.index(task.workflow_priority), _ORDER.index(task.task_priority)
    return ranks[0], task.workflow_instance_id, ranks[1], task.id


def is_searched(task: Values, groups: Sequence[str], places: Places | None) -> bool:
    """Whether a task is of a place that is searched."""
    if places is None:
        return task.worker_group in groups
    lowest = places.get(Priority(task.workflow_priority), {}).get(task.worker_group)
    return lowest is not None and task.workflow_instance_id >= lowest


def claimed_task(tx: Transaction, task: Values) -> ClaimedTask:
    """The attempt as a worker gets it."""
    instance = tx.get(tx.server.instances, task.workflow_instance_id)
    assert instance is not None
    return ClaimedTask(
        task.id,
        task.workflow_instance_id,
        instance.workflow_code,
        task.task_code,
        task.attempt,
        task.name,
        task.type,
        task.state,
        task.params,
        task.parameter_values,
        "20260101",
        instance.schedule_time,
        instance.time_zone,
        traceparent=instance.traceparent,
        workflow_priority=Priority(task.workflow_priority),
        stream=task.stream,
        leases=pool_leases.leases(tx, task),
    )


def mark_running(tx: Transaction, task: ClaimedTask, worker: Epoch) -> bool:
    """WHERE attempt and worker AND state IN ('DISPATCH', 'RUNNING_EXECUTION') AND NOT kill_requested."""
    row = tx.server.tasks.rows[task.id]
    there = tx.see(row)
    assert there is not None
    mine = there.worker_id == worker or not tx.server.protections.attempt
    if not mine or there.state not in RUNNING or there.kill_requested:
        return False
    started_s = tx.server.now_s if there.started_s is None else there.started_s
    tx.update(row, state=T.RUNNING_EXECUTION, started_s=started_s)
    return True


def report(tx: Transaction, reports: Sequence[Report], worker: Epoch) -> dict[TaskInstanceId, Epoch | None]:
    """Looks in vain first. WHERE id AND attempt AND worker_id = :worker AND ended_at IS NULL; the event from the rows
    that were hit."""
    in_vain = [InVain(each.id, each.attempt, each.reason, each.again) for each in reports if each.again is not None]
    kept: dict[TaskInstanceId, Epoch | None] = looks.put_off(tx, in_vain, worker) if in_vain else {}
    for each in reports:
        if each.again is not None:
            continue
        there = tx.get(tx.server.tasks, each.id)
        if there is None:  # only where a protection is off that keeps a live run from being deleted
            continue
        row = tx.server.tasks.rows[each.id]
        is_mine = there.worker_id == worker and there.attempt == each.attempt and there.ended_s is None
        if is_mine or not tx.server.protections.attempt:
            reason = each.reason or None
            tx.update(row, state=each.state, ended_s=tx.server.now_s, reason=reason, outputs=each.outputs)
            pool_leases.leave(tx, there)
            tell_event(tx, there.workflow_instance_id, there.task_code, there.attempt, each.state, None, each.outputs)
            run = tx.get(tx.server.instances, there.workflow_instance_id)
            kept[each.id] = Epoch(0) if run is None else run.master_id
    return kept


def _of_worker(tx: Transaction, worker: Epoch) -> list[Values]:
    return [
        task for _, task in tx.scan(tx.server.tasks.unfinished) if task.worker_id == worker and task.state in RUNNING
    ]


def to_end(tx: Transaction, worker: Epoch) -> dict[TaskInstanceId, str | None]:
    return {
        task.id: None if task.kill_requested else task.handover
        for task in _of_worker(tx, worker)
        if task.kill_requested or task.handover is not None
    }


def owned(tx: Transaction, worker: Epoch) -> list[ClaimedTask]:
    return [claimed_task(tx, task) for task in _of_worker(tx, worker)]


def work_waits(
    tx: Transaction,
    groups: Sequence[str],
    worker: Epoch,
    *,
    walks: bool = True,
    first: int = 0,
    runs: bool = True,
) -> WorkWaits:
    server = tx.server
    queued = [
        task for _, task in tx.scan(server.tasks.unfinished) if task.state is T.QUEUED and task.worker_group in groups
    ]
    for_pools = any(task.resources is not None for task in queued)
    streams = any(task.stream is not None and task.resources is None for task in queued)
    since = first if server.tasks.last_id < first + FEW else 0
    plain = walks and any(task.is_plain for task in queued if task.id >= since)
    kills = walks and runs and bool(to_end(tx, worker))
    return WorkWaits(plain, for_pools, False, kills, streams, server.tasks.last_id, server.horizon())
