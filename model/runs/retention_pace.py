"""How long what has ended is kept, and how much of it one step deletes."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

KEPT_DAYS = 90
"""Unless the project or the masters' settings say otherwise; 0 = forever."""
KEPT_DAYS_MAX = 36_500
DEPENDENT_REACH = timedelta(days=64)
"""Further back than any cycle of a DEPENDENT task reaches: the first day of last month, and two days for zones."""
READ_MAX = 500
"""How many runs, or commands, one step reads."""
ATTEMPTS_FIRST = 500
"""How many attempts the first step of a round deletes, unless a single run has more."""
ATTEMPTS_MIN, ATTEMPTS_MAX = 50, 2_000
"""The fewest and the most that a later one deletes."""
ROWS_MAX = 2 * ATTEMPTS_MAX
"""The most attempts that one statement deletes: of a larger run the others are deleted in later steps."""
PAUSE_SHARE = 50
"""How many times longer than a step that deletes runs the pause after it is. Nobody waits for the deletion, and it
shares the processors and the disk with real work."""
SHORT_S, LONG_S = 0.1, 0.5
"""A deletion that took less lets the next one be larger, one that took more makes it smaller."""


def attempts_of_next(attempts_max: int, deleted: int, took_s: float) -> int:
    """How many attempts the next step deletes.

    Most of what a step costs is the same for many attempts as for few. But rows may be wide, the disk slow and the
    machine busy, and a step has to be over long before the server ends its statement.

    Args:
        attempts_max: how many this step was to delete.
        deleted: how many it did delete; if fewer, its time says nothing about larger steps.
        took_s: how long its deletion took.
    """
    wanted = attempts_max
    if took_s > LONG_S:
        wanted = attempts_max // 2
    elif took_s < SHORT_S and deleted >= attempts_max:
        wanted = attempts_max * 2
    return max(ATTEMPTS_MIN, min(ATTEMPTS_MAX, wanted))


class Part(StrEnum):
    """What is deleted, in this order."""

    RUNS = "runs"
    COMMANDS = "commands"
    AUDIT = "audit"

    @property
    def next(self) -> Part | None:
        """The one after it."""
        parts = list(Part)
        place = parts.index(self) + 1
        return parts[place] if place < len(parts) else None
