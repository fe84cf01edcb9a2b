"""What a resource of a pool is in now, and a place in the line of a pool."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ResourceState(StrEnum):
    """What becomes of a resource now."""

    FREE = "FREE"
    """Whoever needs one next may get it."""
    TAKEN = "TAKEN"
    """A running attempt holds it; if it is set aside besides, nobody gets it afterwards."""
    SET_ASIDE = "SET_ASIDE"
    """Nobody gets it."""
    CHECKING = "CHECKING"
    """A worker checks it."""
    REMOVED = "REMOVED"
    """It is in the pool no more, and goes when whoever holds it gives it back."""


@dataclass(frozen=True, slots=True)
class LinePlace:
    """Where a page of a line ends: the place in the order, and the number of that place."""

    number: int
    workflow_priority: str
    run: int
    task_priority: str
    task: int
