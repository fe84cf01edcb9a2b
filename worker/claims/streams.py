"""Claims streams in a transaction of its own, only when some wait.

A worker takes its share (`model/streams/spread.py`), as far as it has places. Streams precede other tasks: if places
are missing, they are left free for the rest of the share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from dao.cluster import nodes
from dao.cluster.node_rows import NodeRow
from dao.streams import stream_claims
from dao.streams.stream_claims import GroupStreams
from dao.tasks.task_claims import ClaimedTask
from model.ids import Epoch
from model.streams.spread import WorkerLoad, shares
from node.life import Life
from node.stream_workers import loads_of


class StreamClaims:
    """The streams that one worker takes."""

    def __init__(self, life: Life, groups: tuple[str, ...]) -> None:
        self.groups = groups
        self.queued = False
        """Whether streams may wait."""
        self.reserved = 0
        """How many places other tasks must leave free for streams."""
        self._life = life

    def note(self, *, waits: bool) -> None:
        """Record whether a poll found waiting streams."""
        self.queued = waits
        if not waits:
            self.reserved = 0

    async def claim(self, free: int) -> list[ClaimedTask]:
        """Take this worker's share of the waiting streams, at most `free`. Raises what `Life.writing` raises."""
        async with self._life.writing() as connection:
            found = await stream_claims.count(connection, self.groups)
            waiting = {group: each for group, each in found.items() if each.waiting}
            if not waiting:
                self.reserved = 0
                return []
            living = await nodes.living(connection)
            wanted = {
                group: share_of(self._life.me.epoch, group, streams, living, free) for group, streams in waiting.items()
            }
            self.reserved = sum(each.lacking for each in wanted.values())
            limits = _limited({group: each.now for group, each in wanted.items()}, free)
            return await stream_claims.claim(connection, limits, self._life.me.epoch) if limits else []


def loads_with(me: Epoch, group: str, streams: GroupStreams, living: Sequence[NodeRow], free: int) -> list[WorkerLoad]:
    """The workers that take streams of a group. This worker knows its own free places best. Workers on which streams
    fail take none while others have places. Pure."""
    loads = [each for each in loads_of(group, streams.running, living) if each.worker != me]
    loads.append(WorkerLoad(me, streams.running.get(me, 0), free))
    fine = [each for each in loads if each.worker not in streams.troubled]
    return fine if any(each.free > 0 for each in fine) else loads


class Share(NamedTuple):
    """A worker's share of a group's waiting streams: how many it takes now, and for how many more it lacks places."""

    now: int
    lacking: int


def share_of(me: Epoch, group: str, streams: GroupStreams, living: Sequence[NodeRow], free: int) -> Share:
    """The share of a worker with `free` places. Pure.

    It includes some streams that have waited too long for another worker, which does not take them.
    """
    loads = loads_with(me, group, streams, living, free)
    now = shares(streams.waiting, loads).get(me, 0)
    if streams.is_overdue:
        now = max(now, min(free, -(-streams.waiting // len(loads))))
    in_the_end = shares(streams.waiting, [replace(each, free=streams.waiting) for each in loads]).get(me, 0)
    return Share(now, max(0, in_the_end - max(now, free)))


def _limited(wanted: Mapping[str, int], free: int) -> dict[str, int]:
    """Reduce the numbers to the free places in total."""
    limits = {}
    for group, number in wanted.items():
        limits[group] = min(number, free)
        free -= limits[group]
    return {group: number for group, number in limits.items() if number > 0}
