"""How streams are spread over the workers of a group, as evenly as their free places allow.

Each waiting stream goes to the worker that has fewest; of several to the one that has lived longest. Every worker
computes the same shares from the same rows, and takes only its own. What one takes does not change the shares of the
others, in whatever order they take, so no two of them together take too much, and nobody has to hold a lock.

Streams that need resources are dealt out after those that need only a place, and only those that could begin now: one
that waits for a pool changes nobody's share.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.ids import Epoch


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """A worker that takes streams of a group: how many of them it runs, and how many places it has left."""

    worker: Epoch
    streams: int
    free: int


class Deal:
    """Deals waiting streams out, one after the other."""

    def __init__(self, workers: Sequence[WorkerLoad]) -> None:
        self._least = [(each.streams, each.worker, each.free) for each in workers if each.free > 0]
        heapq.heapify(self._least)

    def next(self) -> Epoch | None:
        """The worker that is to take the next one; None if no worker has a place for it."""
        if not self._least:
            return None
        streams, worker, free = self._least[0]
        if free > 1:
            heapq.heapreplace(self._least, (streams + 1, worker, free - 1))
        else:
            heapq.heappop(self._least)
        return worker

    def leave_out(self, worker: Epoch) -> None:
        """It has no more places: what follows goes to others."""
        self._least = [each for each in self._least if each[1] != worker]
        heapq.heapify(self._least)


def shares(waiting: int, workers: Sequence[WorkerLoad]) -> dict[Epoch, int]:
    """How many of so many waiting streams each worker is to take; none for one without free places."""
    given = {each.worker: 0 for each in workers}
    deal = Deal(workers)
    for _ in range(waiting):
        if (worker := deal.next()) is None:
            break
        given[worker] += 1
    return given


def surplus(workers: Sequence[WorkerLoad], most: int, movable: Mapping[Epoch, int]) -> list[Epoch]:
    """The workers from which a stream is to move, at most so many moves; a worker that gives several is there so often,
    but not more often than it has `movable` ones.

    A stream moves only from a worker to one that has at least two less, so every move makes it more even and none is
    ever undone.
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
