"""The loop that claims what needs resources of pools: a loop and transactions of its own.

Whatever holds it up, a pool that somebody has locked or a slow statement, holds up no claim of what needs only a place.
Places are given in one order nevertheless: while such work waits it chooses first, with the most urgent of the others
in view, and leaves them their places. Of the streams that could begin it takes its share (`model/pools/turns.py`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from dao.cluster import nodes
from dao.cluster.node_rows import NodeRow
from dao.pools import pool_claims
from dao.pools.pool_claims import FREE_READ_MAX
from dao.postgres.pool import AsyncConnection
from dao.tasks.task_claims import ClaimedTask
from model.backoff import Backoff
from model.cluster.nodes import served_groups
from model.errors import Unknown
from model.pools.turns import Turns, turns
from model.runs.queue_places import QueuePlaces
from node.life import Life
from node.write_loop import run_rounds
from worker.attempts.attempts import Attempts
from worker.claims.leased_streams import LeasedStreams
from worker.claims.streams import StreamClaims

GOES_FIRST_S = 0.3
"""For so long other claims leave it the free places, while it finds out what it can take."""
HELD = Backoff(first_s=0.06, max_s=0.25)
"""The pauses after which it tries again for what another session held just now: mostly a claim, which is short."""
OTHERS_FOR_S = 1.0
"""For so long it counts on what others could take."""
_NONE = Turns((), lacks_places=False, lacks_pools=False)


class PoolClaims:
    """Claims attempts with all their leases.

    Args:
        streams: those that need only a place, for which some places are left free.
        plain: where in the queue what needs only a place may wait.
        takes: whether this worker takes anything new just now.
        on_round: called after each round, whatever came of it: others may have the places that are left.
    """

    def __init__(
        self,
        life: Life,
        attempts: Attempts,
        streams: StreamClaims,
        plain: QueuePlaces,
        *,
        takes: Callable[[], bool],
        on_round: Callable[[], None],
    ) -> None:
        self.on_unchecked: Callable[[], None] = lambda: None
        """Called when resources for which somebody waits are to be checked first."""
        self.is_under_way = False
        """Whether a claim is under way."""
        self.in_doubt = False
        """Whether a claim is of unknown outcome."""
        self.reads_again = False
        """Whether it waits until its writes have ended and what is ours is read from the rows (`outcome_known`)."""
        self._wake = asyncio.Event()
        self._waits = False
        self._is_to_try = False
        self._pauses = False
        """Whether it tries nothing just now, and what others take meanwhile does not matter to it."""
        self._first_until_s = 0.0
        self._held = replace(HELD)
        self._others: list[NodeRow] = []
        self._others_until_s = float("-inf")
        self._leased_streams = LeasedStreams(streams.groups)
        self._life = life
        self._attempts = attempts
        self._groups = streams.groups
        self._streams = streams
        self._plain = plain
        self._takes = takes
        self._on_round = on_round

    @property
    def _places(self) -> int:
        return self._attempts.places - self._streams.reserved

    @property
    def goes_first(self) -> bool:
        """Whether other claims are to leave it the free places."""
        return self._is_to_try and asyncio.get_running_loop().time() < self._first_until_s

    def notice(self) -> None:
        """There may be work that waits for resources, or resources for it."""
        self._waits = True
        self._wake.set()

    def try_again(self) -> None:
        """There are places, or are about to be, for what it could not take before.

        A turn for which the places did not come in time, since the report of an end took long, is given once more:
        else those that claim with their reports would keep it from ever having one. None is given while it pauses: the
        places would stand idle.
        """
        if not self._waits:
            return
        loop = asyncio.get_running_loop()
        has_passed = loop.time() >= self._first_until_s and not self.is_under_way
        if not self._pauses and (has_passed or not self._is_to_try):
            self._is_to_try = True
            self._first_until_s = loop.time() + GOES_FIRST_S
            loop.call_later(GOES_FIRST_S, self._on_round)
        self._wake.set()

    async def run(self) -> None:
        """Claim until cancelled. Raises `Fenced`."""
        await run_rounds(
            "claim_with_resources",
            self._wake,
            self._catch_up,
            self._life,
            shrink=lambda: None,
            read_again=self._outcome_unknown,
        )

    def _outcome_unknown(self) -> None:
        self.reads_again = True
        self._on_round()

    def outcome_known(self) -> None:
        """What is ours by the rows has been read."""
        self.in_doubt = False
        self.try_again()

    async def _catch_up(self) -> None:
        self._pauses = False
        while self._waits and self._takes() and self._places > 0:
            self._waits = False  # a notification from here on may mean what this claim did not see
            self.is_under_way = True
            try:
                found, claimed = await self._claim()
            except BaseException as error:
                self._waits = self._pauses = True
                self.is_under_way, self.in_doubt = False, isinstance(error, Unknown)
                self._had_its_turn()
                raise
            self._attempts.start(claimed)
            self._leased_streams.note(found, asyncio.get_running_loop().time())
            lacks_some = found.lacks_pools or len(claimed) < len(found.given)
            self.is_under_way, self._pauses = False, lacks_some
            self._had_its_turn()
            self._waits = self._waits or lacks_some or found.lacks_places or len(claimed) >= FREE_READ_MAX
            if not lacks_some or claimed:
                self._held.reset()
            if lacks_some:
                await asyncio.sleep(self._held.next_pause_s(random.random()))  # noqa: S311 - jitter
                self._pauses = False
            elif found.lacks_places:
                return  # the places that are left are for others, which are more urgent

    def _had_its_turn(self) -> None:
        """Leave the other places to others."""
        self._is_to_try = False
        self._on_round()

    async def _claim(self) -> tuple[Turns, list[ClaimedTask]]:
        epoch = self._life.me.epoch
        with ExitStack() as until_committed:
            async with self._life.writing() as connection:
                held = await pool_claims.hold_pools(connection, self._groups, epoch)
                if not any(held.values()):
                    return _NONE if not held else Turns((), lacks_places=False, lacks_pools=True), []
                rooms = await pool_claims.rooms(connection, held)
                if any(room.is_held and room.unchecked for room in rooms.values()):
                    self.on_unchecked()
                if not any(room.is_held and room.free for room in rooms.values()):
                    return Turns((), lacks_places=False, lacks_pools=not all(held.values())), []
                # Only now, so that others claim meanwhile if there is nothing to give.
                if (places := self._places) <= 0:
                    return Turns((), lacks_places=True, lacks_pools=False), []
                until_committed.enter_context(self._attempts.asking(places))
                now_s = asyncio.get_running_loop().time()
                others = await self._read_others(connection, now_s)
                served = served_groups(each.heartbeat for each in others)
                waiters = await pool_claims.waiters(connection, rooms, self._groups, served, places, self._plain.all)
                spread = await self._leased_streams.spread(connection, waiters, others, epoch, places, now_s)
                found = turns(waiters, rooms, self._groups, places, served, spread)
                return found, await pool_claims.claim(connection, found.given, epoch) if found.given else []

    async def _read_others(self, connection: AsyncConnection, now_s: float) -> list[NodeRow]:
        """The other nodes that live and do not leave. Beats are seconds old anyway, so they are read once a second."""
        if now_s >= self._others_until_s:
            living = await nodes.living(connection)
            self._others = [row for row in living if row.epoch != self._life.me.epoch and not row.is_leaving]
            self._others_until_s = now_s + OTHERS_FOR_S
        return self._others
