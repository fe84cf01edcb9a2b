"""The events that a runnable receives, and the effects that it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from model.ids import TaskCode
from model.instances import ChildEnd, TaskAttempt, TaskEnd
from model.instances import HaltAsked as HaltTold
from model.states import TaskState, WaitReason, WorkflowState


@dataclass(frozen=True, slots=True)
class Started:
    """The instance was just made; none of its tasks has begun."""


@dataclass(frozen=True, slots=True)
class Child:
    """A child of the latest attempt of a task, from its row; `outputs` is a JSON object as text or None, or, if the
    child did not succeed, the reason as a sentence."""

    code: TaskCode
    attempt: int
    index: int
    state: WorkflowState
    outputs: str | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """The instance was failed over, read again, or left a final state: `attempts` is the latest attempt of each task
    that has begun. `resumes` are tasks that are to run again and whose children continue instead of starting again."""

    attempts: tuple[TaskAttempt, ...]
    children: tuple[Child, ...] = ()
    resumes: frozenset[TaskCode] = frozenset()


@dataclass(frozen=True, slots=True)
class TaskFinished:
    """An attempt ended; `outputs` is a JSON object as text or None."""

    code: TaskCode
    attempt: int
    state: TaskState
    outputs: str | None = None


@dataclass(frozen=True, slots=True)
class ChildFinished:
    """A child of an attempt ended; `outputs` as in `Child`."""

    code: TaskCode
    attempt: int
    index: int
    state: WorkflowState
    outputs: str | None = None


@dataclass(frozen=True, slots=True)
class HaltAsked:
    """A pause (READY_PAUSE) or a stop (READY_STOP) was requested."""

    state: WorkflowState


@dataclass(frozen=True, slots=True)
class TookTooLong:
    """The run exceeded its maximum time: it is to end as a FAILURE; `reason` is a sentence."""

    reason: str


Event = Started | Restored | TaskFinished | ChildFinished | HaltAsked | TookTooLong


def event_of(row: TaskEnd | ChildEnd | HaltTold) -> Event:
    """The notification from the database as an event of its runnable."""
    match row:
        case TaskEnd():
            return TaskFinished(row.code, row.attempt, row.state, row.outputs)
        case ChildEnd():
            return ChildFinished(row.code, row.attempt, row.index, row.state, row.outputs)
        case HaltTold():
            return HaltAsked(row.state)


@dataclass(frozen=True, slots=True)
class Enter:
    """The instance is in this state from now on."""

    state: WorkflowState


@dataclass(frozen=True, slots=True)
class Wait:
    """Minutes, by the database's time, that an attempt spends before it is queued."""

    reason: WaitReason
    minutes: float


@dataclass(frozen=True, slots=True)
class QueueTask:
    """Put this attempt into the workers' queue, after a wait if there is one; `retries` is its retry count.

    `values` is a JSON object: the value of each `${name}`.
    """

    code: TaskCode
    attempt: int
    retries: int = 0
    wait: Wait | None = None
    values: str = "{}"


@dataclass(frozen=True, slots=True)
class RecordTask:
    """Record an attempt that no worker runs, in this state: begun in the master, or already over."""

    code: TaskCode
    attempt: int
    state: TaskState
    retries: int = 0
    reason: str = ""
    outputs: str | None = None
    branch: frozenset[TaskCode] | None = None
    values: str = "{}"


@dataclass(frozen=True, slots=True)
class EndTask:
    """An attempt that runs in the master has ended."""

    code: TaskCode
    attempt: int
    state: TaskState
    reason: str = ""
    outputs: str | None = None


@dataclass(frozen=True, slots=True)
class StartChild:
    """Start a child instance of this attempt; `workflow` is a name or a code, `params` are its start parameters."""

    code: TaskCode
    attempt: int
    index: int
    project: str
    workflow: str | int
    version: int | None
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ResumeChild:
    """Let a child of the previous attempt continue under this one."""

    code: TaskCode
    attempt: int
    index: int
    before: int


@dataclass(frozen=True, slots=True)
class HoldTasks:
    """Set waiting and queued tasks of this instance to PAUSE, and pause its children."""


@dataclass(frozen=True, slots=True)
class KillTasks:
    """Stop all tasks of this instance that wait, are queued or run, and its children. `reason` is a sentence."""

    reason: str = "its workflow ends because another task failed"


@dataclass(frozen=True, slots=True)
class Finish:
    """The instance is over; `reason` is a sentence, empty for a success; `outputs` a JSON object or None."""

    state: WorkflowState
    reason: str
    outputs: str | None = None


Effect = Enter | QueueTask | RecordTask | EndTask | StartChild | ResumeChild | HoldTasks | KillTasks | Finish
