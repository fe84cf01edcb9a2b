"""Moves unevenly spread streams, and restarts those of a run one after the other.

One master at a time does it, in one transaction that only writes which attempts their workers must end; another attempt
follows each, claimed by the worker with the fewest streams. A few move at a time: the next ones when the former run and
are ready again. So it may be interrupted anywhere, and any other master continues from the rows.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import structlog

from dao.cluster import nodes
from dao.cluster.node_rows import NodeRow
from dao.postgres.database import FencedTransaction
from dao.streams import stream_claims, streams
from dao.streams.streams import AskedRestart, FirstInLine, LivingStream
from master.membership.membership import Membership
from model.cluster.duties import is_turn_of
from model.cluster.master_settings import MasterSettings
from model.errors import Fenced, ShoalError, Unknown
from model.ids import TaskInstanceId
from model.runs.states import TaskState
from model.streams.rolling import Turn, turns
from model.streams.spread import surplus
from node.life import Life
from node.stream_workers import loads_of
from node.write_loop import blaming_the_data
from registry.clock import boottime_s

log = structlog.get_logger()

NAME = "streams"
"""The name from which the turn is computed, as for a duty."""
MOVES_AT_ONCE = 2
"""How many streams of a group move between two workers at the same time."""


class Streams:
    """Takes care of streams, until cancelled, while it is this master's turn."""

    def __init__(self, life: Life, membership: Membership, settings: MasterSettings) -> None:
        self._life = life
        self._membership = membership
        self._every_s = settings.look_every.total_seconds()
        self._after_s = settings.rebalance_after.total_seconds()
        self._uneven_since_s: dict[str, float] = {}
        self._any_to_do = asyncio.Event()

    def notice(self, *, any_to_do: bool) -> None:
        """Record whether there are streams, or requests about them (`Poller`)."""
        if any_to_do:
            self._any_to_do.set()
        else:
            self._any_to_do.clear()
            self._uneven_since_s.clear()

    async def run(self) -> None:
        """Run at most once a look, until cancelled. Raises `Fenced`."""
        while True:
            await self._any_to_do.wait()
            self._any_to_do.clear()
            try:
                if is_turn_of(self._membership.slot, NAME):
                    await self._care()
                else:
                    self._uneven_since_s.clear()
            except Fenced:
                raise
            except Unknown:
                await self._life.barrier()
            except ShoalError as error:
                log.warning("streams_wait", error=str(error))
            await asyncio.sleep(self._every_s)

    async def _care(self) -> None:
        with blaming_the_data():
            async with self._life.writing() as connection:
                if await streams.try_lock(connection):
                    await _restart(connection)
                    await self._rebalance(connection)

    async def _rebalance(self, connection: FencedTransaction) -> None:
        asked = set(await streams.asked_rebalances(connection))
        living = await streams.living(connection)
        workers = await nodes.living(connection)
        troubled = await stream_claims.troubled(connection) if living else {}
        first = await streams.first_in_line(connection) if any(each.pools for each in living) else set()
        moves: dict[TaskInstanceId, str] = {}
        groups = {each.worker_group for each in living}
        even = asked - groups
        for gone in self._uneven_since_s.keys() - groups:
            del self._uneven_since_s[gone]
        for group in sorted(groups):
            of_group = [each for each in living if each.worker_group == group]
            if any(each.restarts for each in of_group):  # restarts go to the worker with the fewest anyway
                continue
            fine = [row for row in workers if row.epoch not in troubled.get(group, ())]
            found = moves_of(group, of_group, fine, MOVES_AT_ONCE, contested(group, first, workers))
            on_the_way = sum(each.is_on_its_way for each in of_group)
            if not found and not on_the_way:
                self._uneven_since_s.pop(group, None)
                even |= asked & {group}
            elif found and (group in asked or self._is_time(group)):
                moves |= found
        if moves:
            moved = await streams.hand_over(connection, moves)
            log.info("streams_move", count=len(moved))
        if even:
            await streams.rebalanced(connection, sorted(even))

    def _is_time(self, group: str) -> bool:
        """Whether it has been uneven long enough to be rebalanced without a request."""
        since_s = self._uneven_since_s.setdefault(group, boottime_s())
        return self._after_s > 0 and boottime_s() - since_s >= self._after_s


def contested(group: str, first: Collection[FirstInLine], workers: Sequence[NodeRow]) -> set[str]:
    """The pools in which others than streams of this group would get what one of them returns. Pure."""
    served = {name for row in workers if row.heartbeat is not None for name in row.heartbeat.groups}
    return {
        each.pool
        for each in first
        if each.worker_group in served and not (each.is_stream and each.worker_group == group)
    }


def moves_of(
    group: str, living: Sequence[LivingStream], workers: Sequence[NodeRow], at_once: int, kept: Collection[str] = ()
) -> Mapping[TaskInstanceId, str]:
    """The streams of a group that should move now, each with the reason: the youngest of the workers with the most,
    first those without resources, and none that holds a resource of the pools in `kept`, which it would lose.

    `at_once` limits them together with those that move, wait, or are not ready again, except for one that waits for a
    pool. Pure.
    """
    resting = [each for each in living if each.worker is not None and not each.moves]
    running = Counter(each.worker for each in resting if each.worker is not None)
    on_the_way = sum(each.is_on_its_way for each in living)
    names = {row.epoch: row.shown for row in workers}
    movable = [each for each in resting if not set(each.pools) & set(kept)]
    moves: dict[TaskInstanceId, str] = {}
    there = Counter(each.worker for each in movable if each.worker is not None)
    for source in surplus(loads_of(group, running, workers), at_once - on_the_way, there):
        of_it = [each for each in movable if each.worker == source and each.id not in moves]
        moved = max(of_it, key=lambda each: (not each.pools, each.id)).id
        moves[moved] = f"it moves: {names[source]} has more streams of group {group} than others"
    return moves


async def _restart(connection: FencedTransaction) -> None:
    """Begin the restarts whose turn has come, and delete finished ones."""
    asked = {(each.restart.run, each.restart.code): each for each in await streams.restarts(connection)}
    done, starts = [], []
    for restart, turn in turns([each.restart for each in asked.values()]):
        id_ = asked[restart.run, restart.code].id
        if turn is Turn.DONE:
            done.append(restart)
        elif turn is Turn.BEGIN:
            await _begin(connection, asked[restart.run, restart.code])
        elif turn is Turn.START and id_ is not None:
            starts.append(id_)
    if starts:
        await streams.start_now(connection, starts)
    if done:
        await streams.restarted(connection, done)


async def _begin(connection: FencedTransaction, asked: AskedRestart) -> None:
    restart, id_ = asked.restart, asked.id
    assert id_ is not None
    match restart.state:
        case TaskState.RUNNING_EXECUTION:
            if await streams.hand_over(connection, {id_: f"{asked.asked_by} restarts it"}):
                await streams.begin_restart(connection, restart, restart.attempt)
        case TaskState.DELAY_EXECUTION:  # its pause ends
            if await streams.start_now(connection, [id_]):
                await streams.begin_restart(connection, restart, 0)
        case TaskState.QUEUED | TaskState.DISPATCH:  # a new attempt begins anyway
            await streams.begin_restart(connection, restart, 0)
        case _:  # it ended by itself: if it is started again, it does not pause, and that is waited for
            await streams.begin_restart(connection, restart, restart.attempt)
