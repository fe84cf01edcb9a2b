"""The statements of `dao/tasks/task_instances.py`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from dao.runs.workflow_instances import OwnershipLost, named
from dao.tasks.task_instances import MasterTaskEnd, NewTask
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowInstanceId
from model.instances import TaskAttempt, TaskEnd
from model.nodes import NodeKind
from model.states import TaskState
from tests.simulation.statements.rows import RUNNING, is_owned, note_owners, owns_no_more, tell_event
from tests.simulation.statements.tasks import requeue
from tests.simulation.statements.tasks.requeue import dispatch_by_s
from tests.simulation.tables import Row, Transaction, Values

T = TaskState


def queue(tx: Transaction, tasks: Sequence[NewTask], master: Epoch) -> int:
    """JOIN workflow_instance ON master_id = :master AND state IN the driven ones; unique (instance, code, attempt)."""
    server = tx.server
    missed: set[WorkflowInstanceId] = set()
    for task in tasks:
        instance = tx.get(server.instances, task.workflow_instance_id)
        if instance is None or not is_owned(tx, instance, master) or not instance.state.is_driven:
            missed.add(task.workflow_instance_id)
            continue
        for row in list(server.tasks.by_key.get(task.workflow_instance_id, ())):
            there = tx.see(row) or (row.owner.writes.get(row) if row.owner else None)
            if there is not None and (there.task_code, there.attempt) == (task.code, task.attempt):
                tx.refuse_if_there(row, "task_instance_attempt")
        if server.protections.superseded:
            _supersede(tx, task)
        id_ = TaskInstanceId(server.tasks.next_id())
        values = {name: getattr(task, name) for name in NewTask.__slots__}
        values |= {
            "id": id_,
            "task_code": values.pop("code"),
            "state": task.state if task.wait_reason is None else T.DELAY_EXECUTION,
            "reason": task.reason or None,
            "due_s": server.now_s + 60 * task.wait_minutes,
            "dispatch_by_s": None if task.wait_reason is not None else dispatch_by_s(tx, task.dispatch_timeout_s),
            "worker_id": None,
            "kill_requested": False,
            "flag": True,
            "queued_s": server.now_s,
            "started_s": None if task.state is T.QUEUED else server.now_s,
            "ended_s": server.now_s if task.state.is_final else None,
        }
        tx.insert(server.tasks, id_, Values(**values))
    if missed:
        raise OwnershipLost(missed, f"tasks of runs {named(missed)} cannot begin: master {master} does not drive them")
    return 0


def _supersede(tx: Transaction, new: NewTask) -> None:
    """The trigger `task_instance_supersedes`, and the unique index behind it."""
    for row, task in list(tx.of_key(tx.server.tasks, new.workflow_instance_id)):
        if task.task_code == new.code and task.flag:
            if task.attempt >= new.attempt:
                tx.refuse_if_there(row, "task_instance_valid")
            tx.update(row, flag=False)


def _own(tx: Transaction, instances: Collection[WorkflowInstanceId], master: Epoch) -> list[WorkflowInstanceId]:
    found = [(id_, tx.get(tx.server.instances, id_)) for id_ in instances]
    return [id_ for id_, each in found if each is not None and is_owned(tx, each, master)]


def halt(
    tx: Transaction,
    halts: Mapping[WorkflowInstanceId, tuple[TaskState, str]],
    given_up: Collection[WorkflowInstanceId],
    master: Epoch,
) -> list[TaskEnd]:
    """What waits or is queued of own instances; of those given up also what lives in the master. All that is open is
    held first, FOR NO KEY UPDATE."""
    ended = []
    tasks = [each for id_ in halts for each in tx.of_key(tx.server.tasks, id_)]
    for row in sorted((row for row, task in tasks if not task.state.is_final), key=lambda row: row.id):
        tx.lock(row)
    for id_ in _own(tx, halts, master):
        state, reason = halts[id_]
        for row, task in tx.of_key(tx.server.tasks, id_):
            in_master = task.state is T.RUNNING_EXECUTION and task.worker_id is None
            ends_at_once = in_master and (task.type == "DEPENDENT" or id_ in given_up)
            if task.state in (T.QUEUED, T.DELAY_EXECUTION) or ends_at_once:
                tx.update(row, state=state, ended_s=tx.server.now_s, reason=reason)
                ended.append(TaskEnd(id_, task.task_code, task.attempt, state))
    return ended


def ask_kill(tx: Transaction, instances: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    for id_ in _own(tx, instances, master):
        for row, task in tx.of_key(tx.server.tasks, id_):
            if task.state in RUNNING and not task.kill_requested:
                tx.update(row, kill_requested=True)


def end_in_master(tx: Transaction, ends: Sequence[MasterTaskEnd], master: Epoch) -> None:
    ended: set[tuple[WorkflowInstanceId, TaskCode]] = set()
    for end in ends:
        for id_ in _own(tx, [end.workflow_instance_id], master):
            for row, task in tx.of_key(tx.server.tasks, id_):
                same = (task.task_code, task.attempt) == (end.code, end.attempt)
                if same and task.state is T.RUNNING_EXECUTION and task.worker_id is None:
                    given = {"reason": end.reason or None, "outputs": end.outputs}
                    tx.update(row, state=end.state, ended_s=tx.server.now_s, **given)
                    ended.add((end.workflow_instance_id, end.code))
    if missed := {end.workflow_instance_id for end in ends if (end.workflow_instance_id, end.code) not in ended}:
        raise OwnershipLost(missed, f"tasks of runs {named(missed)} do not run in master {master} as it believes")


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
                task.parameter_values if task.state is T.RUNNING_EXECUTION and task.worker_id is None else "{}",
                max(0, round((task.due_s - tx.server.now_s) / 60)) if task.state is T.DELAY_EXECUTION else 0,
            )
            for task in ordered
        ]
    return found


def queue_due(tx: Transaction, limit: int) -> list[str]:
    """DELAY_EXECUTION that is due, FOR UPDATE SKIP LOCKED."""
    due: list[TaskInstanceId] = []
    for row, task in list(tx.scan(tx.server.tasks.unfinished)):
        is_due = task.state is T.DELAY_EXECUTION and task.due_s <= tx.server.now_s
        if is_due and len(due) < limit and tx.try_lock(row):
            due.append(TaskInstanceId(row.id))
    return requeue.put_back(tx, due)


def next_due_in_s(tx: Transaction) -> float:
    """Of DELAY_EXECUTION that is not due yet, and of what is queued until a time to come."""
    return min((at_s - tx.server.now_s for at_s in times_s(tx) if at_s > tx.server.now_s), default=1e9)


def times_s(tx: Transaction) -> list[float]:
    """When something is to be done with each attempt that waits for a time or, with a limit, for a worker."""
    tasks = [task for _, task in tx.scan(tx.server.tasks.unfinished)]
    waiting = [task.due_s for task in tasks if task.state is T.DELAY_EXECUTION]
    return waiting + [t.dispatch_by_s for t in tasks if t.state is T.QUEUED and t.dispatch_by_s is not None]


def fail_undispatched(tx: Transaction, limit: int) -> int:
    """QUEUED for too long, FOR UPDATE SKIP LOCKED."""
    failed: list[int] = []
    for row, task in list(tx.scan(tx.server.tasks.unfinished)):
        is_late = task.state is T.QUEUED and task.dispatch_by_s is not None and task.dispatch_by_s <= tx.server.now_s
        if is_late and len(failed) < limit and tx.try_lock(row):
            reason = f"no worker of group {task.worker_group} took it within its dispatch_timeout of "
            reason += f"{task.dispatch_timeout_s / 60:g} min; start one there, or give it more time"
            tx.update(row, state=T.FAILURE, ended_s=tx.server.now_s, reason=reason)
            tell_event(tx, task.workflow_instance_id, task.task_code, task.attempt, T.FAILURE)
            failed.append(task.workflow_instance_id)
    if failed:
        note_owners(tx, set(failed))
    return len(failed)


def mark_lost(
    tx: Transaction, limit: int, *, aside: Sequence[TaskInstanceId] = (), only: TaskInstanceId | None = None
) -> int:
    """DISPATCH and RUNNING without a living worker, FOR UPDATE SKIP LOCKED; surely unstarted = put back."""
    count = 0
    unstarted = []
    for row, task in _lost(tx, aside):
        if count == limit or only not in (None, row.id) or not tx.try_lock(row):
            continue
        count += 1
        if task.state is T.DISPATCH:
            unstarted.append(TaskInstanceId(row.id))
        else:
            reason = "its worker was lost"
            tx.update(row, state=T.NEED_FAULT_TOLERANCE, ended_s=tx.server.now_s, reason=reason)
            tell_event(tx, task.workflow_instance_id, task.task_code, task.attempt, T.NEED_FAULT_TOLERANCE)
    requeue.put_back(tx, unstarted)
    return count


def lost(tx: Transaction, limit: int, aside: Sequence[TaskInstanceId] = ()) -> list[TaskInstanceId]:
    """The same, only held."""
    return [row.id for row, _ in _lost(tx, aside) if tx.try_lock(row)][:limit]


def _lost(tx: Transaction, aside: Sequence[TaskInstanceId]) -> list[tuple[Row, Values]]:
    return [
        (row, task)
        for row, task in tx.scan(tx.server.tasks.unfinished)
        if task.state in RUNNING
        and task.worker_id is not None
        and owns_no_more(tx, task.worker_id, NodeKind.WORKER)
        and row.id not in aside
    ]
