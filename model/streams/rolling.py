"""Rolling restarts: the streams of a run one after the other, the next when the former is ready again. Pure.

One that does not become ready stops the others: what is wrong with it is most likely wrong with all of them. They go on
when it is ready after all; and one that somebody asks for once more, who has seen that, goes on at once.
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
    """Nothing: it is another's turn, or the stream is not ready again yet."""
    BEGIN = auto()
    """Its turn has come."""
    START = auto()
    """Its next attempt pauses, since the former one ended by itself just then: the pause is to end."""
    DONE = auto()
    """The stream is ready again, waits for a pool, has ended, or there is nothing to restart."""


@dataclass(frozen=True, slots=True)
class Restart:
    """A stream that is to be restarted, with its last attempt; `state` is None if it has none.

    `begun_s` is how long ago its turn came, or since when its next attempt runs; None = its turn has not come.
    `asked_s` is how long ago it was asked for, the last time. `ended_attempt` is the attempt that was ended then, or
    no longer counted; 0 = none was. `within_s` is how long it is waited for. `goes_on`: its run has not ended.
    `another_moves`: another stream of its run is on its way from one worker to the next. `waits_for_pool`: it has
    waited for resources for so long that others have them: the rest of its run does not wait with it.
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
        """Whether it has not become ready, or has failed again, although it had its time for that."""
        return (
            self.begun_s is not None
            and self.begun_s >= self.within_s
            and self.state in (TaskState.RUNNING_EXECUTION, TaskState.DELAY_EXECUTION)
            and not _is_away(self)
            and not _is_back(self)
        )


def turns(restarts: Sequence[Restart]) -> list[tuple[Restart, Turn]]:
    """What is to be done about each of all the restarts there are; of each run at most one is under way."""
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
    """Whether none of those that have begun is to be waited for: one that stands is, by what was asked for before."""
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
    """Whether it was ended, and no worker runs it yet: another would be away beside it, however long that takes."""
    if restart.ended_attempt == 0 or restart.state is None or restart.state.is_final:
        return False
    is_ending = restart.attempt <= restart.ended_attempt
    return is_ending or _pauses(restart) or restart.state in (TaskState.QUEUED, TaskState.DISPATCH)


def _pauses(restart: Restart) -> bool:
    """Whether the attempt pauses that follows the one that was ended; those after it pause as they would anyway."""
    is_next = restart.ended_attempt > 0 and restart.attempt == restart.ended_attempt + 1
    return restart.begun_s is not None and is_next and restart.state is TaskState.DELAY_EXECUTION
