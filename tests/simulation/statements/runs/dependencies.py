"""The statements of `dao/runs/dependencies.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from dao.postgres.notify import DEPENDENCY
from dao.runs.dependencies import Before, DependentEnd, Found, Happened, Place, Span, Stretch, WaitingTask, payloads
from model.ids import Epoch, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.states import TaskState
from tests.simulation import definitions
from tests.simulation.statements.rows import tell_event
from tests.simulation.tables import Row, Transaction, Values

T = TaskState
_DATED = ("SCHEDULER", "COMPLEMENT_DATA")
_FAILED = (T.FAILURE, T.KILL, T.PAUSE, T.NEED_FAULT_TOLERANCE)


def waits(task: Values) -> bool:
    """WHERE state = 'RUNNING_EXECUTION' AND task_type = 'DEPENDENT'."""
    return task.state is T.RUNNING_EXECUTION and task.type == "DEPENDENT"


def _own(tx: Transaction, task: Values, master: Epoch) -> bool:
    run = tx.get(tx.server.instances, task.workflow_instance_id)
    return run is not None and run.master_id == master


def _read(tx: Transaction, row: Row, task: Values) -> WaitingTask:
    run = tx.get(tx.server.instances, task.workflow_instance_id)
    assert run is not None
    waited_s = tx.server.now_s - task.started_s
    times = (run.schedule_time, run.time_zone, waited_s, task.timeout_s, task.timeout_strategy)
    return WaitingTask(row.id, task.params, "default", *times, run.command_type in _DATED)


def waiting_of(tx: Transaction, master: Epoch, runs: Collection[WorkflowInstanceId]) -> list[WaitingTask]:
    return [
        _read(tx, row, task)
        for id_ in runs
        for row, task in tx.of_key(tx.server.tasks, id_)
        if waits(task) and _own(tx, task, master)
    ]


def still_waiting(tx: Transaction, master: Epoch | None, ids: Collection[TaskInstanceId]) -> list[WaitingTask]:
    found = [(row, tx.see(row)) for id_ in ids if (row := tx.server.tasks.rows.get(id_)) is not None]
    waiting = [(row, task) for row, task in found if task and waits(task)]
    return [_read(tx, row, task) for row, task in waiting if master is None or _own(tx, task, master)]


def walk(tx: Transaction, master: Epoch, after: Place, limit: int) -> Stretch:
    """Of all masters in the order of (run, task), LIMIT n; of those its own."""
    every = sorted(
        (
            (task.workflow_instance_id, row.id, row, task)
            for row, task in tx.scan(tx.server.tasks.unfinished)
            if waits(task) and (task.workflow_instance_id, row.id) > (after.instance, after.task)
        ),
        key=lambda one: one[:2],
    )[:limit]
    own = [_read(tx, row, task) for _, _, row, task in every if _own(tx, task, master)]
    return Stretch(own, Place(*every[-1][:2]) if len(every) == limit else None)


def codes(_: Transaction, names: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], WorkflowCode]:
    known = {("default", f"w{code}"): WorkflowCode(code) for code in definitions.specs()}
    return {name: known[name] for name in names if name in known}


def _real_runs(tx: Transaction, span: Span) -> list[tuple[datetime, int, Values]]:
    """(schedule time, id, run) of the workflow; dry runs are left out, and limited ones if a whole run is asked for."""
    return [
        (each.schedule_time, row.id, each)
        for row, each in tx.scan(tx.server.instances.rows)
        if each.workflow_code == span.workflow_code and not each.dry_run and not (span.whole and each.scope)
    ]


def find(tx: Transaction, spans: Sequence[Span]) -> dict[Span, Found]:
    """The latest run of each span that is no dry run."""
    found = {}
    for span in spans:
        runs = [
            each
            for each in _real_runs(tx, span)
            if span.begin <= each[0] < span.end and not (span.dated and each[2].command_type not in _DATED)
        ]
        if runs:
            _, id_, run = max(runs, key=lambda one: one[:2])
            tasks = [task for _, task in tx.of_key(tx.server.tasks, id_)]
            named = [task for task in tasks if task.name == span.task and task.flag]
            latest = max(named, key=lambda task: task.attempt, default=None)
            last = {task.task_code: task.attempt for task in sorted(tasks, key=lambda task: task.attempt)}
            failed = [t for t in tasks if t.flag and t.state in _FAILED and t.attempt == last[t.task_code]]
            any_failed = span.task is not None and bool(failed)
            outputs = run.outputs if span.task is None else latest.outputs if latest else None
            found[span] = Found(
                *(WorkflowInstanceId(id_), run.state, latest.state if latest else None, any_failed),
                *(run.schedule_time, run.executing is None, outputs if span.passes else None),
            )
    return found


def coming(tx: Transaction, spans: Sequence[Span]) -> set[Span]:
    """The spans for which a command of a schedule or backfill waits, for a date before their end."""
    waiting = [
        (command.row.workflow_code, datetime.fromisoformat(command.row.schedule_time))
        for _, command in tx.scan(tx.server.commands.rows)
        if command.type in _DATED and command.row.schedule_time is not None
    ]
    return {span for span in spans if any(code == str(span.workflow_code) and at < span.end for code, at in waiting)}


def before(tx: Transaction, spans: Sequence[Span]) -> dict[Span, Before]:
    """The latest run before each span that is no dry run."""
    found = {}
    for span in spans:
        runs = [each for each in _real_runs(tx, span) if each[0] < span.begin]
        if runs:
            at, id_, run = max(runs, key=lambda one: one[:2])
            found[span] = Before(WorkflowInstanceId(id_), at, run.state)
    return found


def end(tx: Transaction, ends: Sequence[DependentEnd], master: Epoch) -> dict[TaskInstanceId, WorkflowInstanceId]:
    """FOR UPDATE SKIP LOCKED of those that are own and wait; UPDATE; INSERT INTO task_event."""
    ended = {}
    for each in ends:
        row = tx.server.tasks.rows.get(each.id)
        task = None if row is None else tx.see(row)
        if row is None or task is None or task.state is not T.RUNNING_EXECUTION or not _own(tx, task, master):
            continue
        if tx.try_lock(row):
            tx.update(row, state=each.state, ended_s=tx.server.now_s, reason=each.reason, outputs=each.outputs)
            run, code, attempt = task.workflow_instance_id, task.task_code, task.attempt
            tell_event(tx, run, code, attempt, each.state, given=each.outputs)
            ended[TaskInstanceId(each.id)] = WorkflowInstanceId(run)
    return ended


def notify_masters(tx: Transaction, happened: Iterable[Happened]) -> None:
    tx.notes += [(DEPENDENCY, said) for said in payloads(happened)]
