"""What `shoal show` prints of one run: a head line, the tasks in the order of the workflow, and what each waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from zoneinfo import ZoneInfo

from dao.runs.relations import ChildRun
from dao.views.listings import Run, TaskRun
from dao.views.lookups import CommandFate
from master.drive.plan import Plan
from model.states import TaskState, WorkflowState
from model.workflow import TaskSpec
from shoal.cli.output import Column, hint, say, state, table
from shoal.explain.tasks_without_attempts import NotBegun, TaskWithoutAttempt, of_this_round, without_attempts
from shoal.words import MEANINGS, counted, duration, exact, plain, when

TREE_TASKS_MAX = 200
CHILDREN_NAMED_MAX = 3
SAME_TIME_S = 5.0
"""The schedule time of a manual start is its start time, which two statements read a moment apart."""

_SAID = {
    NotBegun.SKIPPED: "on a branch that was not chosen",
    NotBegun.FORBIDDEN: "its flag is NO: passed over",
    NotBegun.LEFT_OUT: "the run is limited to other tasks",
}


@dataclass(frozen=True)
class RunPage:
    """The data of the page. `plan` is None when its definition cannot be read, `command` when its history is gone."""

    run: Run
    tasks: Sequence[TaskRun]
    children: Sequence[ChildRun]
    plan: Plan | None
    command: CommandFate | None

    @property
    def not_begun(self) -> dict[str, TaskWithoutAttempt]:
        """The tasks without an attempt."""
        if self.plan is None:
            return {}
        return without_attempts(self.plan, self.run.scope, self.tasks, ended=self.run.state.is_final)

    def said_children(self, task: TaskRun) -> str:
        """The runs that an attempt represents, in words; empty without any."""
        own = [child for child in self.children if (child.code, child.attempt) == (task.code, task.attempt)]
        if len(own) <= CHILDREN_NAMED_MAX:
            return ", ".join(f"run {child.id} ({child.state})" for child in own)
        states = Counter(child.state for child in own)
        counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        return f"{len(own)} runs from {own[0].id} to {own[-1].id}: {counts}"


def print_run(page: RunPage, now: datetime, *, utc: bool, everything: bool) -> None:
    """Print one run; superseded attempts only if `everything` is set."""
    run = page.run
    _print_head(run, page.command, now, utc=utc)
    say()
    shown = page.tasks if everything else of_this_round(page.tasks)
    hidden = len(page.tasks) - len(shown)
    _print_tasks(page, shown)
    if hidden:
        say(f"{counted(hidden, 'attempt')} of before not shown, since they count no more: shoal show {run.id} --all")
    say()
    hint(_next(run, [task for task in page.tasks if task.valid]))


def run_time(run: Run, *, utc: bool) -> str | None:
    """The time that a run is for, in its own zone; None when that is the time of its start."""
    if abs((run.schedule_time - run.started_at).total_seconds()) <= SAME_TIME_S:
        return None
    return exact(run.schedule_time) if utc else f"{run.schedule_time.astimezone(ZoneInfo(run.time_zone)):%F %T %Z}"


def _print_head(run: Run, command: CommandFate | None, now: datetime, *, utc: bool) -> None:
    name = run.workflow or f"code {run.workflow_code}"
    slot = f"   slot {command.slot}" if command and command.slot else ""
    owner = f" → {run.owner}" if run.owner else ""
    say(f"{plain(name)}  v{run.version}  run {run.id}{slot}{owner}   started {when(run.started_at, now, utc=utc)}")
    line = state(run.state)
    line.append(f"   {duration(run.took_s)}", style="")
    if run.requested_state not in (None, run.state) and not run.state.is_final:
        line.append(f"   {run.requested_state} is asked for")
    if meaning := MEANINGS.get(run.state):
        line.append(f"   {meaning}", style="dim")
    if run.run_times > 1:
        line.append(f"   run {run.run_times} times from the start")
    if run.takeovers:
        line.append(f"   failed over {run.takeovers} times")
    say(line)
    if time := run_time(run, utc=utc):
        say(f"For: {time}")
    if run.parent is not None:
        say(f"Child of: run {run.parent}")
    if run.reason:
        say(f"Why: {plain(run.reason)}")


def _print_tasks(page: RunPage, tasks: Sequence[TaskRun]) -> None:
    by_name: dict[str, list[TaskRun]] = {}
    for task in tasks:
        by_name.setdefault(task.name, []).append(task)
    indents = _tree(page.plan.spec.tasks) if page.plan else [(0, name) for name in by_name]
    not_begun = page.not_begun
    rows: list[tuple[object, ...]] = []
    for depth, name in indents:
        label = f"{'  ' * depth}{'└ ' if depth else ''}{name}"
        own = by_name.get(name, ())
        now = {attempt.id for attempt in of_this_round(own)}
        rows += [_attempt_row(page, label, attempt, is_over=attempt.id not in now) for attempt in own]
        if name in not_begun:
            rows.append(_row_without_attempt(label, not_begun[name]))
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


def _row_without_attempt(label: str, not_begun: TaskWithoutAttempt) -> tuple[object, ...]:
    why = _SAID.get(not_begun.state, "")
    if not_begun.state is NotBegun.WAITING:
        why = f"waits for {', '.join(not_begun.missing)}" if not_begun.missing else "starts next"
    return (label, state(not_begun.state), "-", "-", "-", "-", why)


def _attempt_row(page: RunPage, label: str, task: TaskRun, *, is_over: bool) -> tuple[object, ...]:
    said = [page.said_children(task), task.reason or ""]
    shown = state(task.state)
    if is_over:
        shown.stylize("dim")
        said.insert(0, "counts no more")
    why = ": ".join(filter(None, said))
    return (label, shown, task.attempt, duration(task.took_s), task.id, task.worker_address or "-", why)


def _tree(tasks: Sequence[TaskSpec]) -> list[tuple[int, str]]:
    """The tasks in an order in which each comes after those it waits for, indented below the last of them."""
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
    """The most likely next command."""
    if run.state in (WorkflowState.PAUSE, WorkflowState.STOP):
        return f"Let it go on: shoal resume {run.id}   Begin again: shoal rerun {run.id}"
    failed = next((task for task in tasks if task.state is TaskState.FAILURE), None)
    if failed is not None:
        ran = failed.worker is not None
        first = (
            f"Read the log of what failed: shoal log {failed.id}"
            if ran
            else f"Why: shoal why {quote(f'{run.id}/{failed.name}')}"
        )
        return f"{first}   Go on: shoal rerun {run.id} --failed" if run.state is WorkflowState.FAILURE else first
    if not run.state.is_final:
        return f"Why it does not move: shoal why {run.id}"
    logged = [task for task in tasks if task.worker is not None]
    return f"Read a log: shoal log {quote(f'{run.id}/{logged[-1].name}')}" if logged else "Other runs: shoal runs"
