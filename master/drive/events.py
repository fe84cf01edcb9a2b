"""The events that a runnable receives, and the effects that it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from model.ids import TaskCode
from model.runs.instances import AttemptEnd, ChildState, HaltRequest, TaskAttempt
from model.runs.states import WorkflowState


@dataclass(frozen=True, slots=True)
class Started:
    """The run was just made; none of its tasks has begun."""


@dataclass(frozen=True, slots=True)
class Restored:
    """The run was failed over, read again, or left a final state: `attempts` is the latest attempt of each task that
    has begun. `resumes` are tasks that run again but whose children continue instead of restarting."""

    attempts: tuple[TaskAttempt, ...]
    children: tuple[ChildState, ...] = ()
    resumes: frozenset[TaskCode] = frozenset()


@dataclass(frozen=True, slots=True)
class TookTooLong:
    """The run exceeded its maximum time and must end as a FAILURE; `reason` is a sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class Closes:
    """The start of the cleanup is written; earlier requests to halt no longer count."""


Event = Started | Restored | AttemptEnd | ChildState | HaltRequest | TookTooLong | Closes


@dataclass(frozen=True, slots=True)
class Enter:
    """The run is in this state from now on."""

    state: WorkflowState


@dataclass(frozen=True, slots=True)
class StartChild:
    """Start a child run of this attempt; `workflow` is a name or a code, `params` are its start parameters. If the task
    does not wait for it (`waits`), it is no child."""

    code: TaskCode
    attempt: int
    index: int
    project: str
    workflow: str | int
    version: int | None
    params: Mapping[str, str]
    waits: bool = True


@dataclass(frozen=True, slots=True)
class ResumeChild:
    """Let a child of the previous attempt continue under this one."""

    code: TaskCode
    attempt: int
    index: int
    before: int


@dataclass(frozen=True, slots=True)
class HoldTasks:
    """Set waiting and queued tasks of this run to PAUSE, and pause its children."""


@dataclass(frozen=True, slots=True)
class KillTasks:
    """Stop all tasks of this run that wait, are queued or run, and its children. `reason` is a sentence."""

    reason: str = "its workflow ends because another task failed"


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is over; `reason` is a sentence, empty for a success; `outputs` a JSON object or None.

    `is_whole`: of a success that was limited to some tasks, whether all others are done as well.
    """

    state: WorkflowState
    reason: str
    outputs: str | None = None
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Close:
    """Everything but the cleanup is over: the run must clean up, then end in this state for this reason. It gets
    `Closes` once that is written; until then it ignores events."""

    state: WorkflowState
    reason: str


Effect = Close | Enter | TaskAttempt | AttemptEnd | StartChild | ResumeChild | HoldTasks | KillTasks | Finish
"""A `TaskAttempt` is to be begun, in its state; an `AttemptEnd` ends one that runs in the master."""
