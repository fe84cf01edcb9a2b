"""Spreads streams over the workers of a group as evenly as their free places allow.

Each waiting stream goes to the worker with the fewest; ties go to the oldest worker. Every worker computes the same
shares from the same rows, and takes only its own. Taking streams, in any order, does not change the shares of others,
so no two workers take too much together, and no lock is needed.

Streams that need resources come after those that need only a place, and only if they could begin now: one that waits
for a pool changes no share.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.ids import Epoch


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """A worker that takes streams of a group: how many it runs, and its free places."""

    worker: Epoch
    streams: int
    free: int


class Deal:
    """Assigns waiting streams, one after the other."""

    def __init__(self, workers: Sequence[WorkerLoad]) -> None:
        self._least = [(each.streams, each.worker, each.free) for each in workers if each.free > 0]
        heapq.heapify(self._least)

    def next(self) -> Epoch | None:
        """The worker that takes the next one; None if no worker has a place for it."""
        if not self._least:
            return None
        streams, worker, free = self._least[0]
        if free > 1:
            heapq.heapreplace(self._least, (streams + 1, worker, free - 1))
        else:
            heapq.heappop(self._least)
        return worker

    def leave_out(self, worker: Epoch) -> None:
        """Assign nothing more to a worker, which is full."""
        self._least = [each for each in self._least if each[1] != worker]
        heapq.heapify(self._least)


def shares(waiting: int, workers: Sequence[WorkerLoad]) -> dict[Epoch, int]:
    """How many of the waiting streams each worker takes; none for one without free places."""
    given = {each.worker: 0 for each in workers}
    deal = Deal(workers)
    for _ in range(waiting):
        if (worker := deal.next()) is None:
            break
        given[worker] += 1
    return given


def surplus(workers: Sequence[WorkerLoad], most: int, movable: Mapping[Epoch, int]) -> list[Epoch]:
    """The workers from which a stream should move, at most `most` moves; a worker may occur several times, at most as
    often as it has `movable` streams.

    A stream moves only to a worker with at least two fewer, so every move evens out the load and none is ever undone.
    """
    streams = {each.worker: each.streams for each in workers}
    free = {each.worker: each.free for each in workers}
    left = {worker: movable.get(worker, 0) for worker in streams}
    moves: list[Epoch] = []
    for _ in range(most):
        targets = [worker for worker in streams if free[worker] > 0]
        sources = [worker for worker in streams if left[worker] > 0]
        if not targets or not sources:
            break
        target = min(targets, key=lambda worker: (streams[worker], worker))
        source = max(sources, key=lambda worker: (streams[worker], worker))
        if streams[source] - streams[target] < 2:
            break
        moves.append(source)
        left[source] -= 1
        streams[source], free[source] = streams[source] - 1, free[source] + 1
        streams[target], free[target] = streams[target] + 1, free[target] - 1
    return moves
