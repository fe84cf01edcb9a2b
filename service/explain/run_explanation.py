"""Why a run does not move, or how it ended: the sentences for a whole run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.runs.states import NotBegun, TaskState, WorkflowState
from service.explain.answer import Why, dates_waiting, drained_only, going_on, names_of, next_step
from service.explain.explanation import (
    SILENT_AFTER_S,
    why_command,
    why_delayed,
    why_queued,
    why_running,
    why_task,
)
from service.explain.subjects import CommandFacts, TaskFacts
from service.words import duration
from service.workflows.typed_names import typed


@dataclass(frozen=True)
class RunFacts:
    """A run, and its tasks in the order of the workflow. `failing_over` is the open command of a failover.

    `before` are the runs of its workflow that are before this one, if it waits for its turn, those of its `serial_key`
    if it has one, of which `max_active` go on at once; `older` is a start of its workflow before its own that is not
    handled yet. `requested`
    is a pause or stop that its owner has not handled yet. `silent_s` is the age of its owner's last beat, `masters` the
    number of living masters that are neither silent nor drained, `draining` the names of the drained ones, `idle_s` the
    time since anything of the run changed. `dates_left` dates of its backfill wait for it; `resuming` is the open
    command by which it is to go on. `above` are the run above it and its state: the topmost that has ended, by which it
    goes on, else the one that goes on without it. `ending_as` is of one that cleans up: how it ends then.
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
    draining: Sequence[str] = ()
    failing_over: CommandFacts | None = None
    before: Sequence[tuple[int, WorkflowState]] = ()
    serial_key: str | None = None
    older: int | None = None
    max_active: int = 1
    requested: WorkflowState | None = None
    idle_s: float = 0
    silent_s: float = 0
    dates_left: int = 0
    resuming: CommandFacts | None = None
    above: tuple[int, WorkflowState] | None = None
    project: str | None = "default"
    ending_as: WorkflowState | None = None

    @property
    def is_left(self) -> bool:
        """Whether nothing of it moves, since its master is gone or silent."""
        return self.failing_over is not None or self.owner_gone or self.silent_s > SILENT_AFTER_S

    @property
    def go_on(self) -> str:
        """How it goes on when it is at rest: a phrase with the command. Only a pause is waited for by the run above."""
        if self.above is None or (not self.above[1].is_final and self.state is WorkflowState.PAUSE):
            return f"go on: {going_on(self.id, self.state)}"
        id_, state = self.above
        if state.is_final and state is not WorkflowState.SUCCESS:
            return f"go on with the run above it: {going_on(id_, state)}"
        return f"see the run above it, which goes on without it: shoal show {id_}"


def why_run(run: RunFacts) -> Why:
    """Why a run does not move, or how it ended."""
    name = f"Run {run.id} of {run.workflow}"
    if run.state is WorkflowState.SUCCESS:
        do = f"See its tasks: shoal show {run.id}"
        if run.project is not None:
            do = f"Run it again: shoal run {typed(run.workflow, run.project)}"
        return Why(f"{name} has ended: SUCCESS in {duration(run.took_s)}.", do)
    if run.resuming is not None:
        command = why_command(run.resuming)
        return Why(f"{name} is {run.state}, and is asked to go on. {command.sentence}", command.do)
    if run.state is WorkflowState.FAILURE:
        return _failed(run, name)
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
            f"{name} lost its master {run.owner}; the others check for such runs every few seconds.",
            "Watch: shoal master list",
        )
    if run.silent_s > SILENT_AFTER_S:
        silent = f"{name} does not move: its master {run.owner or ''} has been silent for {duration(run.silent_s)}"
        if not run.masters:
            return Why(f"{silent}, and no other is alive.", "Start one: shoal master")
        return Why(f"{silent}; another drives it when that one is fenced.", "Watch: shoal master list")
    if run.ending_as is not None:
        name += f", which cleans up and then ends as {run.ending_as},"
    match run.requested or run.state:
        case WorkflowState.SERIAL_WAIT:
            return _in_line(run, name)
        case WorkflowState.READY_PAUSE:
            return _halting(run, name, "is being paused")
        case WorkflowState.READY_STOP:
            return _halting(run, name, "is being stopped")
        case _:
            return _unfinished(run, name)


def _failed(run: RunFacts, name: str) -> Why:
    """What failed first, down to the task of a child run, and how to go on."""
    ended = f"{name} has ended as FAILURE: {run.reason or 'no reason was stored'}"
    left = f" {dates_waiting(run.dates_left)}." if run.dates_left else ""
    failed = next((task for task in run.tasks if task.state is TaskState.FAILURE), None)
    if failed is None:
        return Why(f"{ended}.{left}" if left else ended, f"See its tasks: shoal show {run.id}   Then {run.go_on}")
    why = why_task(failed, run.state)
    do = why.do if "   Then " in why.do else f"{why.do}   Then {run.go_on}"
    return Why(f"{ended}. {why.sentence}{f'.{left}' if left else ''}", do)


