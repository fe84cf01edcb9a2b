"""The statements of `dao/checks/stuck_runs.py`."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from dao.checks.stuck_runs import HALT_UNREPORTED, NO_CHILD, NO_TIME, NOTHING_UNDER_WAY, Stuck, UnderWay, Walked
from model.ids import Epoch, WorkflowInstanceId
from model.runs.command_moves import CommandType
from model.runs.states import TaskState, WorkflowState
from tests.simulation.tables import Row, Transaction, Values

C, T, W = CommandType, TaskState, WorkflowState
_RESUMES = (C.RECOVER_SUSPENDED_PROCESS, C.START_FAILURE_TASK_PROCESS)


def walk(tx: Transaction, master: Epoch, after: WorkflowInstanceId, limit: int, older_than: timedelta) -> Walked:
    """By id: all that this master owns, and that has nothing in progress and no event on its way."""
    mine = sorted(
        (
            (row, each)
            for row, each in tx.scan(tx.server.instances.unfinished)
            if each.master_id == master and not each.state.is_final and row.id > after
        ),
        key=lambda one: one[0].id,
    )[:limit]
    stuck = []
    for row, each in mine:
        missing = _missing(tx, row, each)
        if missing is not None and _idle_s(tx, row, each) >= older_than.total_seconds():
            stuck.append(Stuck(row.id, each.state, master, missing, _idle_s(tx, row, each)))
    return Walked([row.id for row, _ in mine], stuck)


def _missing(tx: Transaction, row: Row, run: Values) -> str | None:
    if not run.state.is_driven:
        return None
    tasks = [task for _, task in tx.of_key(tx.server.tasks, row.id)]
    if run.requested_state is not None and run.requested_state is not run.state and run.state is not W.READY_STOP:
        missing = HALT_UNREPORTED
    elif any(_is_under_way(tx, run, task) for task in tasks):
        return None
    else:
        missing = NOTHING_UNDER_WAY
    if any(event.workflow_instance_id == row.id for _, event in tx.scan(tx.server.events.rows)):
        return None
    open_states = sorted(task.state for task in tasks if task.state in (T.DELAY_EXECUTION, T.RUNNING_EXECUTION))
    if missing is HALT_UNREPORTED or not open_states:
        return missing
    return NO_TIME if open_states[0] is T.DELAY_EXECUTION else NO_CHILD


def _is_under_way(tx: Transaction, run: Values, task: Values) -> bool:
    if task.state in (T.QUEUED, T.DISPATCH, T.DELAY_EXECUTION):
        return True
    return task.state is T.RUNNING_EXECUTION and (
        task.worker_id is not None or task.type in ("DEPENDENT", "APPROVAL") or _has_child(tx, run, task)
    )


def _has_child(tx: Transaction, run: Values, task: Values) -> bool:
    place = (task.workflow_instance_id, task.task_code, task.attempt)
    open_commands = [each for _, each in tx.scan(tx.server.commands.rows)]
    resumed = {each.row.workflow_instance_id for each in open_commands if each.type in _RESUMES}
    for row, child in tx.scan(tx.server.instances.rows):
        parent = child.parent
        if parent is not None and (parent.instance, parent.code, parent.attempt) == place:
            rests = child.state is W.PAUSE and run.state is W.RUNNING_EXECUTION and not task.kill_requested
            if not child.state.is_final or rests or str(row.id) in resumed:
                return True
    return any((each.row.parent or "").startswith("/".join(map(str, place)) + "/") for each in open_commands)


def _idle_s(tx: Transaction, row: Row, run: Values) -> float:
    """Seconds since its start, or since one of its tasks was queued, began or ended, or a child ended."""
    changed_s = [run.started_s]
    for _, task in tx.of_key(tx.server.tasks, row.id):
        changed_s += [task.queued_s, task.started_s, task.ended_s]
    for _, child in tx.scan(tx.server.instances.rows):
        if child.parent is not None and child.parent.instance == row.id:
            changed_s.append(child.ended_s)
    return float(tx.server.now_s - max(moment_s for moment_s in changed_s if moment_s is not None))


def unheard(tx: Transaction, believed: Collection[UnderWay], older_than: timedelta) -> list[UnderWay]:
    """Attempts that are over by their rows, and of whose run no event tells."""
    told = {event.workflow_instance_id for _, event in tx.scan(tx.server.events.rows)}
    return [
        each
        for each in believed
        if each.instance not in told
        for _, task in tx.of_key(tx.server.tasks, each.instance)
        if (task.task_code, task.attempt) == (each.code, each.attempt)
        and task.ended_s is not None
        and task.ended_s < tx.server.now_s - older_than.total_seconds()
    ]
