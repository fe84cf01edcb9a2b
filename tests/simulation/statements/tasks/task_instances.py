"""The statements of `dao/tasks/task_instances.py`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from dao.runs.workflow_instances import OwnershipLost, named
from dao.tasks.task_instances import NewTask
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowInstanceId
from model.runs.instances import AttemptEnd
from model.runs.states import TaskState
from tests.simulation.statements.rows import RUNNING, is_owned
from tests.simulation.statements.tasks.requeue import dispatch_by_s
from tests.simulation.tables import Transaction, Values

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
            if there is not None and (there.task_code, there.attempt) == (task.attempt.code, task.attempt.attempt):
                tx.refuse_if_there(row, "task_instance_attempt")
        if server.protections.superseded:
            _supersede(tx, task)
        id_ = TaskInstanceId(server.tasks.next_id())
        attempt = task.attempt
        values = {name: getattr(task, name) for name in NewTask._fields if name != "attempt"}
        values |= {name: getattr(attempt, name) for name in ("attempt", "state", "retries", "outputs", "wait_reason")}
        values |= {
            "id": id_,
            "task_code": attempt.code,
            "parameter_values": attempt.values,
            "branch": None if attempt.branch is None else json.dumps(sorted(attempt.branch)),
            "reason": attempt.reason or None,
            "due_s": server.now_s + 60 * attempt.due_in_minutes,
            "dispatch_by_s": dispatch_by_s(tx, task.dispatch_timeout_s) if attempt.state is T.QUEUED else None,
            "worker_id": None,
            "kill_requested": False,
            "handover": None,
            "looks": 0,
            "updated_datasets": None,
            "is_plain": task.resources is None and task.stream is None,
            "flag": True,
            "queued_s": server.now_s,
            "started_s": None if attempt.state in (T.QUEUED, T.DELAY_EXECUTION) else server.now_s,
            "ended_s": server.now_s if attempt.state.is_final else None,
        }
        tx.insert(server.tasks, id_, Values(**values))
    if missed:
        raise OwnershipLost(missed, f"tasks of runs {named(missed)} cannot begin: master {master} does not drive them")
    return 0


def _supersede(tx: Transaction, new: NewTask) -> None:
    """The trigger `task_instance_supersedes`, and the unique index behind it."""
    for row, task in list(tx.of_key(tx.server.tasks, new.workflow_instance_id)):
        if task.task_code == new.attempt.code and task.flag:
            if task.attempt >= new.attempt.attempt:
                tx.refuse_if_there(row, "task_instance_valid")
            tx.update(row, flag=False)


def _own(tx: Transaction, instances: Collection[WorkflowInstanceId], master: Epoch) -> list[WorkflowInstanceId]:
    found = [(id_, tx.get(tx.server.instances, id_)) for id_ in instances]
    return [id_ for id_, each in found if each is not None and is_owned(tx, each, master)]


def halt(
    tx: Transaction,
    halts: Mapping[WorkflowInstanceId, tuple[TaskState, str]],
    abandoned: Collection[WorkflowInstanceId],
    master: Epoch,
) -> list[tuple[WorkflowInstanceId, AttemptEnd]]:
    """End what waits or is queued of own runs; of those given up also what runs in the master. All open rows are locked
    first, FOR NO KEY UPDATE."""
    ended = []
    tasks = [each for id_ in halts for each in tx.of_key(tx.server.tasks, id_)]
    for row in sorted((row for row, task in tasks if not task.state.is_final), key=lambda row: row.id):
        tx.lock(row)
    for id_ in _own(tx, halts, master):
        state, reason = halts[id_]
        for row, task in tx.of_key(tx.server.tasks, id_):
            in_master = task.state is T.RUNNING_EXECUTION and task.worker_id is None
            ends_at_once = in_master and (task.type in ("DEPENDENT", "APPROVAL") or id_ in abandoned)
            if task.state in (T.QUEUED, T.DELAY_EXECUTION) or ends_at_once:
                tx.update(row, state=state, ended_s=tx.server.now_s, reason=reason)
                ended.append((id_, AttemptEnd(task.task_code, task.attempt, state)))
    return ended


def ask_kill(tx: Transaction, instances: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    for id_ in _own(tx, instances, master):
        for row, task in tx.of_key(tx.server.tasks, id_):
            if task.state in RUNNING and not task.kill_requested:
                tx.update(row, kill_requested=True)


def hand_over_streams(tx: Transaction, instances: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    for id_ in _own(tx, instances, master):
        for row, task in tx.of_key(tx.server.tasks, id_):
            is_asked = task.handover is not None or task.kill_requested
            if task.state in RUNNING and task.stream is not None and not is_asked:
                tx.update(row, handover="its run is paused")


def end_in_master(tx: Transaction, ends: Sequence[tuple[WorkflowInstanceId, AttemptEnd]], master: Epoch) -> None:
    ended: set[tuple[WorkflowInstanceId, TaskCode]] = set()
    for run, end in ends:
        for id_ in _own(tx, [run], master):
            for row, task in tx.of_key(tx.server.tasks, id_):
                same = (task.task_code, task.attempt) == (end.code, end.attempt)
                if same and task.state is T.RUNNING_EXECUTION and task.worker_id is None:
                    given = {"reason": end.reason or None, "outputs": end.outputs}
                    tx.update(row, state=end.state, ended_s=tx.server.now_s, **given)
                    ended.add((run, end.code))
    if missed := {run for run, end in ends if (run, end.code) not in ended}:
        raise OwnershipLost(missed, f"tasks of runs {named(missed)} do not run in master {master} as it believes")


def reset_retries(tx: Transaction, run: WorkflowInstanceId, codes: Sequence[TaskCode]) -> None:
    """WHERE retries > 0 AND state IN ('PAUSE', 'KILL')."""
    for row, task in tx.of_key(tx.server.tasks, run):
        if task.task_code in codes and task.retries > 0 and task.state in (TaskState.PAUSE, TaskState.KILL):
            tx.update(row, retries=0)


def invalidate(tx: Transaction, tasks: Sequence[tuple[WorkflowInstanceId, TaskCode]]) -> None:
    for instance, code in tasks:
        for row, task in tx.of_key(tx.server.tasks, instance):
            if task.task_code == code and task.flag:
                tx.update(row, flag=False)
