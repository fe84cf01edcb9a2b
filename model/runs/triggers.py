"""What started a run, in the words of people. Pure."""

from __future__ import annotations

from enum import StrEnum


class Trigger(StrEnum):
    """What started a run: somebody or a program (HAND), a schedule, a backfill, or a task of another run (PARENT)."""

    HAND = "HAND"
    SCHEDULE = "SCHEDULE"
    BACKFILL = "BACKFILL"
    PARENT = "PARENT"
