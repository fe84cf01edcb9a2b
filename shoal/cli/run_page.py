"""What `shoal show` prints of one run: a head line, the tasks in the order of the workflow, and what each waits for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dao.lists import Run, TaskRun
from dao.questions import CommandFate
from model.states import TaskState, WorkflowState
from model.workflow import TaskSpec, WorkflowSpec
from shoal.cli.answer import Column, hint, say, state, table
from shoal.words import duration, plain, when

TREE_TASKS_MAX = 200
NOT_BEGUN, WAITING = "NOT_BEGUN", "WAITING"
"""States of a task that has no attempt yet."""


def print_run(
    run: Run,
    tasks: Sequence[TaskRun],
    plan: WorkflowSpec | None,
    command: CommandFate | None,
    now: datetime,
    *,
    utc: bool,
) -> None:
    """Print one run. `plan` is its definition with codes, None when that cannot be read."""
    name = run.workflow or f"code {run.workflow_code}"
    slot = f"   slot {command.slot}" if command and command.slot else ""
    owner = f" → {run.owner}" if run.owner else ""
    say(f"{plain(name)}  v{run.version}  run {run.id}{slot}{owner}   started {when(run.started_at, now, utc=utc)}")
    line = state(run.state)
    line.append(f"   {duration(run.took_s)}", style="")
    if run.takeovers:
        line.append(f"   taken over {run.takeovers} times")
    say(line)
    if run.reason:
        say(f"Why: {plain(run.reason)}")
    say()
    _print_tasks(run, tasks, plan)
    say()
    hint(_next(run, tasks))


def _print_tasks(run: Run, tasks: Sequence[TaskRun], plan: WorkflowSpec | None) -> None:
    by_name: dict[str, list[TaskRun]] = {}
    for task in tasks:
        by_name.setdefault(task.name, []).append(task)
    indents = _tree(plan.tasks) if plan else [(0, name) for name in by_name]
    specs = {task.name: task for task in plan.tasks} if plan else {}
    succeeded = {task.name for task in tasks if task.state is TaskState.SUCCESS}
    rows: list[tuple[object, ...]] = []
    for depth, name in indents:
        label = f"{'  ' * depth}{'└ ' if depth else ''}{name}"
        rows += [_attempt_row(label, attempt) for attempt in by_name.get(name, ())]
        if name not in by_name:
            missing = [before for before in specs[name].after if before not in succeeded] if name in specs else []
            why = "" if run.state.is_final else f"waits for {', '.join(missing)}" if missing else "starts next"
            rows.append((label, state(NOT_BEGUN if run.state.is_final else WAITING), "-", "-", "-", "-", why))
    columns = [
        Column("TASK"),
        Column("STATE"),
        Column("ATTEMPT", keep=1, right=True),
        Column("TOOK", keep=3, right=True),
        Column("ID", right=True),
        Column("WORKER", keep=0),
        Column("WHY", keep=2, sentence=True),
    ]
    table(columns, rows)


def _attempt_row(label: str, task: TaskRun) -> tuple[object, ...]:
    took, worker = duration(task.took_s), task.worker_address or "-"
    return (label, state(task.state), task.attempt, took, task.id, worker, task.reason or "")


def _tree(tasks: Sequence[TaskSpec]) -> list[tuple[int, str]]:
    """The tasks in an order in which each comes after what it waits for, indented below the last of those."""
    if len(tasks) > TREE_TASKS_MAX:
        return [(0, task.name) for task in tasks]
    below: dict[str | None, list[TaskSpec]] = {}
    for task in tasks:
        below.setdefault(task.after[-1] if task.after else None, []).append(task)
    found: list[tuple[int, str]] = []
    pending = [(0, task) for task in reversed(below.get(None, []))]
    while pending:
        depth, task = pending.pop()
        found.append((depth, task.name))
        pending += [(depth + 1, after) for after in reversed(below.get(task.name, []))]
    return found


def _next(run: Run, tasks: Sequence[TaskRun]) -> str:
    """The next likely command."""
    failed = next((task for task in tasks if task.state is TaskState.FAILURE), None)
    if failed is not None:
        return f"Read the log of what failed: shoal log {failed.id}"
    if run.state in (WorkflowState.RUNNING_EXECUTION, WorkflowState.FAILOVER):
        return f"Why it does not move: shoal why {run.id}"
    return f"Read a log: shoal log {run.id}/{tasks[-1].name}" if tasks else "Other runs: shoal runs"
