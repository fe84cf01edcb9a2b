"""The statements of `dao/task_instances.py`, `task_claims.py` and `task_events.py`, under the same names."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from dao.task_claims import ClaimedTask, Report
from dao.task_instances import MasterTaskEnd, NewTask
from dao.workflow_instances import OwnershipLost
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowInstanceId
from model.instances import ChildEnd, HaltAsked, TaskAttempt, TaskEnd
from model.nodes import NodeKind
from model.states import TaskState, WorkflowState
from tests.simulation.statements.instances import is_owned, tell_event
from tests.simulation.statements.nodes import is_gone
from tests.simulation.tables import Transaction, Values

T, W = TaskState, WorkflowState
_RUNNING = (T.DISPATCH, T.RUNNING_EXECUTION)
_ORDER = ("HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST")


def queue(tx: Transaction, tasks: Sequence[NewTask], master: Epoch) -> int:
    """JOIN workflow_instance ON master_id = :master AND state IN the driven ones; unique (instance, code, attempt)."""
    server, count = tx.server, 0
    for task in tasks:
        instance = tx.get(server.instances, task.workflow_instance_id)
        if instance is None or not is_owned(tx, instance, master) or not instance.state.is_driven:
            continue
        for row in list(server.tasks.by_key.get(task.workflow_instance_id, ())):
            there = tx.see(row) or (row.owner.writes.get(row) if row.owner else None)
            if there is not None and (there.task_code, there.attempt) == (task.code, task.attempt):
                tx.refuse_if_there(row, "task_instance_attempt")
        id_ = TaskInstanceId(server.tasks.next_id())
        values = {name: getattr(task, name) for name in NewTask.__slots__}
        values |= {
            "id": id_,
            "task_code": values.pop("code"),
            "state": task.state if task.wait_reason is None else T.DELAY_EXECUTION,
            "due_s": server.now_s + 60 * task.wait_minutes,
            "worker_id": None,
            "kill_requested": False,
            "flag": True,
            "ended_s": server.now_s if task.state.is_final else None,
        }
        tx.insert(server.tasks, id_, Values(**values))
        count += 1
    if count != len(tasks):
        raise OwnershipLost(f"{len(tasks) - count} of {len(tasks)} tasks belong to instances of others")
    return 0


def _own(tx: Transaction, instances: Collection[WorkflowInstanceId], master: Epoch) -> list[WorkflowInstanceId]:
    found = [(id_, tx.get(tx.server.instances, id_)) for id_ in instances]
    return [id_ for id_, each in found if each is not None and is_owned(tx, each, master)]


def halt(
    tx: Transaction,
    halts: Mapping[WorkflowInstanceId, tuple[TaskState, str]],
    given_up: Collection[WorkflowInstanceId],
    master: Epoch,
) -> list[TaskEnd]:
    """What waits or is queued of own instances; of those given up also what lives in the master."""
    ended = []
    for id_ in _own(tx, halts, master):
        state, reason = halts[id_]
        for row, task in tx.of_key(tx.server.tasks, id_):
            in_master = task.state is T.RUNNING_EXECUTION and task.worker_id is None
            if task.state in (T.QUEUED, T.DELAY_EXECUTION) or (in_master and id_ in given_up):
                tx.update(row, state=state, ended_s=tx.server.now_s, reason=reason)
                ended.append(TaskEnd(id_, task.task_code, task.attempt, state))
    return ended


def ask_kill(tx: Transaction, instances: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    for id_ in _own(tx, instances, master):
        for row, task in tx.of_key(tx.server.tasks, id_):
            if task.state in _RUNNING and not task.kill_requested and task.worker_id is not None:
                tx.update(row, kill_requested=True)


def end_in_master(tx: Transaction, ends: Sequence[MasterTaskEnd], master: Epoch) -> None:
    count = 0
    for end in ends:
        for id_ in _own(tx, [end.workflow_instance_id], master):
            for row, task in tx.of_key(tx.server.tasks, id_):
                same = (task.task_code, task.attempt) == (end.code, end.attempt)
                if same and task.state is T.RUNNING_EXECUTION and task.worker_id is None:
                    given = {"reason": end.reason, "outputs": end.outputs}
                    tx.update(row, state=end.state, ended_s=tx.server.now_s, **given)
                    count += 1
    if count != len(ends):
        raise OwnershipLost(f"{len(ends) - count} of {len(ends)} tasks are not as their master believes")


def invalidate(tx: Transaction, tasks: Sequence[tuple[WorkflowInstanceId, TaskCode]]) -> None:
    for instance, code in tasks:
        for row, task in tx.of_key(tx.server.tasks, instance):
            if task.task_code == code and task.flag:
                tx.update(row, flag=False)


def latest_attempts(
    tx: Transaction, instances: Sequence[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, list[TaskAttempt]]:
    found: dict[WorkflowInstanceId, list[TaskAttempt]] = {}
    for id_ in instances:
        latest: dict[TaskCode, Values] = {}
        for _, task in tx.of_key(tx.server.tasks, id_):
            if task.task_code not in latest or latest[task.task_code].attempt < task.attempt:
                latest[task.task_code] = task
        ordered = sorted(latest.values(), key=lambda each: (each.ended_s is None, each.ended_s or 0, each.task_code))
        found[id_] = [
            TaskAttempt(
                task.task_code,
                task.attempt,
                task.state,
                task.retries,
                task.flag,
                task.outputs,
                None if task.branch is None else frozenset(map(TaskCode, json.loads(task.branch))),
            )
            for task in ordered
        ]
    return found


def queue_due(tx: Transaction, limit: int) -> list[str]:
    """DELAY_EXECUTION that is due, FOR UPDATE SKIP LOCKED."""
    groups: list[str] = []
    for row, task in list(tx.scan(tx.server.tasks.unfinished)):
        is_due = task.state is T.DELAY_EXECUTION and task.due_s <= tx.server.now_s
        if is_due and len(groups) < limit and tx.try_lock(row):
            tx.update(row, state=T.QUEUED)
            groups.append(task.worker_group)
    return groups


def mark_lost(tx: Transaction, limit: int) -> int:
    """DISPATCH and RUNNING of a FENCED or LEFT worker, FOR UPDATE SKIP LOCKED; surely unstarted = queued again."""
    count = 0
    for row, task in list(tx.scan(tx.server.tasks.unfinished)):
        if task.state not in _RUNNING or task.worker_id is None or count == limit:
            continue
        if not is_gone(tx, task.worker_id, NodeKind.WORKER) or not tx.try_lock(row):
            continue
        count += 1
        if task.state is T.DISPATCH and not task.kill_requested:
            tx.update(row, state=T.QUEUED, worker_id=None)
        else:
            reason = "its worker was lost"
            tx.update(row, state=T.NEED_FAULT_TOLERANCE, ended_s=tx.server.now_s, reason=reason)
            tell_event(tx, task.workflow_instance_id, task.task_code, task.attempt, T.NEED_FAULT_TOLERANCE)
    return count


# ---------------------------------------------------------------------------------------------- task_claims


def claim(tx: Transaction, groups: Sequence[str], limit: int, worker: Epoch) -> list[ClaimedTask]:
    """QUEUED of these groups in their order, FOR UPDATE SKIP LOCKED."""
    queued = [
        (_ORDER.index(task.workflow_priority), task.workflow_instance_id, _ORDER.index(task.task_priority), row.id, row)
        for row, task in tx.scan(tx.server.tasks.unfinished)
        if task.state is T.QUEUED and task.worker_group in groups
    ]
    claimed: list[ClaimedTask] = []
    for *_, row in sorted(queued, key=lambda each: each[:4]):
        if len(claimed) < limit and tx.try_lock(row):
            task = tx.see(row)
            assert task is not None
            state = T.RUNNING_EXECUTION if task.write_ahead else T.DISPATCH
            claimed.append(_claimed(tx, tx.update(row, state=state, worker_id=worker)))
    return claimed


def _claimed(tx: Transaction, task: Values) -> ClaimedTask:
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
        instance.master_id,
        "20260101",
        instance.schedule_time,
        instance.time_zone,
    )


def mark_running(tx: Transaction, task: ClaimedTask, worker: Epoch) -> bool:
    """WHERE attempt and worker AND state IN ('DISPATCH', 'RUNNING_EXECUTION') AND NOT kill_requested."""
    row = tx.server.tasks.rows[task.id]
    there = tx.see(row)
    assert there is not None
    mine = there.worker_id == worker or not tx.server.protections.attempt
    if not mine or there.state not in _RUNNING or there.kill_requested:
        return False
    tx.update(row, state=T.RUNNING_EXECUTION)
    return True


def report(tx: Transaction, reports: Sequence[Report], worker: Epoch) -> set[TaskInstanceId]:
    """WHERE id AND attempt AND worker_id = :worker AND ended_at IS NULL; the event from the rows that were hit."""
    kept = set()
    for each in reports:
        row = tx.server.tasks.rows[each.id]
        there = tx.see(row)
        assert there is not None
        is_mine = there.worker_id == worker and there.attempt == each.attempt and there.ended_s is None
        if is_mine or not tx.server.protections.attempt:
            tx.update(row, state=each.state, ended_s=tx.server.now_s, reason=each.reason, outputs=each.outputs)
            tell_event(tx, there.workflow_instance_id, there.task_code, there.attempt, each.state, None, each.outputs)
            kept.add(each.id)
    return kept


def _of_worker(tx: Transaction, worker: Epoch) -> list[Values]:
    return [
        task for _, task in tx.scan(tx.server.tasks.unfinished) if task.worker_id == worker and task.state in _RUNNING
    ]


def to_kill(tx: Transaction, worker: Epoch) -> set[TaskInstanceId]:
    return {task.id for task in _of_worker(tx, worker) if task.kill_requested}


def held(tx: Transaction, worker: Epoch) -> list[ClaimedTask]:
    return [_claimed(tx, task) for task in _of_worker(tx, worker)]


def work_waits(tx: Transaction, groups: Sequence[str], worker: Epoch) -> tuple[bool, bool]:
    queued = any(
        task.state is T.QUEUED and task.worker_group in groups for _, task in tx.scan(tx.server.tasks.unfinished)
    )
    return queued, bool(to_kill(tx, worker))


# ---------------------------------------------------------------------------------------------- task_events


def consume(tx: Transaction, master: Epoch, limit: int) -> list[TaskEnd | ChildEnd | HaltAsked]:
    """Those of the instances whose master_id is ours, oldest first; DELETE."""
    told: list[TaskEnd | ChildEnd | HaltAsked] = []
    for row, event in list(tx.scan(tx.server.events.rows)):
        instance = tx.get(tx.server.instances, event.workflow_instance_id)
        if instance is not None and instance.master_id == master and len(told) < limit:
            tx.delete(row)
            told.append(_told(event))
    return told


def _told(event: Values) -> TaskEnd | ChildEnd | HaltAsked:
    id_, code = event.workflow_instance_id, event.task_code
    if code == 0:
        return HaltAsked(id_, W(event.state))
    if event.child_index is not None:
        return ChildEnd(id_, code, event.attempt, event.child_index, W(event.state), event.outputs)
    return TaskEnd(id_, code, event.attempt, T(event.state), event.outputs)


def drop_stale(tx: Transaction) -> int:
    """Of ended instances whose master is gone."""
    stale = [
        row
        for row, event in tx.scan(tx.server.events.rows)
        if (instance := tx.get(tx.server.instances, event.workflow_instance_id)) is not None
        and instance.state.is_final
        and is_gone(tx, instance.master_id, NodeKind.MASTER)
    ]
    for row in stale:
        tx.delete(row)
    return len(stale)


def forget(tx: Transaction, instances: Sequence[WorkflowInstanceId]) -> None:
    for row, event in list(tx.scan(tx.server.events.rows)):
        if event.workflow_instance_id in instances:
            tx.delete(row)