def _suspended(run: RunFacts, name: str) -> Why:
    """How to resume a paused or stopped run."""
    open_tasks = [task.name for task in run.tasks if _is_open(task)]
    left = f"; {names_of(open_tasks)} would run then" if open_tasks else ""
    because = run.reason or "no reason was stored"
    dates = f" {dates_waiting(run.dates_left)}." if run.dates_left else ""
    return Why(
        f"{name} has ended as {run.state}: {because}; it goes on when it is resumed{left}.{dates}",
        f"Let it {run.go_on}" if run.go_on.startswith("go on") else f"{run.go_on[0].upper()}{run.go_on[1:]}",
    )


def _is_open(task: TaskFacts) -> bool:
    """Whether a task would run if its paused or stopped run were resumed."""
    if task.state is None:
        return task.not_begun is NotBegun.NOT_BEGUN
    return task.state in (TaskState.PAUSE, TaskState.KILL, TaskState.NEED_FAULT_TOLERANCE)


def _in_line(run: RunFacts, name: str) -> Why:
    if not run.masters and run.draining:
        only, do = drained_only(run.draining, "master")
        return Why(f"{name} waits for its turn, and {only}.", do)
    if not run.masters:
        return Why(f"{name} waits for its turn, and no master is alive to begin it.", "Start one: shoal master")
    has_room = len(run.before) < run.max_active
    if has_room and run.older is not None:
        return Why(
            f'{name} waits for its turn in the line of the key "{run.serial_key}": command {run.older} of its workflow '
            "is older and not handled yet, and may have the same key.",
            f"Ask about that one: shoal why command {run.older}",
        )
    if has_room:
        now = "there is room for it now" if run.before else "nothing is before it now"
        return Why(
            f"{name} waited for its turn, and {now}: a master begins it within seconds.",
            f"Check again: shoal why {run.id}",
        )
    first, state = run.before[0]
    others = len(run.before) - 1
    more = f", and {others} more {'is' if others == 1 else 'are'} before it" if others else ""
    of_key = f' for the key "{run.serial_key}"' if run.serial_key else ""
    at_once = "one at a time" if run.max_active == 1 else f"at most {run.max_active} at once"
    return Why(
        f"{name} waits for its turn, since its workflow runs {at_once}{of_key}: run {first} is {state}{more}.",
        f"Ask about that one: shoal why {first}",
    )


def _halting(run: RunFacts, name: str, what: str) -> Why:
    running = [task for task in run.tasks if task.state in (TaskState.DISPATCH, TaskState.RUNNING_EXECUTION)]
    if not running:
        over = f"{name} {what}, and nothing of it still runs"
        return next_step(over, "end it", run.idle_s, f"Check again: shoal show {run.id}", run.owner)
    names = names_of([task.name for task in running])
    still = "still runs" if len(running) == 1 else "still run"
    first = why_running(max(running, key=lambda task: task.since_s or 0), halting=True)
    do = f"Kill them: shoal stop {run.id}" if what == "is being paused" else first.do
    return Why(f"{name} {what}: {names} {still}. {first.sentence}", do)


def _not_ready(running: Sequence[TaskFacts]) -> TaskFacts | None:
    """The stream for which others wait to be restarted, or one that is not ready."""
    unready = [task for task in running if task.is_ready is False]
    return next((task for task in unready if task.restart is not None and task.restart.then), next(iter(unready), None))


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
        rests = next((task for task in running if WorkflowState.PAUSE in dict(task.children).values()), None)
        asks = next((task for task in running if task.asks is not None), None)
        first = lost or rests or asks or _not_ready(running) or max(running, key=lambda task: task.since_s or 0)
        more = f" {len(running)} of its tasks run." if len(running) > 1 else ""
        answer = why_running(first)
        return Why(f"{name} waits for {first.name}.{more} {answer.sentence}", answer.do)
    if delayed:
        first = min(delayed, key=lambda task: task.due_in_s or 0)
        answer = why_delayed(first)
        return Why(f"{name} waits for {first.name}. {answer.sentence}", answer.do)
    idle = f"{name} has no task that runs or waits"
    again = f"Check again: shoal show {run.id}; if it stays so, read the log of that master"
    return next_step(idle, "continue it", run.idle_s, again, run.owner)
