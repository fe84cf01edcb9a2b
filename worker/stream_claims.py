"""The claim of streams: a transaction of its own, run only when some wait.

A worker takes its share (`model/spread.py`), as far as it has places. Streams go before other tasks: for those that its
share has and that find no place, places are left free as they become so.
"""

from __future__ import annotations

from collections.abc import Sequence

from dao.cluster import nodes
from dao.cluster.nodes import NodeRow
from dao.tasks import stream_claims
from dao.tasks.stream_claims import GroupStreams
from dao.tasks.task_claims import ClaimedTask
from model.ids import Epoch
from model.spread import WorkerLoad, shares
from node.life import Life
from node.stream_workers import loads_of


class StreamClaims:
    """The streams that one worker takes."""

    def __init__(self, life: Life, groups: Sequence[str]) -> None:
        self.queued = False
        """Whether streams may wait."""
        self.reserved = 0
        """How many places other tasks are to leave free for streams."""
        self._life = life
        self._groups = groups

    def note(self, *, waits: bool) -> None:
        """Whether streams wait now, as a poll has found."""
        self.queued = waits
        if not waits:
            self.reserved = 0

    async def claim(self, free: int) -> list[ClaimedTask]:
        """Take this worker's share of the waiting streams, for its free places. Raises what `Life.writing` raises."""
        async with self._life.writing() as connection:
            found = await stream_claims.count(connection, self._groups)
            waiting = {group: each for group, each in found.items() if each.waiting}
            if not waiting:
                self.reserved = 0
                return []
            living = await nodes.living(connection)
            wanted: dict[str, int] = {}
            for group, streams in waiting.items():
                wanted[group] = share_of(self._life.me.epoch, group, streams, living, free)
            self.reserved = max(0, sum(wanted.values()) - free)
            limits = _limited(wanted, free)
            return await stream_claims.claim(connection, limits, self._life.me.epoch) if limits else []


def share_of(me: Epoch, group: str, streams: GroupStreams, living: Sequence[NodeRow], free: int) -> int:
    """How many of the waiting streams of a group a worker is to take, or would with more places. Pure."""
    if streams.is_overdue:
        return streams.waiting
    others = [each for each in loads_of(group, streams.running, living) if each.worker != me]
    here = streams.running.get(me, 0)
    share = shares(streams.waiting, [*others, WorkerLoad(me, here, free)])[me]
    if share == free:  # with places for all of them, others may have less
        unlimited = [WorkerLoad(each.worker, each.streams, streams.waiting) for each in others if each.free > 0]
        share = max(share, shares(streams.waiting, [*unlimited, WorkerLoad(me, here, streams.waiting)])[me])
    return share


def _limited(wanted: dict[str, int], free: int) -> dict[str, int]:
    """The same with no more than the free places in all."""
    limits = {}
    for group, number in wanted.items():
        limits[group] = min(number, free)
        free -= limits[group]
    return {group: number for group, number in limits.items() if number > 0}
