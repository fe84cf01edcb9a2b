"""A former bug of Shoal: how to put it back, and which test finds it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Switch:
    """A protection that the simulation can switch off (`tests/simulation/protections.py`)."""

    name: str
    seeds: str
    """How many seeds of how many then violate something, as measured."""


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
    """A bug that no test found while it existed."""

    number: str
    """The number of the report, which may contain several bugs."""
    was: str
    back_by: Switch | Patch
    found_by: str = ""
    """The test, as pytest names it; of a switch none: the simulation finds it."""
