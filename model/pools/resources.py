"""The states of a pool's resources, and how much of a line is shown."""

from __future__ import annotations

from enum import StrEnum

LINE_SHOWN_MAX = 100_000
"""The last place of a line that is shown: each page reads the places before it."""


class ResourceState(StrEnum):
    """What becomes of a resource now."""

    FREE = "FREE"
    """The next attempt that needs one may get it."""
    TAKEN = "TAKEN"
    """A running attempt holds it. If it is also set aside, no other attempt gets it afterwards."""
    SET_ASIDE = "SET_ASIDE"
    """Nobody gets it."""
    CHECKING = "CHECKING"
    """A worker checks it."""
    REMOVED = "REMOVED"
    """It was removed from the pool, and disappears when its holder returns it."""
