"""What `shoal show` prints of one run: a head line, the tasks in the order of the workflow, and what each waits for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from model.runs.states import NotBegun, TaskState, WorkflowState
from service.explain import answer
from service.runs import answers
from service.words import MEANINGS, counted, duration, exact, plain, said_progress, when
from shoal.cli.output import Column, hint, say, state, table

TREE_TASKS_MAX = 200
REST_SHOWN_S = 0.5
"""A run shows both its working time and its whole time if they differ by more than this."""
LEFT_SHOWN_S = 1.0
"""Shorter estimates are not shown: they are not that exact."""
SAME_TIME_S = 5.0
"""The schedule time of a manual start is its start time, which two statements read a moment apart."""

_SAID = {
    NotBegun.SKIPPED: "on a branch that was not chosen",
    NotBegun.FORBIDDEN: "its flag is NO: passed over",
    NotBegun.LEFT_OUT: "the run is limited to other tasks",
}


def print_run(page: answers.RunPageAnswer, now: datetime, *, utc: bool, everything: bool) -> None:
    """Print one run; superseded attempts only with `everything`."""
    _print_head(page, now, utc=utc)
    say()
    shown = page.tasks if everything else [task for task in page.tasks if task.counts]
    hidden = len(page.tasks) - len(shown)
    _print_tasks(page, shown)
    if hidden:
        say(f"Not shown: {counted(hidden, 'earlier attempt')}. See all: shoal show {page.id} --all")
    say()
    hint(_next(page, [task for task in page.tasks if task.valid]))


def run_time(run: answers.RunAnswer, *, utc: bool) -> str | None:
    """The time that a run is for, in its own zone; None if it is its start time."""
    if abs((run.schedule_time - run.started_at).total_seconds()) <= SAME_TIME_S:
        return None
    return _in_its_zone(run.schedule_time, run, utc=utc)


def _interval(run: answers.RunAnswer, *, utc: bool) -> str | None:
    if run.interval_start is None or run.interval_end is None:
        return None
    return " to ".join(_in_its_zone(each, run, utc=utc) for each in (run.interval_start, run.interval_end))


def _in_its_zone(moment: datetime, run: answers.RunAnswer, *, utc: bool) -> str:
    return exact(moment) if utc else f"{moment.astimezone(ZoneInfo(run.time_zone)):%F %T %Z}"


def said_failure(failed: answers.FailedBelowAnswer) -> str:
    """The failed task of a child run, and why it failed."""
    because = f": {failed.reason}" if failed.reason else ""
    return f'task "{failed.task}" ({failed.task_id}) of run {failed.run_id} failed{because}'


def said_why(run: answers.RunAnswer) -> str:
    """Why a run is in its state, and how many dates of its backfill wait for a halted one."""
    return "; ".join(filter(None, [run.reason, said_dates_left(run) if run.dates_left and run.state.is_final else ""]))


def said_dates_left(run: answers.RunAnswer) -> str:
    """What happens to the backfill dates after a run, and how they continue."""
    if not run.state.is_final:
        return f"{counted(run.dates_left or 0, 'date')} after it"
    return f"{answer.dates_waiting(run.dates_left or 0)}; go on: {answer.going_on(run.id, run.state)}"


def _print_head(run: answers.RunPageAnswer, now: datetime, *, utc: bool) -> None:
    name = run.workflow or f"code {run.workflow_code}"
    slot = f"   slot {run.slot_at_start}" if run.slot_at_start else ""
    owner = f" → {run.master}" if run.master else ""
    say(f"{plain(name)}  v{run.version}  run {run.id}{slot}{owner}   started {when(run.started_at, now, utc=utc)}")
    line = state(run.state)
    line.append(f"   {duration(run.took_s)}", style="")
    if left := _said_left(run.left_s):
        line.append(f"   {left}")
    if run.elapsed_s - run.took_s > REST_SHOWN_S:
        line.append(f" of {duration(run.elapsed_s)}", style="")
    if run.requested_state not in (None, run.state) and not run.state.is_final:
        line.append(f"   {run.requested_state} is requested")
    if run.ending_as is not None and not run.state.is_final:
        line.append(f"   it cleans up, and will end as {run.ending_as}")
    if meaning := MEANINGS.get(run.state):
        line.append(f"   {meaning}", style="dim")
    if run.run_times > 1:
        line.append(f"   run {run.run_times} times from the start")
    if run.takeovers:
        line.append(f"   failed over {run.takeovers} times")
    say(line)
    if time := run_time(run, utc=utc):
        say(f"For: {time}")
    if interval := _interval(run, utc=utc):
        say(f"Interval: {interval}")
    if run.serial_key is not None:
        say(f"Line: key {plain(run.serial_key)}")
    if run.parent_id is not None:
        say(f"Child of: run {run.parent_id}{f', task {plain(run.parent_task)}' if run.parent_task else ''}")
    if run.started_by_id is not None:
        by = f"run {run.started_by_id}"
        task = run.started_by_task and f"{by}, task {plain(run.started_by_task)}, which does not wait for it"
        say(f"Started by: {task or f'the end of {by}'}")
    if run.triggered:
        named = [(each, plain(each.workflow or "a deleted workflow")) for each in run.triggered]
        say(f"Triggered: {', '.join(f'run {each.id} of {name} ({each.state})' for each, name in named)}")
    if run.dates_left:
        say(f"Backfill: {said_dates_left(run)}")
    if run.reason:
        say(f"Why: {plain(run.reason)}")


def _print_tasks(page: answers.RunPageAnswer, tasks: Sequence[answers.TaskAnswer]) -> None:
    by_name: dict[str, list[answers.TaskAnswer]] = {}
    for task in tasks:
        by_name.setdefault(task.name, []).append(task)
    indents = _tree(page.graph) if page.graph is not None else [(0, name) for name in by_name]
    not_begun = {each.name: each for each in page.not_begun}
    rows: list[tuple[object, ...]] = []
    for depth, name in indents:
        label = f"{'  ' * depth}{'└ ' if depth else ''}{name}"
        own = by_name.get(name, ())
        rows += [_attempt_row(label, attempt) for attempt in own]
        if name in not_begun:
            rows.append(_row_without_attempt(label, not_begun[name]))
    if rows:
        _print_attempts("TASK", rows)


def print_elements(elements: Sequence[answers.TaskAnswer]) -> None:
    """Print elements of one task, a line for the last attempt of each."""
    _print_attempts("ELEMENT", [_attempt_row(each.name, each) for each in elements])


def _print_attempts(of: str, rows: Sequence[tuple[object, ...]]) -> None:
    labels, states, attempts, took, progress, ids, workers, why = zip(*rows, strict=True)
    table(
        Column(of, labels),
        Column("STATE", states),
        Column("ATTEMPT", attempts, keep=1, right=True),
        Column("TOOK", took, keep=3, right=True),
        *([Column("PROGRESS", progress, keep=4)] if any(progress) else []),
        Column("ID", ids, right=True),
        Column("WORKER", workers, keep=0),
        Column("WHY", why, keep=2, sentence=True),
    )


def _row_without_attempt(label: str, not_begun: answers.TaskNotBegun) -> tuple[object, ...]:
    why = not_begun.unmet or _SAID.get(not_begun.state, "")
    if not_begun.state is NotBegun.WAITING:
        next_ = "cleans up when all else is over" if not_begun.closes else "starts next"
        why = f"waits for {', '.join(not_begun.missing)}" if not_begun.missing else next_
    return (label, state(not_begun.state), "-", "-", "", "-", "-", why)


def _attempt_row(label: str, task: answers.TaskAnswer) -> tuple[object, ...]:
    reason = said_failure(task.failed_below) if task.failed_below else task.reason or ""
    said = [_stream(task), _looks(task), task.stands_for or "", task.choice or "", reason]
    shown = state(task.state)
    if not task.counts:
        shown.stylize("dim")
        said.insert(0, "no longer counts")
    why = ": ".join(filter(None, said))
    how_far = (label, shown, task.attempt, duration(task.took_s), _progress(task))
    return (*how_far, task.id, task.worker or "-", why)


def _stream(task: answers.TaskAnswer) -> str:
    """Whether a stream that has not ended is ready, or when it restarts."""
    if not task.is_stream or task.state.is_final:
        return ""
    if task.state is TaskState.DELAY_EXECUTION and task.due_in_s is not None:
        return f"stream, starts in {duration(max(0.0, task.due_in_s))}"
    return {None: "stream", True: "stream, ready", False: "stream, not ready"}[task.is_ready]


def _looks(task: answers.TaskAnswer) -> str:
    """What the last look of a waiting task saw."""
    return "" if task.looks is None or task.state.is_final else f"waits, looked {task.looks.count}x: {task.looks.said}"


def _progress(task: answers.TaskAnswer) -> str:
    """The last progress of a task that has not succeeded, and the remaining time of a running one."""
    is_shown = task.progress is not None and task.state is not TaskState.SUCCESS
    reported = said_progress(task.progress.report) if task.progress is not None and is_shown else ""
    if task.elements is not None:
        reported = _said_elements(task.elements)
    return "   ".join(filter(None, [reported, _said_left(task.left_s)]))


def _said_elements(elements: answers.ElementsAnswer) -> str:
    """How many elements of a task are done, failed, or were killed."""
    parts = ((elements.failed, "failed"), (elements.killed, "killed"))
    others = "".join(f", {number:,} {what}" for number, what in parts if number)
    return f"{elements.done:,} of {elements.total:,} elements{others}"


def _said_left(left_s: float | None) -> str:
    """The remaining time; empty if it is unknown, or over according to the estimate."""
    return f"~{duration(left_s)} left" if left_s is not None and left_s >= LEFT_SHOWN_S else ""


def _tree(tasks: Sequence[answers.TaskOrder]) -> list[tuple[int, str]]:
    """The tasks in an order in which each follows those it waits for, indented below the last of them."""
    if len(tasks) > TREE_TASKS_MAX:
        return [(0, task.name) for task in tasks]
    below: dict[str | None, list[answers.TaskOrder]] = {}
    for task in tasks:
        below.setdefault(task.after[-1] if task.after else None, []).append(task)
    found: list[tuple[int, str]] = []
    pending = [(0, task) for task in reversed(below.get(None, []))]
    while pending:
        depth, task = pending.pop()
        found.append((depth, task.name))
        pending += [(depth + 1, after) for after in reversed(below.get(task.name, []))]
    return found


def _next(run: answers.RunPageAnswer, tasks: Sequence[answers.TaskAnswer]) -> str:
    if run.state in (WorkflowState.PAUSE, WorkflowState.STOP):
        return f"Let it go on: shoal resume {run.id}   Begin again: shoal rerun {run.id}"
    failed = next((task for task in tasks if task.state is TaskState.FAILURE), None)
    if failed is not None:
        below = failed.failed_below
        logged = below.task_id if below else failed.id if failed.worker_id else None
        why = f"Why: shoal why {answer.task_named(run.id, failed.name)}"
        first = f"Read the log of what failed: shoal log {logged}" if logged else why
        return f"{first}   Go on: shoal rerun {run.id} --failed" if run.state is WorkflowState.FAILURE else first
    if not run.state.is_final:
        return f"Why it does not move: shoal why {run.id}"
    ran = [task for task in tasks if task.worker_id is not None]
    return f"Read a log: shoal log {answer.task_named(run.id, ran[-1].name)}" if ran else "Other runs: shoal runs"
