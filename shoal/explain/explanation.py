"""Why something does not move: one plain sentence, and one line with the next step.

Pure: facts go in, text comes out (`why_facts.py` collects the facts). Commands and tasks are explained here, runs in
`why_run.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

from model.nodes import Slot
from model.states import TaskState, WaitReason, WorkflowState
from shoal.explain.tasks_without_attempts import NotBegun
from shoal.words import counted, duration

SILENT_AFTER_S = 6.0
"""A master whose last beat is older is considered suspect: three beats by default."""

NAMES_MAX = 5


@dataclass(frozen=True)
class Why:
    """The answer: the cause, and what to do."""

    sentence: str
    do: str


@dataclass(frozen=True)
class MasterFacts:
    """The master that something depends on; `running` of `capacity` workflow instances. `because` is why it is BUSY."""

    address: str
    is_busy: bool
    running: int
    capacity: int
    beat_age_s: float
    because: str = ""

    @property
    def is_full(self) -> bool:
        """Whether it has no room for another run."""
        return 0 < self.capacity <= self.running


@dataclass(frozen=True)
class CommandFacts:
    """A command. `slot` and `owner` are its present ones, None without a living master; `run` is the one it started.

    `masters` are all living ones, if it needs room on one of them.
    """

    id: int
    waits: bool
    age_s: float | None
    slot: Slot | None = None
    owner: MasterFacts | None = None
    run: int | None = None
    refused: str | None = None
    steal_after_s: float = 5.0
    masters: Sequence[MasterFacts] = ()


@dataclass(frozen=True)
class GroupFacts:
    """A worker group: its living workers, their running tasks and capacity, and how many tasks wait.

    `busy` of the workers take nothing new, for the reasons in `because`; `running` and `places` are the others'.
    """

    name: str
    workers: int
    running: int
    places: int
    waiting: int
    busy: int = 0
    because: Sequence[str] = ()

    @property
    def takes_nothing(self) -> bool:
        """Whether no worker takes a task, now or when a running one has ended."""
        return self.busy >= self.workers

    @property
    def reasons(self) -> str:
        """Why the busy workers are busy."""
        return names_of(sorted(set(self.because)), "; ")


@dataclass(frozen=True)
class TaskFacts:
    """The last attempt of a task, or a task that has not begun (`id` and `state` are None).

    `waits_for` are the predecessors that have not succeeded, each with its state, None = not begun. `place` is the
    position in the queue of its group, 1 = next. `worker_gone`: the worker left or was fenced. `since_s` is how long it
    has been running, or ran. `due_in_s` is the rest of a wait for `wait_reason`. `not_begun` is why it has no attempt.
    `children` are the runs that it represents, `asked` the commands of those that no master has begun, and `child` the
    answer for the most important one. `depends_on` is what a DEPENDENT task waits for, in words. `given_back` is why
    a worker did not begin the previous attempt.
    """

    run: int
    name: str
    id: int | None = None
    state: TaskState | None = None
    waits_for: Sequence[tuple[str, TaskState | None]] = ()
    group: GroupFacts | None = None
    place: int | None = None
    worker: str | None = None
    worker_gone: bool = False
    since_s: float | None = None
    kill_requested: bool = False
    reason: str | None = None
    wait_reason: WaitReason | None = None
    due_in_s: float | None = None
    not_begun: NotBegun | None = None
    children: Sequence[tuple[int, WorkflowState]] = ()
    asked: Sequence[int] = ()
    child: Why | None = None
    depends_on: Sequence[str] = ()
    given_back: str | None = None


def why_command(command: CommandFacts) -> Why:
    """Why a command is not taken, or what its result was."""
    name = f"Command {command.id}"
    if command.refused is not None:
        return Why(f"{name} was refused: {command.refused}", f"Fix that, then: shoal errors retry {command.id}")
    if not command.waits:
        became = f"it became run {command.run}" if command.run else "its history names no run"
        ask = f"Ask about the run: shoal why {command.run}" if command.run else "The runs: shoal runs"
        return Why(f"{name} does not wait any more: {became}.", ask)
    waited = f"has waited for {duration(command.age_s)}" if command.age_s is not None else "waits"
    owner, slot = command.owner, command.slot
    if owner is None or slot is None:
        return Why(f"{name} {waited} because no master is alive.", "Start one: shoal master")
    holds = f"it belongs to slot {slot.current} of {slot.total}, and {owner.address}, which holds it,"
    if owner.beat_age_s > SILENT_AFTER_S:
        return Why(
            f"{name} {waited}: {holds} has been silent for {duration(owner.beat_age_s)}.",
            "The others take its slot over by themselves. Watch: shoal slots",
        )
    if command.masters and all(master.is_full for master in command.masters):
        return Why(
            f"{name} {waited} for room: {full_masters(command.masters)}.",
            "It is taken when one of them has ended or only waits: shoal runs; to have more room start another: "
            "shoal master, or raise master.max_running_workflows",
        )
    if owner.is_busy:
        return Why(
            f"{name} {waited}: {holds} is BUSY like all masters ({owner.running} of {owner.capacity} runs"
            f"{f'; {owner.because}' if owner.because else ''}), and takes commands slowly.",
            "It is taken when its turn comes. To take more at once, start another: shoal master",
        )
    if command.age_s is not None and command.age_s > command.steal_after_s:
        return Why(
            f"{name} {waited}: {holds} should have taken it, and so should any free master by now.",
            "See whether the masters agree on the slots: shoal slots; what is in its way their logs say: command_waits",
        )
    return Why(f"{name} {waited}: {holds} takes it next.", f"Look again in a moment: shoal why command {command.id}")


def full_masters(masters: Sequence[MasterFacts]) -> str:
    """How full the masters without room are."""
    running, capacity = sum(each.running for each in masters), sum(each.capacity for each in masters)
    who = "all masters are full" if len(masters) > 1 else f"the only master, {masters[0].address}, is full"
    return f"{who}, with {running} of {counted(capacity, 'run')}"


def why_task(task: TaskFacts, run_state: WorkflowState) -> Why:
    """Why a task does not begin or end, or how it ended."""
    match task.state:
        case None:
            return _not_begun(task, run_state)
        case TaskState.DELAY_EXECUTION:
            return why_delayed(task)
        case TaskState.QUEUED:
            return why_queued(task)
        case TaskState.DISPATCH | TaskState.RUNNING_EXECUTION:
            return why_running(task)
        case TaskState.NEED_FAULT_TOLERANCE:
            lost = f"{task.name} lost its worker {task.worker or ''}".rstrip()
            if run_state.is_final:
                return Why(f"{lost}, and its run has ended as {run_state}.", f"See the run: shoal show {task.run}")
            return Why(f"{lost}; its master is about to decide on a new attempt.", f"Then: shoal show {task.run}")
        case TaskState.PAUSE:
            return Why(f"{task.name} was held back by a pause.", f"Go on: shoal resume {task.run}")
        case TaskState.FORCED_SUCCESS:
            return Why(
                f"{task.name} failed and was declared a success.", f"Go on from it: shoal rerun {task.run} --failed"
            )
        case TaskState.SUCCESS:
            return Why(f"{task.name} has ended: SUCCESS in {duration(task.since_s)}.", f"Its log: shoal log {task.id}")
        case TaskState.FAILURE | TaskState.KILL:
            reason = f": {task.reason}" if task.reason else ""
            return Why(f"{task.name} has ended as {task.state}{reason}", f"Its log: shoal log {task.id}")


def _not_begun(task: TaskFacts, run_state: WorkflowState) -> Why:
    show = f"See the run: shoal show {task.run}"
    match task.not_begun:
        case NotBegun.FORBIDDEN:
            return Why(
                f"{task.name} does not run: it is forbidden in its definition (flag: NO) and passed over.",
                "To run it, take the flag away and apply the workflow again: shoal workflow apply FILE",
            )
        case NotBegun.SKIPPED:
            return Why(f"{task.name} is skipped: it hangs only on branches that were not chosen.", show)
        case NotBegun.LEFT_OUT:
            return Why(
                f"{task.name} does not run: the run was started, or run again, for other tasks only.",
                f"When it has ended: shoal rerun {task.run} --task {quote(task.name)}",
            )
    if run_state.is_final:
        failed = [name for name, state in task.waits_for if state in (TaskState.FAILURE, TaskState.KILL)]
        because = f", because {names_of(failed)} did not succeed" if failed else ""
        return Why(f"{task.name} never began: its run ended as {run_state} first{because}.", show)
    failed = [name for name, state in task.waits_for if state is TaskState.FAILURE]
    if failed:
        return Why(f"{task.name} will not begin, because {names_of(failed)} failed; other branches go on.", show)
    if task.waits_for:
        reasons = [f"{name} {_stands(state)}" for name, state in task.waits_for[:NAMES_MAX]]
        more = len(task.waits_for) - NAMES_MAX
        reasons += [f"{more} more have not ended"] if more > 0 else []
        first = quote(f"{task.run}/{task.waits_for[0][0]}")
        return Why(f"{task.name} waits because {' and '.join(reasons)}.", f"Then ask: shoal why {first}")
    return Why(f"{task.name} waits for nothing; its master is about to queue it.", show)


def why_delayed(task: TaskFacts) -> Why:
    """For a task whose time has not come."""
    what = "its next attempt" if task.wait_reason is WaitReason.RETRY else "its delay to pass"
    due = f"due in {duration(task.due_in_s)}" if (task.due_in_s or 0) > 0 else "due now"
    again = quote(f"{task.run}/{task.name}")
    return Why(f"{task.name} waits for {what}, {due}.", f"Look again then: shoal why {again}")


def why_queued(task: TaskFacts) -> Why:
    """For a task that waits for a worker, and why the last worker gave it back."""
    why = _queued(task)
    if task.given_back is None:
        return why
    return Why(f"{why.sentence} Its attempt before did not begin: {task.given_back.rstrip('.')}.", why.do)


def _queued(task: TaskFacts) -> Why:
    group = task.group
    if group is None:
        return Why(f"{task.name} is queued for a worker.", "Who is there: shoal workers")
    start = f"shoal worker --group {quote(group.name)}"
    if not group.workers:
        waiting = f"{group.waiting} tasks wait" if group.waiting > 1 else "it waits alone"
        return Why(
            f"{task.name} waits for a worker in group {group.name}: none is alive; {waiting}.", f"Start one: {start}"
        )
    if group.takes_nothing:
        return Why(
            f"{task.name} waits, because all workers of group {group.name} are busy: {group.reasons}.",
            f"They take tasks again when that has passed; or start another elsewhere: {start}",
        )
    if group.running >= group.places:
        at = f", and it is number {task.place} in the queue" if task.place else ""
        ready, busy = group.workers - group.busy, ""
        if group.busy:
            busy = f" ({group.busy} more take{'s' * (group.busy == 1)} nothing: {group.reasons})"
        return Why(
            f"{task.name} waits for a free place in group {group.name}: its {counted(ready, 'worker')}{busy} "
            f"{'has' if ready == 1 else 'have'} all {group.places} places taken{at}.",
            f"It starts when enough tasks have ended; or start another: {start}",
        )
    free = group.places - group.running
    return Why(
        f"{task.name} is queued, and group {group.name} has {free} free places: a worker takes it in a moment.",
        f"Look again: shoal why {quote(f'{task.run}/{task.name}')}",
    )


def why_running(task: TaskFacts) -> Why:
    """For a task that runs, on a worker or in a master."""
    if task.depends_on:
        waits = " and ".join(task.depends_on[:NAMES_MAX])
        more = f" and {len(task.depends_on) - NAMES_MAX} more" if len(task.depends_on) > NAMES_MAX else ""
        return Why(f"{task.name} depends on {waits}{more}, and waits for that.", "What has run: shoal runs")
    if task.children or task.asked:
        return _stands_for(task)
    lives_in_master = task.state is TaskState.RUNNING_EXECUTION and not task.worker
    on = f"on {task.worker}" if task.worker else "in its master" if lives_in_master else "on a worker"
    if task.worker_gone:
        return Why(
            f"{task.name} ran {on}, which is gone; a master gives it a new attempt within seconds.",
            "Watch: shoal slots and shoal workers",
        )
    since = f" for {duration(task.since_s)}" if task.since_s is not None else ""
    follow = f"Read along: shoal log {task.id} -f"
    if task.kill_requested:
        return Why(f"{task.name} is being killed {on}; it had been running{since}.", follow)
    return Why(f"{task.name} runs {on}{since}.", follow)


def _stands_for(task: TaskFacts) -> Why:
    """For a task that represents child runs: its progress is theirs."""
    unfinished = [id_ for id_, state in task.children if not state.is_final]
    of = f"{task.name} stands for {counted(len(task.children) + len(task.asked), 'run')}"
    if not unfinished and task.asked:
        waits = f"{of}, and no master has begun {'it' if len(task.asked) == 1 else f'{len(task.asked)} of them'} yet"
        if task.child is None:
            return Why(f"{waits}.", f"Ask about it: shoal why command {task.asked[0]}")
        return Why(f"{waits}. {task.child.sentence}", task.child.do)
    if not unfinished:
        return Why(f"{of}, which ended; its master is about to move it on.", f"See the run: shoal show {task.run}")
    waits = f"{of} and waits for run {unfinished[0]}"
    more = f" and {len(unfinished) - 1} more" if len(unfinished) > 1 else ""
    if task.child is None:
        return Why(f"{waits}{more}.", f"Ask about it: shoal why {unfinished[0]}")
    return Why(f"{waits}{more}. {task.child.sentence}", task.child.do)


def _stands(state: TaskState | None) -> str:
    match state:
        case None:
            return "has not begun"
        case TaskState.DELAY_EXECUTION:
            return "waits for its time"
        case TaskState.QUEUED:
            return "is queued"
        case TaskState.DISPATCH | TaskState.RUNNING_EXECUTION:
            return "is still running"
        case _:
            return f"has ended as {state}"


def names_of(names: Sequence[str], between: str = ", ") -> str:
    """The first names, and the number of the others."""
    shown = between.join(names[:NAMES_MAX])
    return shown if len(names) <= NAMES_MAX else f"{shown} and {len(names) - NAMES_MAX} more"
