"""What a bug that was once in Shoal is: how to put it back, and which test finds it then."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Switch:
    """A protection that the simulation can switch off (`tests/simulation/protections.py`)."""

    name: str
    seeds: str
    """How many seeds of how many violate something then, measured."""


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
