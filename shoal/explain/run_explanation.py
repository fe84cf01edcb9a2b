"""Why a run does not move, or how it ended: the sentences of `why.py` for a whole run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.states import TaskState, WorkflowState
from shoal.explain.explanation import (
    CommandFacts,
    TaskFacts,
    Why,
    names_of,
    why_command,
    why_delayed,
    why_queued,
    why_running,
)
from shoal.explain.tasks_without_attempts import NotBegun
from shoal.words import duration
from shoal.workflows.typed_names import typed


@dataclass(frozen=True)
class RunFacts:
    """A run, and its tasks in the order of the workflow. `failing_over` is the open command of a failover.

    `before` are the runs of its workflow that must end before this one, if it waits for its turn; `requested` is a
    pause or stop that its owner has not handled yet; `project` is None when the workflow has been deleted.
    """

    id: int
    workflow: str
    state: WorkflowState
    tasks: Sequence[TaskFacts]
    took_s: float
    reason: str | None = None
    owner: str | None = None
    owner_gone: bool = False
    masters: int = 1
    failing_over: CommandFacts | None = None
    before: Sequence[tuple[int, WorkflowState]] = ()
    requested: WorkflowState | None = None
    project: str | None = "default"


def why_run(run: RunFacts) -> Why:
    """Why a run does not move, or how it ended."""
    name = f"Run {run.id} of {run.workflow}"
    if run.state is WorkflowState.SUCCESS:
        do = f"See its tasks: shoal show {run.id}"
        if run.project is not None:
            do = f"Run it again: shoal run {typed(run.workflow, run.project)}"
        return Why(f"{name} has ended: SUCCESS in {duration(run.took_s)}.", do)
    if run.state is WorkflowState.FAILURE:
        failed = next((task for task in run.tasks if task.state is TaskState.FAILURE), None)
        do = f"Read the log: shoal log {failed.id}" if failed else f"See its tasks: shoal show {run.id}"
        return Why(f"{name} has ended as FAILURE: {run.reason or 'no reason was stored'}", do)
    if run.state in (WorkflowState.PAUSE, WorkflowState.STOP):
        return _suspended(run, name)
    if run.failing_over is not None:
        command = why_command(run.failing_over)
        lost = f"{name} lost its master{f' {run.owner}' if run.owner else ''} and waits to be failed over"
        return Why(f"{lost}. {command.sentence}", command.do)
    if run.owner_gone:
        if not run.masters:
            return Why(f"{name} lost its master {run.owner}, and no other is alive.", "Start one: shoal master")
        return Why(
            f"{name} lost its master {run.owner}; the others look for such runs every few seconds.",
            "Watch: shoal slots",
        )
    match run.requested or run.state:
        case WorkflowState.SERIAL_WAIT:
            return _in_line(run, name)
        case WorkflowState.READY_PAUSE:
            return _halting(run, name, "is being paused")
        case WorkflowState.READY_STOP:
            return _halting(run, name, "is being stopped")
        case _:
            return _unfinished(run, name)


def _suspended(run: RunFacts, name: str) -> Why:
    """How to resume a paused or stopped run."""
    open_tasks = [task.name for task in run.tasks if _is_open(task)]
    left = f"; {names_of(open_tasks)} would run then" if open_tasks else ""
    because = run.reason or "no reason was stored"
    return Why(
        f"{name} has ended as {run.state}: {because}; it goes on when somebody lets it{left}.",
        f"Let it go on: shoal resume {run.id}",
    )


def _is_open(task: TaskFacts) -> bool:
    """Whether a task would run if its paused or stopped run were resumed."""
    if task.state is None:
        return task.not_begun is NotBegun.NOT_BEGUN
    return task.state in (TaskState.PAUSE, TaskState.KILL, TaskState.NEED_FAULT_TOLERANCE)


def _in_line(run: RunFacts, name: str) -> Why:
    if not run.before:
        return Why(
            f"{name} waited for its turn, and nothing is before it any more: a master calls it within seconds.",
            f"Look again: shoal why {run.id}",
        )
    first, state = run.before[0]
    more = f", and {len(run.before) - 1} more are before it" if len(run.before) > 1 else ""
    return Why(
        f"{name} waits for its turn, since its workflow runs one at a time: run {first} is {state}{more}.",
        f"Ask about that one: shoal why {first}",
    )


def _halting(run: RunFacts, name: str, what: str) -> Why:
    running = [task for task in run.tasks if task.state in (TaskState.DISPATCH, TaskState.RUNNING_EXECUTION)]
    if not running:
        return Why(
            f"{name} {what}, and nothing of it runs any more; its master {run.owner or ''} is about to end it.",
            f"Look again: shoal show {run.id}",
        )
    names = names_of([task.name for task in running])
    still = "still runs" if len(running) == 1 else "still run"
    first = why_running(max(running, key=lambda task: task.since_s or 0))
    do = f"Kill them: shoal stop {run.id}" if what == "is being paused" else first.do
    return Why(f"{name} {what}: {names} {still}. {first.sentence}", do)


def _unfinished(run: RunFacts, name: str) -> Why:
    """For a run with a living owner: the most important thing that it waits for."""
    queued = [task for task in run.tasks if task.state is TaskState.QUEUED]
    delayed = [task for task in run.tasks if task.state is TaskState.DELAY_EXECUTION]
    running = [task for task in run.tasks if task.state in (TaskState.DISPATCH, TaskState.RUNNING_EXECUTION)]
    stuck = next((task for task in queued if task.group is not None and task.group.takes_nothing), None)
    if stuck is not None or (queued and not running):
        answer = why_queued(stuck or queued[0])
        return Why(f"{name} waits for {(stuck or queued[0]).name}. {answer.sentence}", answer.do)
    if running:
        lost = next((task for task in running if task.worker_gone), None)
        first = lost or max(running, key=lambda task: task.since_s or 0)
        more = f" {len(running)} of its tasks run." if len(running) > 1 else ""
        answer = why_running(first)
        return Why(f"{name} waits for {first.name}.{more} {answer.sentence}", answer.do)
    if delayed:
        first = min(delayed, key=lambda task: task.due_in_s or 0)
        answer = why_delayed(first)
        return Why(f"{name} waits for {first.name}. {answer.sentence}", answer.do)
    return Why(
        f"{name} has no task that runs or waits; its master {run.owner or ''} is about to move it on.",
        f"Look again: shoal show {run.id}; if it stays so, read the log of that master",
    )
