"""Duties: what is done once in a while for the whole cluster, and whose turn each is.

There is no leader. Each master computes from the name of a duty and its own slot whether a duty is its turn; two that
disagree for a moment cost a lost race for a row (`dao/duties/duties.py`). What is overdue any master does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any
from zlib import crc32

from model.cluster.slots import Slot

OVERDUE = timedelta(seconds=2.5)
"""A duty that is due for so long without a step is done by any master."""
HELD = timedelta(seconds=2.5)
"""After a step its master has so long to begin the next one, before any other may."""
PAUSE_MAX = timedelta(seconds=60)
"""The longest pause after steps that failed."""
STEP_PAUSE_S_MIN = 0.02
STEP_PAUSE_S_MAX = 1.0
"""The longest pause between two steps of one master; shorter than `HELD`, so that it goes on."""
STEPS_WITHOUT_PAUSE = 4
"""So many steps of a duty follow each other at once: what has little to do is over soon, on a busy machine too."""
PAUSE_SHARE = 12
"""How many times longer than a step the pause after it is, in a duty of more steps, unless the step says otherwise."""


class DutyName(StrEnum):
    """The duties that this program knows."""

    ALERT_HISTORY = "alert_history"
    ALERT_RULES = "alert_rules"
    DUTY_HISTORY = "duty_history"
    ENDED_NODES = "ended_nodes"
    FILE_CONTENTS = "file_contents"
    LEFT_WORK = "left_work"
    POOL_UPKEEP = "pool_upkeep"
    QUEUE_STATISTICS = "queue_statistics"
    RETENTION = "retention"
    SLOT_HISTORY = "slot_history"
    WORKER_GROUPS = "worker_groups"


PERIODS: Mapping[DutyName, timedelta] = {
    DutyName.ALERT_RULES: timedelta(seconds=15),
    DutyName.LEFT_WORK: timedelta(minutes=1),
    DutyName.WORKER_GROUPS: timedelta(minutes=1),
    DutyName.POOL_UPKEEP: timedelta(minutes=1),
    DutyName.QUEUE_STATISTICS: timedelta(minutes=5),
    DutyName.ENDED_NODES: timedelta(minutes=10),
    DutyName.SLOT_HISTORY: timedelta(minutes=10),
    DutyName.RETENTION: timedelta(minutes=10),
    DutyName.ALERT_HISTORY: timedelta(hours=1),
    DutyName.DUTY_HISTORY: timedelta(hours=1),
    DutyName.FILE_CONTENTS: timedelta(hours=1),
}
"""How often each is done, unless its row says otherwise; `ALERT_RULES` only while there is something to do."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of a duty did.

    Args:
        result: what has been done or found for this period so far, in a sentence.
        is_over: whether the duty is done for this period.
        is_fine: False if a check found something that needs a person.
        progress: for the next step, JSON.
        vacuum: tables to be vacuumed before the next step, which no transaction can do.
        pause_share: how many times longer than this step the pause after it is, in a duty of more steps.
    """

    result: str
    is_over: bool = True
    is_fine: bool = True
    progress: Mapping[str, Any] = field(default_factory=dict)
    vacuum: Sequence[str] = ()
    pause_share: int = PAUSE_SHARE


def is_turn_of(slot: Slot | None, name: str) -> bool:
    """Whether the duty of this name is the turn of the master with this slot; a master without one has no turn."""
    return slot is not None and crc32(name.encode()) % slot.total == slot.current


def turns_of(slot: Slot | None, names: Collection[str]) -> list[str]:
    """Those of the names whose turn is this slot's."""
    return [name for name in names if is_turn_of(slot, name)]


def pause_after(failures: int) -> timedelta:
    """How long a duty rests after its step failed; `failures` in a row, counted from 1."""
    return min(PAUSE_MAX, timedelta(seconds=2 ** min(failures, 10) / 2))


def pause_between_steps_s(steps: int, took_s: float, *, busy: bool, share: int = PAUSE_SHARE) -> float:
    """Until a master's next step: a duty of many steps leaves most of the time to others.

    Args:
        steps: how many the duty has done for a period that is not over; 0 if it is over.
        took_s: how long the last one took.
        busy: whether the machine has too much to do.
        share: how many times longer than the step the pause is.
    """
    if steps < STEPS_WITHOUT_PAUSE:
        return STEP_PAUSE_S_MIN
    if busy:
        return STEP_PAUSE_S_MAX
    return min(STEP_PAUSE_S_MAX, max(STEP_PAUSE_S_MIN, share * took_s))
