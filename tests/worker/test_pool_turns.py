"""When claims of what needs only a place leave the free places to those of what needs resources."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

import worker.claims.pools
from model.pools.turns import Turns
from model.runs.queue_places import QueuePlaces
from tests.eventually import eventually
from worker.claims.pools import PoolClaims
from worker.claims.streams import StreamClaims


@pytest.fixture
def rounds() -> list[int]:
    return []


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch, rounds: list[int]) -> PoolClaims:
    """The claims of a worker whose places are all taken."""
    monkeypatch.setattr(worker.claims.pools, "GOES_FIRST_S", 0.02)
    nothing: Any = None
    full: Any = SimpleNamespace(places=0)
    return PoolClaims(
        nothing,
        full,
        StreamClaims(nothing, ("default",)),
        QueuePlaces(("default",)),
        takes=lambda: True,
        on_round=lambda: rounds.append(1),
    )


async def test_a_turn_for_which_no_place_came_in_time_is_given_again(claims: PoolClaims, rounds: list[int]) -> None:
    claims.notice()
    claims.try_again()
    assert claims.goes_first
    await eventually(lambda: not claims.goes_first)
    await eventually(lambda: rounds, until=[1])
    claims.try_again()
    assert claims.goes_first, "its report took longer than the turn; the next end gives another"


async def test_a_claim_that_takes_long_keeps_the_places_only_for_its_turn(claims: PoolClaims) -> None:
    claims.notice()
    claims.try_again()
    claims.is_under_way = True
    await eventually(lambda: not claims.goes_first)
    claims.try_again()
    assert not claims.goes_first


@pytest.fixture
def attempts(claims: PoolClaims, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """One place is free."""
    found = SimpleNamespace(places=1, start=lambda _claimed: None)
    monkeypatch.setattr(claims, "_attempts", found)
    return found


@pytest.fixture
def tries(claims: PoolClaims, monkeypatch: pytest.MonkeyPatch, attempts: SimpleNamespace) -> list[int]:
    """The free places at each claim, which finds what it wants held by others."""
    made: list[int] = []

    async def held_by_others() -> tuple[Turns, list[Any]]:
        made.append(attempts.places)
        return Turns((), lacks_places=False, lacks_pools=True), []

    monkeypatch.setattr(claims, "_claim", held_by_others)
    return made


async def test_while_it_pauses_no_place_is_left_to_it(claims: PoolClaims, tries: list[int]) -> None:
    claims.notice()
    async with asyncio.TaskGroup() as group:
        loop = group.create_task(claims.run())
        await eventually(lambda: tries)
        for _ in range(20):
            assert not claims.goes_first
            claims.try_again()
            await asyncio.sleep(0)
        await eventually(lambda: len(tries) >= 3)
        loop.cancel()


async def test_after_a_pause_without_a_place_it_has_its_turn(
    claims: PoolClaims, tries: list[int], attempts: SimpleNamespace
) -> None:
    claims.notice()
    async with asyncio.TaskGroup() as group:
        loop = group.create_task(claims.run())
        await eventually(lambda: tries)
        attempts.places = 0  # others take it meanwhile
        await eventually(lambda: claims.try_again() or claims.goes_first)
        loop.cancel()


async def test_where_nothing_waits_for_resources_no_place_is_left_to_it(claims: PoolClaims) -> None:
    claims.try_again()
    assert not claims.goes_first
