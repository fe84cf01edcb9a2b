"""What a bug that was once in Shoal is: how to put it back, and which test finds it then."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Switch:
    """A protection that the simulation can switch off (`tests/simulation/protections.py`)."""

    name: str
    seeds: str
    """How many seeds of how many violate something then, measured."""

    @property
    def shown(self) -> str:
        """In a cell of the table."""
        return f"`{self.name}` off"


@dataclass(frozen=True)
class Patch:
    """A part of a file, replaced."""

    file: str
    old: str
    new: str
    shown: str
    """In words."""


@dataclass(frozen=True)
class Bug:
    """One that none of the judges found while it was there."""

    number: str
    """Of the report; several bugs may have been in one."""
    was: str
    back_by: Switch | Patch
    found_by: str = ""
    """The test, as pytest names it; of a switch none: the simulation finds it."""

    @property
    def row(self) -> str:
        """Of the table in docs/internals/simulation.md."""
        if isinstance(self.back_by, Switch):
            found = f"{self.back_by.shown}: {self.back_by.seeds}"
        else:
            found = f"`{self.found_by}`"
        return f"| {self.number} | {self.was} | {found} |"
