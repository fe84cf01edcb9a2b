"""The operations that show masters, workers and worker groups, and which master has which slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dao.cluster import node_listings
from dao.cluster.rows import FencedNode
from dao.commands import queue_listings
from model.accounts.rights import Right
from model.cluster.nodes import NodeState, NodeStatus
from service.call import Call
from service.cluster.drains import DrainState
from service.fields import Answer, Id
from service.operation import operation
from service.paging import ItemsOf
from service.slots.slot_report import MasterSlot, SlotReport, read_slots

if TYPE_CHECKING:
    from dao.cluster.node_rows import NodeRow
    from dao.commands.queue_listings import GroupQueue


class NodeAnswer(Answer):
    """A living master or worker, and what it says of itself.

    `running` counts the runs of a master, the tasks of a worker; `capacity` is the most of them. `because` is why it is
    BUSY. `load` is the machine's load of one minute for each core. `drain`: it is to take nothing new; its `status` is
    that of its load all the same.
    """

    epoch: Id
    name: str
    address: str
    state: NodeState
    beat_age_s: float
    log_url: str | None = None
    status: NodeStatus | None = None
    running: int | None = None
    capacity: int | None = None
    load: float | None = None
    because: str | None = None
    groups: Sequence[str] | None = None
    drain: DrainState | None = None

    @classmethod
    def of(cls, row: NodeRow) -> NodeAnswer:
        return cls(**_fields_of(row))

    @property
    def condition(self) -> str:
        """LEAVING, DRAINING, BUSY or ALIVE, for people."""
        if self.state is not NodeState.ALIVE:
            return self.state
        if self.drain is not None:
            return "DRAINING"
        return NodeStatus.BUSY if self.busy_because else self.state

    @property
    def busy_because(self) -> str:
        """Why it takes nothing new; empty if it does."""
        return (self.because or "") if self.state is NodeState.ALIVE else ""


class MasterAnswer(NodeAnswer):
    """A master with the number of its slot, and the slot that it assumes itself (`believes`, such as `0/2`)."""

    slot: int | None = None
    believes: str | None = None
    agrees: bool
    in_registry: bool

    @classmethod
    def of_slot(cls, master: MasterSlot) -> MasterAnswer:
        return cls(
            **_fields_of(master.row),
            slot=master.slot.current if master.slot else None,
            believes=str(master.believes) if master.believes else None,
            agrees=master.agrees,
            in_registry=master.in_registry,
        )


class FencedAnswer(Answer, FencedNode):
    """A master that was fenced."""


class SlotsAnswer(Answer):
    """The slots of all masters, and the masters that were fenced most recently.

    `registry_fault` is why the registry could not be read; the slots come from the database alone then.
    """

    total: int
    masters: Sequence[MasterAnswer]
    fenced: Sequence[FencedAnswer]
    registry_fault: str | None = None

    @classmethod
    def of(cls, found: SlotReport) -> SlotsAnswer:
        masters = [MasterAnswer.of_slot(each) for each in found.masters]
        fenced = [FencedAnswer.model_validate(each) for each in found.fenced]
        return cls(total=found.total, masters=masters, fenced=fenced, registry_fault=found.registry_fault)


class WorkerGroupAnswer(Answer):
    """A worker group: its waiting and running tasks, and the places of its living workers.

    `free_places` are those of the workers that are neither BUSY nor drained; a worker with several groups offers its
    places to each.
    """

    worker_group: str
    waiting: int = 0
    oldest_s: float | None = None
    running: int = 0
    workers: int = 0
    busy_workers: int = 0
    drained_workers: int = 0
    places: int = 0
    free_places: int = 0


@operation("GET", "/slots", Right.VIEW_CLUSTER, "cluster")
async def get_slots(call: Call) -> SlotsAnswer:
    """Show the slot of each master, as it is and as the master itself assumes, and the last fenced masters."""
    registered = await call.backend.registered.read()
    return SlotsAnswer.of(await call.read(read_slots, registered))


@operation("GET", "/masters", Right.VIEW_CLUSTER, "cluster")
async def list_masters(call: Call) -> ItemsOf[NodeAnswer]:
    """List the living masters, and how full they are."""
    found = await call.read(node_listings.masters)
    return ItemsOf[NodeAnswer](items=[NodeAnswer.of(row) for row in found])


@operation("GET", "/workers", Right.VIEW_CLUSTER, "cluster")
async def list_workers(call: Call) -> ItemsOf[NodeAnswer]:
    """List the living workers: their groups, and how full they are."""
    found = await call.read(node_listings.workers)
    return ItemsOf[NodeAnswer](items=[NodeAnswer.of(row) for row in found])


@operation("GET", "/worker-groups", Right.VIEW_CLUSTER, "cluster")
async def list_worker_groups(call: Call) -> ItemsOf[WorkerGroupAnswer]:
    """List the worker groups: what waits and runs there, and how many places are free.

    It has those with a worker, or with a task that waits or runs.
    """
    async with call.reading() as connection:
        queue = await queue_listings.queue_by_group(connection)
        living = await node_listings.workers(connection)
    return ItemsOf[WorkerGroupAnswer](items=groups_of(queue, living))


def groups_of(queue: Sequence[GroupQueue], workers: Sequence[NodeRow]) -> list[WorkerGroupAnswer]:
    """The groups with work or workers, by name. Pure."""
    work = {each.worker_group: each for each in queue}
    serving: dict[str, list[NodeRow]] = {}
    for row in workers:
        for group in row.heartbeat.groups if row.heartbeat else ():
            serving.setdefault(group, []).append(row)
    return [_group(name, work.get(name), serving.get(name, ())) for name in sorted(work.keys() | serving.keys())]


def _group(name: str, work: GroupQueue | None, workers: Sequence[NodeRow]) -> WorkerGroupAnswer:
    beats = [row.heartbeat for row in workers if row.heartbeat is not None]
    taking = [
        row.heartbeat
        for row in workers
        if row.heartbeat is not None
        and (row.state, row.heartbeat.status, row.drain) == (NodeState.ALIVE, NodeStatus.NORMAL, None)
    ]
    return WorkerGroupAnswer(
        worker_group=name,
        waiting=work.waiting if work else 0,
        oldest_s=work.oldest_s if work else None,
        running=work.running if work else 0,
        workers=len(beats),
        busy_workers=sum(beat.is_overloaded for beat in beats),
        drained_workers=sum(row.drain is not None for row in workers),
        places=sum(beat.capacity for beat in beats),
        free_places=sum(max(0, beat.capacity - beat.running) for beat in taking),
    )


def _fields_of(row: NodeRow) -> dict[str, object]:
    fields: dict[str, object] = {
        "epoch": row.epoch,
        "name": row.shown,
        "address": row.address,
        "state": row.state,
        "beat_age_s": row.beat_age_s,
        "log_url": row.log_url,
        "drain": None if row.drain is None else DrainState.of(row.drain, row),
    }
    if (beat := row.heartbeat) is not None:
        status = NodeStatus.BUSY if beat.is_overloaded else NodeStatus.NORMAL
        fields |= {"status": status, "running": beat.running, "capacity": beat.capacity, "load": beat.load}
        fields |= {"because": beat.because or None, "groups": beat.groups or None}
    return fields
