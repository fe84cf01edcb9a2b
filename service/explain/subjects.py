"""What `shoal why` explains: a command, a task, and the masters and worker groups that they wait for. Facts only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dao.pools.pool_readings import PoolReading
from dao.runs.rows import Elements
from dao.tasks.approvals import Approval
from model.choices import StartWhen
from model.cluster.slots import Slot
from model.runs.looks import Looks
from model.runs.progress import Progress
from model.runs.states import NotBegun, TaskState, WaitReason, WorkflowState
from service.explain.answer import Why, names_of


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

    `masters` are all living ones that are not drained, if it needs room on one of them; `draining` are the names of
    those that are.
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
    draining: Sequence[str] = ()


@dataclass(frozen=True)
class GroupFacts:
    """A worker group: its living workers, their running tasks and capacity, and how many tasks wait.

    `busy` of the workers take nothing new, for the reasons in `because`, and neither do those with the names in
    `draining`; `running` and `places` are the others'.
    """

    name: str
    workers: int
    running: int
    places: int
    waiting: int
    busy: int = 0
    because: Sequence[str] = ()
    draining: Sequence[str] = ()

    @property
    def takes_nothing(self) -> bool:
        """Whether no worker takes a task, now or when a running one has ended."""
        return self.busy + len(self.draining) >= self.workers

    @property
    def reasons(self) -> str:
        return names_of(sorted(set(self.because)), "; ")


@dataclass(frozen=True)
class RestartFacts:
    """That a stream is restarted, because `asked_by` asked for it. `after` are those of its run that are restarted now:
    it waits for them; empty: its own turn has come, or comes next, unless `queued` is not empty: others that wait for a
    worker. `then` are those that wait for it."""

    asked_by: str
    after: Sequence[str] = ()
    then: Sequence[str] = ()
    queued: Sequence[str] = ()


@dataclass(frozen=True)
class TaskFacts:
    """The last attempt of a task, or a task that has not begun (`id` and `state` are None).

    `waits_for` are the predecessors that have not succeeded, each with its state, None = not begun. `place` is the
    position in the queue of its group, 1 = next. `worker_gone`: the worker left or was fenced. `since_s` is how long it
    has been running, or ran, `queued_s` how long ago it was queued, `idle_s` how long ago anything of its run changed.
    `due_in_s` is the rest of a wait for `wait_reason`. `not_begun` is why it has no attempt. `children` are the runs
    that it represents, `asked` the commands of those that no master has begun, `hidden` the number of both that may not
    be named, and `child` the answer for the most important one. `depends_on` is what a DEPENDENT task depends on, in
    words, and `awaits` the first of it that is not met; `asks` is what an APPROVAL task asks. `given_back` is why a
    worker did not begin the previous attempt. `choice` says which branch was chosen and why: by this task, or by the
    one for which it is skipped. `progress` is what it reported last. `pools` are those of which it needs resources. A
    stream has ended `retries` times in a row, the last time with `last_exit_code`;
    `is_ready` is what its readiness probe found, None without one. `restart` is set while it is to be restarted.
    `loss_is_final`: no other attempt follows one whose worker was lost. `rule` is its start rule, `never`
    whether that will not be met, `unmet` a clause about the rule, or the task, for which it is skipped. `closes`: it
    cleans up when all else of its run is over. `looks` is what a task that waits has found so far,
    `elements` how far one with elements is.
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
    hidden: int = 0
    child: Why | None = None
    depends_on: Sequence[str] = ()
    awaits: str | None = None
    asks: Approval | None = None
    given_back: str | None = None
    queued_s: float = 0
    idle_s: float = 0
    choice: str | None = None
    progress: Progress | None = None
    is_stream: bool = False
    is_ready: bool | None = None
    restart: RestartFacts | None = None
    loss_is_final: bool = False
    looks: Looks | None = None
    retries: int = 0
    last_exit_code: int | None = None
    pools: Sequence[PoolReading] = ()
    rule: StartWhen = StartWhen.ALL_SUCCESS
    never: bool = False
    unmet: str | None = None
    closes: bool = False
    elements: Elements | None = None
