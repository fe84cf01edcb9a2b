"""What started a run, in the words of people. Pure."""

from __future__ import annotations

from enum import StrEnum


class Trigger(StrEnum):
    """What started a run: somebody or a program (HAND), a schedule, a backfill, or a task of another run, whose
    child it is (PARENT) or which did not wait for it (TASK), or another run or a dataset that its workflow names in
    its `triggers` (EVENT)."""

    HAND = "HAND"
    SCHEDULE = "SCHEDULE"
    BACKFILL = "BACKFILL"
    PARENT = "PARENT"
    TASK = "TASK"
    EVENT = "EVENT"
