"""How long what has ended is kept, and how much of it one step deletes."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

KEPT_DAYS = 90
"""Unless the project or the masters' settings say otherwise; 0 = for ever."""
KEPT_DAYS_MAX = 36_500
AUDIT_KEPT_DAYS_MIN = 90
"""An audit row is kept for so long at least: who may shorten the time of a project must not erase what he did in it."""
DEPENDENT_REACH = timedelta(days=64)
"""Further back than any cycle of a DEPENDENT task reaches: the first day of last month, and two days for zones."""
READ_MAX = 500
"""How many runs, or commands, one step reads."""
ATTEMPTS_MAX = 500
"""How many attempts one step deletes, unless a single run has more."""


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
