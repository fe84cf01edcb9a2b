"""Protections that are no statements of `dao/`, and how each is switched off."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from master.claim.serial import Lines
from master.drive.held_runs import HeldRuns
from master.membership.failure_detector import FailureDetector
from master.membership.membership import Membership
from model.pools.turns import turns
from tests.simulation.protections import Protections
from tests.simulation.registry import SimulatedRegistry
from worker.beats import Beats


async def idle(*_: Any) -> None:
    """Stands for a loop that is left out: it waits forever."""
    await asyncio.Event().wait()


async def _detect_by_timestamps(membership: Any, now_s: float) -> None:
    """Judge by how long ago each has beaten, by the database's clock."""
    ages_s = {node.epoch: node.beat_age_s for node in membership._life.living}
    membership._detector._still_s = lambda sight, _: ages_s[sight.epoch]
    await _DETECT_FAILURES(membership, now_s)


_DETECT_FAILURES = Membership._detect_failures


def _turns_of_what_fits(waiters: Any, rooms: Any, *of: Any) -> Any:
    """Let waiters that lack resources reserve nothing."""
    fits = [each for each in waiters if all(rooms[name].free >= n for name, n in each.needs.items() if name in rooms)]
    return turns(fits, rooms, *of)


def switched_off(protections: Protections) -> list[tuple[Any, str, Any]]:
    """The replacements for these protections being off: the object, the name, and the substitute."""
    made: list[tuple[Any, str, Any]] = []
    if not protections.horizon:
        made.append((Beats, "guard", idle))
    if not protections.observed:
        made.append((Membership, "_detect_failures", _detect_by_timestamps))
    if not protections.stated:
        made.append((FailureDetector, "_silence", lambda judge, sight: sight.kind.silence(judge._timing)))
    if not protections.unbroken:
        made.append((SimulatedRegistry, "unbroken_since", 0.0))
    if not protections.room:
        made.append((HeldRuns, "active", HeldRuns.running))
    if not protections.periodic:
        made.append((sys.modules["master.membership.membership"], "READ_MEMBERS_EVERY_S", 1e9))
    if not protections.timed_again:
        made.append((sys.modules["master.drive.driver"], "NOT_OURS_YET_S", 1e9))
    if not protections.line:
        made.append((Lines, "goes_on", lambda *_: None))
    if not protections.reserved:
        made.append((sys.modules["worker.claims.pools"], "turns", _turns_of_what_fits))
    return made
