"""Whose turn it is at the resource pools: which waiting attempts get their resources now. Pure.

All that waits is walked in one order: by priority, then by age. What fits gets its resources. The first that is short
of a pool reserves what there is of all its pools, up to what it needs, so that one that needs three is not overtaken
for ever by many that need one; later ones that are short of the same pool reserve nothing, so that what waits for
another pool does not hold up this one. What waits for resources that streams hold reserves only in that pool. What
could not get its resources even if nobody had any reserves nothing.

A stream whose turn it is goes to the worker with the fewest streams (`model/streams/spread.py`): to others its
resources are left. It is dealt out only when its resources are there, so one that waits changes nobody's share of the
others.
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
    """A queued attempt. `needs` is how many resources of which pools; of none: it needs only a place."""

    workflow_priority: Priority
    workflow_instance_id: WorkflowInstanceId
    task_priority: Priority
    id: TaskInstanceId
    worker_group: str
    needs: Mapping[str, int]
    is_stream: bool = False

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Its place among all that waits, as in the queue of what needs no resources."""
        return (_RANK[self.workflow_priority], self.workflow_instance_id, _RANK[self.task_priority], self.id)


@dataclass(frozen=True, slots=True)
class PoolRoom:
    """How many resources a pool can give now, and how many it could if nobody had any. `is_held`: by the asking worker,
    so that nobody else gives out of it meanwhile. `unchecked`: some are free and are to be checked before. Streams hold
    `by_streams` of them, and give back nothing by themselves."""

    free: int
    size: int
    is_held: bool
    unchecked: bool = False
    by_streams: int = 0


@dataclass(frozen=True, slots=True)
class Spread:
    """How the streams of the asking worker's groups are dealt out. `overdue` are those that were left to others
    for too long."""

    me: Epoch
    deals: Mapping[str, Deal]
    overdue: Collection[TaskInstanceId] = frozenset()

    def takes(self, stream: Waiter, *, has_place: bool) -> Epoch | None:
        """The worker that is to take this one, which could begin; None: no worker has a place for it."""
        deal = self.deals[stream.worker_group]
        if not has_place:
            deal.leave_out(self.me)
        taker = deal.next()
        return self.me if has_place and stream.id in self.overdue else taker


@dataclass(frozen=True, slots=True)
class Turns:
    """Whose turn it is. `lacks_places`: there would be more if the worker had more places. `lacks_pools`: there may
    be more, of pools that others hold just now. `left` are streams that could begin and are others' to take."""

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
    """Which of `waiters` a worker of these groups with so many free places takes now.

    Args:
        waiters: in any order. Of those without needs the most urgent of its groups: each uses a place, in its turn.
        rooms: the pools that exist, by name.
        groups: the worker groups that it serves.
        places: how many attempts it can begin.
        served: the worker groups that somebody else can serve now. Waiters of other groups reserve nothing.
        spread: of its groups in which streams wait; None: no stream does.
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
