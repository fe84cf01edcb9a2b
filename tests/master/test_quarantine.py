"""Quarantined items are tried alone, ever less often, and never hold up the rest."""

from __future__ import annotations

import asyncio

import pytest

from dao.postgres.errors import BadData, LockTaken
from master.claim import quarantine
from master.claim.quarantine import PAUSE_FIRST_S, PAUSE_MAX_S, QUARANTINE_MAX, Quarantine
from model.errors import Unavailable

BAD, LOCKED = BadData("no"), LockTaken("held")


class Things:
    """Items; the handling or the refusal of some fails."""

    def __init__(self) -> None:
        self.fails: dict[int, Exception] = {}
        self.not_refused: dict[int, Exception] = {}
        self.handled: list[int] = []
        self.refused: dict[int, str] = {}
        self.pauses_s: list[float] = []
        self.has_room = True
        self.wake = asyncio.Event()
        self.aside: Quarantine[int] = Quarantine(self.wake, self._handle, self._refuse, self._waits)

    async def _handle(self, id_: int) -> bool:
        if id_ in self.fails:
            raise self.fails[id_]
        if self.has_room:
            self.handled.append(id_)
            self.aside.others_were_handled()
        return self.has_room

    async def _refuse(self, id_: int, reason: str) -> None:
        if id_ in self.not_refused:
            raise self.not_refused[id_]
        self.refused[id_] = reason

    def _waits(self, _id: int, _error: str, pause_s: float) -> None:
        self.pauses_s.append(pause_s)


async def test_of_a_batch_that_failed_each_is_tried_alone_and_the_culprit_is_refused() -> None:
    things = Things()
    things.fails[2] = BAD
    assert things.aside.add_failed([1, 2, 3], BAD)
    assert await things.aside.try_due()
    assert (things.handled, things.refused) == ([1, 3], {}), "it may have been a fault of all that has passed"
    assert await things.aside.try_due()
    assert (things.handled, things.refused, things.aside.ids) == ([1, 3], {2: "no"}, [])
    assert not await things.aside.try_due()


async def test_a_fault_that_all_share_refuses_none_and_its_end_frees_all() -> None:
    things = Things()
    things.fails = dict.fromkeys(range(4), BAD)
    assert things.aside.add_failed(range(4), BAD)
    assert await things.aside.try_due()
    assert not await things.aside.try_due(), "none is due at once"
    assert (things.handled, things.refused, len(things.pauses_s)) == ([], {}, 4)
    things.fails = {2: BAD}
    things.aside.others_were_handled()
    assert await things.aside.try_due()
    assert (things.handled, things.refused, things.aside.ids) == ([0, 1, 3], {2: "no"}, [])


async def test_what_waits_for_a_lock_lets_others_in_between_and_is_not_refused() -> None:
    things = Things()
    things.fails[1] = LOCKED
    assert things.aside.add_failed([1, 2], LOCKED)
    assert await things.aside.try_due()
    assert (things.handled, things.refused) == ([], {}), "a lock was waited for: the others come first"
    assert await things.aside.try_due()
    assert (things.handled, things.aside.ids) == ([2], [1])


async def test_what_can_be_neither_handled_nor_refused_wakes_the_loop_later_and_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quarantine, "PAUSE_FIRST_S", 0.001)
    monkeypatch.setattr(quarantine, "PAUSE_MAX_S", 0.005)
    things = Things()
    things.fails[1] = things.not_refused[1] = BAD
    assert things.aside.add_failed([1], BAD)
    for _ in range(5):
        assert await things.aside.try_due()
        assert not await things.aside.try_due(), "it is not due"
        async with asyncio.timeout(30):
            await things.wake.wait()
        things.wake.clear()
    assert things.pauses_s == [0.001, 0.002, 0.004, 0.005, 0.005]
    del things.fails[1]
    assert await things.aside.try_due()
    assert (things.handled, things.refused, things.aside.ids) == ([1], {}, []), "it is handled once it can be"
    assert 0 < PAUSE_FIRST_S < PAUSE_MAX_S


async def test_what_is_hopeless_is_never_handled() -> None:
    things = Things()
    things.not_refused[1] = LOCKED
    assert things.aside.add_hopeless(1, "it kills")
    assert await things.aside.try_due()
    assert (things.handled, things.refused, 1 in things.aside) == ([], {}, True)


async def test_without_room_it_stays_due() -> None:
    things = Things()
    things.has_room = False
    assert things.aside.add_failed([1], BAD)
    assert not await things.aside.try_due()
    things.has_room = True
    assert await things.aside.try_due()
    assert things.handled == [1]


async def test_what_has_no_room_keeps_nothing_back_that_needs_none() -> None:
    things = Things()
    things.has_room = False
    things.fails[2] = LOCKED
    assert things.aside.add_failed([1, 2], LOCKED)
    assert await things.aside.try_due()
    assert things.pauses_s == [PAUSE_FIRST_S], "the second was tried though the first found no room"


async def test_a_server_that_goes_away_blames_nobody() -> None:
    things = Things()
    things.fails[1] = Unavailable("away")
    assert things.aside.add_failed([1], BAD)
    with pytest.raises(Unavailable):
        await things.aside.try_due()
    del things.fails[1]
    assert await things.aside.try_due()
    assert (things.handled, things.pauses_s) == ([1], [])


async def test_large_batches_are_halved_first_and_there_is_a_limit() -> None:
    things = Things()
    assert not things.aside.add_failed([], LOCKED), "nobody to blame"
    assert not things.aside.add_failed(range(21), BAD), "it may be the size"
    assert things.aside.add_failed(range(QUARANTINE_MAX - 1), LOCKED)
    assert not things.aside.add_failed([5_000, 5_001], LOCKED)
    assert not things.aside.add_failed([5_000, 5_001], BAD)
    assert things.aside.add_hopeless(5_000, "x")
    assert not things.aside.add_hopeless(5_001, "x")
    assert len(things.aside.ids) == QUARANTINE_MAX
