"""Duties: periodic work for the whole cluster, and whose turn each is.

There is no leader. Each master computes from the name of a duty and its own slot whether the duty is its turn. Two
masters that disagree for a moment only race for a row (`dao/duties/duties.py`). Any master does an overdue duty.
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
"""Any master does a duty that has been due for this long without a step."""
HELD = timedelta(seconds=2.5)
"""How long a master may take to begin the next step before another may."""
PAUSE_MAX = timedelta(seconds=60)
"""The longest pause after steps that failed."""
STEP_PAUSE_S_MIN = 0.02
STEP_PAUSE_S_MAX = 1.0
"""The longest pause between two steps of one master; shorter than `HELD`, so that the master keeps the duty."""
STEPS_WITHOUT_PAUSE = 4
"""The first steps of a duty have no pause, so that a small duty ends soon, even on a busy machine."""
PAUSE_SHARE = 12
"""The pause after a step of a longer duty, in multiples of the step's duration, unless the step sets its own."""


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
"""The period of each duty, unless its row sets another; `ALERT_RULES` runs only while there is something to do."""


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one step of a duty.

    Args:
        result: what has been done or found in this period so far, in a sentence.
        is_over: whether the duty is done for this period.
        is_fine: False if a check found something that needs a person.
        progress: input of the next step, JSON.
        vacuum: tables to vacuum before the next step, which cannot be done in a transaction.
        pause_share: as `PAUSE_SHARE`.
    """

    result: str
    is_over: bool = True
    is_fine: bool = True
    progress: Mapping[str, Any] = field(default_factory=dict)
    vacuum: Sequence[str] = ()
    pause_share: int = PAUSE_SHARE


def is_turn_of(slot: Slot | None, name: str) -> bool:
    """Whether a duty belongs to the master with this slot; a master without a slot has no duty."""
    return slot is not None and crc32(name.encode()) % slot.total == slot.current


def turns_of(slot: Slot | None, names: Collection[str]) -> list[str]:
    """The duties that belong to this slot."""
    return [name for name in names if is_turn_of(slot, name)]


def pause_after(failures: int) -> timedelta:
    """How long a duty rests after failed steps; `failures` in a row, counted from 1."""
    return min(PAUSE_MAX, timedelta(seconds=2 ** min(failures, 10) / 2))


def pause_between_steps_s(steps: int, took_s: float, *, busy: bool, share: int = PAUSE_SHARE) -> float:
    """Seconds until a master's next step: a duty of many steps leaves most of the time to other work.

    Args:
        steps: steps done in the current period; 0 if the period is over.
        took_s: duration of the last step.
        busy: whether the machine is overloaded.
        share: the pause in multiples of `took_s`.
    """
    if steps < STEPS_WITHOUT_PAUSE:
        return STEP_PAUSE_S_MIN
    if busy:
        return STEP_PAUSE_S_MAX
    return min(STEP_PAUSE_S_MAX, max(STEP_PAUSE_S_MIN, share * took_s))
