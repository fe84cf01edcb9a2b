"""Assigns the streams that need resources, as one worker sees it.

Each worker computes it alone, as for other streams (`worker/claims/streams.py`), and remembers what it left to others:
it takes a stream itself that nobody took for too long, for example because a worker hangs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dao.cluster.node_rows import NodeRow
from dao.postgres.database import FencedTransaction
from dao.streams import stream_claims
from dao.streams.stream_claims import OVERDUE
from model.ids import Epoch, TaskInstanceId
from model.pools.turns import Spread, Turns, Waiter
from model.streams.spread import Deal, WorkerLoad
from worker.claims.streams import loads_with


class LeasedStreams:
    """The streams with resources of these worker groups. Times are seconds of the caller's clock."""

    def __init__(self, groups: Sequence[str]) -> None:
        self._groups = frozenset(groups)
        self._left_since_s: Mapping[TaskInstanceId, float] = {}

    async def spread(
        self,
        connection: FencedTransaction,
        waiters: Sequence[Waiter],
        others: Sequence[NodeRow],
        epoch: Epoch,
        places: int,
        now_s: float,
    ) -> Spread | None:
        """How the streams among `waiters` are assigned; None if no waiter of its groups is a stream.

        Args:
            others: the other living nodes.
            epoch: the asking node, with `places` free places.
        """
        mine: dict[str, list[Waiter]] = {}
        for each in sorted(waiters, key=lambda each: each.order):
            if each.is_stream and each.worker_group in self._groups:
                mine.setdefault(each.worker_group, []).append(each)
        if not mine:
            return None
        counts = await stream_claims.count(connection, sorted(mine))
        deals: dict[str, Deal] = {}
        overdue: set[TaskInstanceId] = set()
        for group, streams in mine.items():
            loads = loads_with(epoch, group, counts[group], others, places)
            deals[group] = _deal(counts[group].waiting, loads)
            late = [each.id for each in streams if self._is_overdue(each.id, now_s)]
            overdue.update(late[: -(-len(late) // len(loads))])  # some only: other workers find them overdue too
        return Spread(epoch, deals, overdue)

    def note(self, turns: Turns, now_s: float) -> None:
        """Remember since when streams are left to others. Pools that were not locked bring no news."""
        left = {id_: self._left_since_s.get(id_, now_s) for id_ in turns.left}
        self._left_since_s = {**self._left_since_s, **left} if turns.lacks_pools else left

    def _is_overdue(self, id_: TaskInstanceId, now_s: float) -> bool:
        return now_s - self._left_since_s.get(id_, now_s) > OVERDUE.total_seconds()


def _deal(before: int, loads: Sequence[WorkerLoad]) -> Deal:
    """A deal after this many streams that need only a place."""
    deal = Deal(loads)
    for _ in range(before):
        if deal.next() is None:
            break
    return deal
