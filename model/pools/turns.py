"""Which waiting attempts get resources of pools now. Pure.

All waiting attempts are visited in one order: by priority, then by age. Each that fits gets its resources. The first
that lacks resources of a pool reserves what is free in all its pools, up to its need, so that attempts that need one
cannot forever overtake one that needs three. Later ones that lack the same pool reserve nothing, so that a wait for
another pool does not block this one. An attempt that waits for resources held by streams reserves only in that pool.
One that could not get its resources even from an empty pool reserves nothing.

A stream goes to the worker with the fewest streams (`model/streams/spread.py`); other workers leave its resources
alone. It is assigned only when its resources are free, so a waiting stream changes no other share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from model.choices import Priority
from model.ids import Epoch, TaskInstanceId, WorkflowInstanceId
from model.streams.spread import Deal

_RANK = {priority: rank for rank, priority in enumerate(Priority)}


@dataclass(frozen=True, slots=True)
class Waiter:
    """A queued attempt. `needs` maps pools to numbers of resources; an empty one needs only a place."""

    workflow_priority: Priority
    workflow_instance_id: WorkflowInstanceId
    task_priority: Priority
    id: TaskInstanceId
    worker_group: str
    needs: Mapping[str, int]
    is_stream: bool = False

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Its sort key among all waiting attempts, the same as in the queue of attempts without resources."""
        return (_RANK[self.workflow_priority], self.workflow_instance_id, _RANK[self.task_priority], self.id)


@dataclass(frozen=True, slots=True)
class PoolRoom:
    """How many resources a pool can give now, and how many if nobody held any. `is_held`: the asking worker locks it,
    so nobody else takes from it meanwhile. `unchecked`: some free ones must be checked first. Streams hold `by_streams`
    of them, and return none by themselves."""

    free: int
    size: int
    is_held: bool
    unchecked: bool = False
    by_streams: int = 0


@dataclass(frozen=True, slots=True)
class Spread:
    """The shares of streams in the worker's groups. `overdue` streams were left to other workers for too long."""

    me: Epoch
    deals: Mapping[str, Deal]
    overdue: Collection[TaskInstanceId] = frozenset()

    def takes(self, stream: Waiter, *, has_place: bool) -> Epoch | None:
        """The worker that should take this stream, which could begin; None: no worker has a place for it."""
        deal = self.deals[stream.worker_group]
        if not has_place:
            deal.leave_out(self.me)
        taker = deal.next()
        return self.me if has_place and stream.id in self.overdue else taker


@dataclass(frozen=True, slots=True)
class Turns:
    """The result. `lacks_places`: the worker could take more if it had more places. `lacks_pools`: more may follow from
    pools that others lock now. `left`: streams that could begin on other workers."""

    given: tuple[Waiter, ...]
    lacks_places: bool
    lacks_pools: bool
    left: tuple[TaskInstanceId, ...] = ()


def turns(
    waiters: Iterable[Waiter],
    rooms: Mapping[str, PoolRoom],
    groups: Collection[str],
    places: int,
    served: Collection[str],
    spread: Spread | None = None,
) -> Turns:
    """Which of `waiters` a worker takes now.

    Args:
        waiters: in any order. Of those without needs only the most urgent of its groups: each uses a place in turn.
        rooms: the existing pools by name.
        groups: the worker groups that it serves.
        places: how many attempts it can begin.
        served: the worker groups that any other worker can serve now. Waiters of other groups reserve nothing.
        spread: for its groups in which streams wait; None: no stream waits.
    """
    free = {name: room.free for name, room in rooms.items()}
    reserved: set[str] = set()
    given: list[Waiter] = []
    left: list[TaskInstanceId] = []
    lacks_places = lacks_pools = False
    for waiter in sorted(waiters, key=lambda each: each.order):
        is_mine = waiter.worker_group in groups
        has_place = is_mine and places > 0
        if not waiter.needs:
            places -= has_place
            continue
        if not all(name in rooms and rooms[name].size >= number for name, number in waiter.needs.items()):
            continue
        short = [name for name, number in waiter.needs.items() if free[name] < number]
        # Streams give back nothing by themselves: what else it needs would stand idle for as long as they run.
        stuck = [name for name in short if rooms[name].size - rooms[name].by_streams < waiter.needs[name]]
        taker = None
        if spread is not None and waiter.is_stream and is_mine and not short:
            taker = spread.takes(waiter, has_place=has_place)
            has_place = taker == spread.me
        if taker is not None and not has_place:
            left.append(waiter.id)
        elif not short:
            if has_place and all(rooms[name].is_held for name in waiter.needs):
                given.append(waiter)
                places -= 1
            elif has_place:
                lacks_pools = True
            elif is_mine:
                lacks_places = True
            if not (has_place or waiter.worker_group in served):
                continue
        elif not (is_mine or waiter.worker_group in served) or reserved.issuperset(short):
            continue
        else:
            reserved.update(stuck or short)
        for name in stuck or waiter.needs:
            free[name] -= min(waiter.needs[name], free[name])
    return Turns(tuple(given), lacks_places, lacks_pools, tuple(left))
