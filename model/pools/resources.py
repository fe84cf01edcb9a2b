"""What becomes of a resource of a pool now, and how much of a line is shown."""

from __future__ import annotations

from enum import StrEnum

LINE_SHOWN_MAX = 100_000
"""The last place of a line that is shown: those before a page are read for it."""


class ResourceState(StrEnum):
    """What becomes of a resource now."""

    FREE = "FREE"
    """The next attempt that needs one may get it."""
    TAKEN = "TAKEN"
    """A running attempt holds it; if it is set aside besides, nobody gets it afterwards."""
    SET_ASIDE = "SET_ASIDE"
    """Nobody gets it."""
    CHECKING = "CHECKING"
    """A worker checks it."""
    REMOVED = "REMOVED"
    """It is no longer in the pool, and goes when its holder gives it back."""
