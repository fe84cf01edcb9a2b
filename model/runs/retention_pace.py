"""How long ended runs are kept, and how much one step of retention deletes."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

KEPT_DAYS = 90
"""The default; the project or the masters' settings override it. 0 = forever."""
KEPT_DAYS_MAX = 36_500
DEPENDENT_REACH = timedelta(days=64)
"""Beyond the reach of any cycle of a DEPENDENT task: the first day of last month, and two days for zones."""
READ_MAX = 500
"""How many runs, or commands, one step reads."""
ATTEMPTS_FIRST = 500
"""How many attempts the first step of a round deletes, unless a single run has more."""
ATTEMPTS_MIN, ATTEMPTS_MAX = 50, 2_000
"""The bounds for later steps."""
ROWS_MAX = 2 * ATTEMPTS_MAX
"""The most attempts that one statement deletes; the rest of a larger run follows in later steps."""
PAUSE_SHARE = 50
"""The pause after a step that deletes runs, in multiples of the step's duration. Nobody waits for the deletion, and it
shares the processors and the disk with real work."""
SHORT_S, LONG_S = 0.1, 0.5
"""A deletion shorter than the first makes the next one larger, one longer than the second makes it smaller."""


def attempts_of_next(attempts_max: int, deleted: int, took_s: float) -> int:
    """How many attempts the next step deletes.

    Most of a step's cost does not depend on the number of attempts. But rows may be wide, the disk slow and the machine
    busy, and a step must end long before the server cancels its statement.

    Args:
        attempts_max: the limit of this step.
        deleted: how many it deleted; if fewer, its time says nothing about larger steps.
        took_s: the duration of the deletion.
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
        parts = list(Part)
        place = parts.index(self) + 1
        return parts[place] if place < len(parts) else None
