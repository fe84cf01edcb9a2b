"""Claims attempts that need resources of pools, in a loop and transactions of its own.

Its delays, such as a locked pool or a slow statement, do not delay claims of attempts that need only a place. All
places still follow one order: while such attempts wait, this loop chooses first, considers the most urgent of the
others, and leaves them their places. It takes its share of the streams that could begin (`model/pools/turns.py`).
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
"""Other claims leave it the free places for this long, while it finds out what it can take."""
HELD = Backoff(first_s=0.06, max_s=0.25)
"""The pauses before it retries what another session locked: usually a claim, which is short."""
OTHERS_FOR_S = 1.0
"""How long its view of what others could take stays valid."""
_NONE = Turns((), lacks_places=False, lacks_pools=False)


class PoolClaims:
    """Claims attempts with all their leases.

    Args:
        streams: those that need only a place, for which some places are left free.
        plain: where attempts that need only a place may wait in the queue.
        takes: whether this worker takes anything new now.
        on_round: called after each round, whatever its result: others may use the remaining places.
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
        """Called when free resources must be checked before waiting attempts get them."""
        self.is_under_way = False
        self.in_doubt = False
        self.reads_again = False
        """Whether it waits until its writes have ended and its rows have been read (`outcome_known`)."""
        self._wake = asyncio.Event()
        self._waits = False
        self._is_to_try = False
        self._pauses = False
        """Whether it tries nothing now, so that claims of others do not matter to it."""
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
        """Whether other claims must leave it the free places."""
        return self._is_to_try and asyncio.get_running_loop().time() < self._first_until_s

    def notice(self) -> None:
        """Look again: attempts may wait for resources, or resources be free."""
        self._waits = True
        self._wake.set()

    def try_again(self) -> None:
        """Try again: there are places, or soon will be, for what it could not take before.

        It gets another turn if the places came too late because reporting an end took long; otherwise the loops that
        claim with their reports would always be first. It gets none while it pauses: the places would stay idle.
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
        """Continue after the rows of this worker have been read."""
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
        """The other living nodes that do not leave. Beats are seconds old anyway, so they are read once a second."""
        if now_s >= self._others_until_s:
            living = await nodes.living(connection)
            self._others = [row for row in living if row.epoch != self._life.me.epoch and not row.is_leaving]
            self._others_until_s = now_s + OTHERS_FOR_S
        return self._others
