"""What started a run, in the words of people. Pure."""

from __future__ import annotations

from enum import StrEnum


class Trigger(StrEnum):
    """What started a run: a person or program (HAND), a schedule, a backfill, a task of another run, as a child
    (PARENT) or without waiting for it (TASK), or a run or dataset in the `triggers` of its workflow (EVENT)."""

    HAND = "HAND"
    SCHEDULE = "SCHEDULE"
    BACKFILL = "BACKFILL"
    PARENT = "PARENT"
    TASK = "TASK"
    EVENT = "EVENT"
