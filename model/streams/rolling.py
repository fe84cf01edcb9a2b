"""Rolling restarts: the streams of a run one after the other, each when the former is ready again. Pure.

One that does not become ready stops the rest, which most likely have the same fault. They continue once it is ready
after all. A stream that somebody requests once more, knowing that, restarts at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import groupby
from math import inf

from model.ids import TaskCode, WorkflowInstanceId
from model.runs.states import TaskState


class Turn(Enum):
    """What is to be done about a restart."""

    WAIT = auto()
    """Nothing yet: another stream is restarting, or this one is not ready again."""
    BEGIN = auto()
    """Begin the restart."""
    START = auto()
    """End the pause before its next attempt: the former one just ended by itself."""
    DONE = auto()
    """The stream is ready again, waits for a pool or has ended, or there is nothing to restart."""


@dataclass(frozen=True, slots=True)
class Restart:
    """A stream to be restarted, with its last attempt; `state` is None if it has none.

    `begun_s`: seconds since its restart began, or since its next attempt runs; None = not begun. `asked_s`: seconds
    since the last request. `ended_attempt`: the attempt that the restart ended, or that no longer counted; 0 = none.
    `within_s`: how long to wait for it. `goes_on`: its run has not ended. `another_moves`: another stream of its run
    moves to another worker. `waits_for_pool`: it has waited for resources for so long that the rest of its run no
    longer waits for it.
    """

    run: WorkflowInstanceId
    code: TaskCode
    goes_on: bool
    state: TaskState | None
    attempt: int
    is_ready: bool
    begun_s: float | None
    ended_attempt: int
    within_s: float
    another_moves: bool = False
    waits_for_pool: bool = False
    asked_s: float = inf

    @property
    def stands(self) -> bool:
        """Whether it had its time, and has not become ready or has failed again."""
        return (
            self.begun_s is not None
            and self.begun_s >= self.within_s
            and self.state in (TaskState.RUNNING_EXECUTION, TaskState.DELAY_EXECUTION)
            and not _is_away(self)
            and not _is_back(self)
        )


def turns(restarts: Sequence[Restart]) -> list[tuple[Restart, Turn]]:
    """Decide about all pending restarts; at most one of each run is in progress."""
    found: list[tuple[Restart, Turn]] = []
    for _, group in groupby(sorted(restarts, key=lambda each: (each.run, each.code)), key=lambda each: each.run):
        of_run = list(group)
        over = [each for each in of_run if _is_over(each)]
        found += [(each, Turn.DONE) for each in over]
        left = [each for each in of_run if each not in over]
        begun = [each for each in left if each.begun_s is not None]
        next_ = next((each for each in left if each.begun_s is None and _may_begin(each, begun)), None)
        for each in left:
            if each is next_ and not each.another_moves:
                found.append((each, Turn.BEGIN))
            else:
                found.append((each, Turn.START if _pauses(each) else Turn.WAIT))
    return found


def _may_begin(restart: Restart, begun: Sequence[Restart]) -> bool:
    """Whether no begun restart blocks this one; a stuck one blocks those that were requested before it."""
    return all(each.stands and each.begun_s is not None and restart.asked_s < each.begun_s for each in begun)


def _is_over(restart: Restart) -> bool:
    if not restart.goes_on or restart.state is None or restart.waits_for_pool:
        return True
    if restart.begun_s is None or _is_away(restart):
        return False
    return _is_back(restart) or (restart.begun_s >= restart.within_s and not restart.stands)


def _is_back(restart: Restart) -> bool:
    is_new = restart.attempt > restart.ended_attempt and restart.state is TaskState.RUNNING_EXECUTION
    return is_new and restart.is_ready


def _is_away(restart: Restart) -> bool:
    """Whether it was ended and no worker runs it yet, so that another restart would take a second stream down."""
    if restart.ended_attempt == 0 or restart.state is None or restart.state.is_final:
        return False
    is_ending = restart.attempt <= restart.ended_attempt
    return is_ending or _pauses(restart) or restart.state in (TaskState.QUEUED, TaskState.DISPATCH)


def _pauses(restart: Restart) -> bool:
    """Whether the attempt after the ended one pauses; later ones pause as usual."""
    is_next = restart.ended_attempt > 0 and restart.attempt == restart.ended_attempt + 1
    return restart.begun_s is not None and is_next and restart.state is TaskState.DELAY_EXECUTION
