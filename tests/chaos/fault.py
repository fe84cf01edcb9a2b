"""A fault: struck by `begin`, healed by `end` after `lasts_s` seconds.

`begin` returns the lives that must have been fenced or have left before the cluster can count as recovered
(`tests/chaos/recovery.py`).
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.chaos.site import Member, Site

Epochs = set[int]


@dataclass(frozen=True)
class Fault:
    """`family`: of two faults at once each must be of another family. `what` is for people."""

    kind: str
    family: str
    what: str
    lasts_s: float
    begin: Callable[[], Awaitable[Epochs]]
    end: Callable[[], Awaitable[None]]


Factory = Callable[[random.Random, Site, float], Fault]


def fault(
    kind: str,
    family: str,
    what: str,
    lasts_s: float,
    begin: Callable[[], Epochs | None],
    end: Callable[[], object] = lambda: None,
) -> Fault:
    """A fault of two plain functions."""

    async def begun() -> Epochs:
        return begin() or set()

    async def ended() -> None:
        end()

    return Fault(kind, family, f"{what}, {lasts_s:.1f} s" if lasts_s else what, lasts_s, begun, ended)


def epochs_of(*members: Member) -> Epochs:
    """The epochs of those members that live."""
    return {member.epoch for member in members if member.epoch is not None and member.lives}
