"""Tasks that need resources: a claim with all its leases, in the order of `worker/claims/pools.py`, and their ends."""

from __future__ import annotations

import json
from math import inf

from dao.cluster import nodes
from dao.pools import pool_claims, pool_leases
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.streams import streams
from dao.tasks import lost_tasks, task_claims, task_instances
from dao.tasks.task_instances import NewTask
from model.choices import Priority
from model.cluster.nodes import NodeKind
from model.ids import WorkflowInstanceId
from model.pools.turns import turns
from model.runs.queue_places import Places
from tests.bridge import people, workers
from tests.bridge.masters import TASKS, new_task
from tests.bridge.program import Program
from tests.bridge.workers import GROUPS
from tests.simulation.statements.rows import RUNNING
from tests.simulation.tables import Transaction, Values

POOLS = {"a": 2, "b": 3}
_RESOURCES = [(pool, f"{pool}{number}") for pool, size in POOLS.items() for number in range(size)]
_NEEDS = ({"a": 1}, {"a": 1}, {"b": 1}, {"a": 2}, {"b": 2}, {"a": 1, "b": 2}, {"a": 3}, {"a": 1, "c": 1})
"""Also more than there are, and of a pool that is not there."""


async def make(connection: AsyncConnection) -> None:
    """The pools, with all free."""
    names = Sql("INSERT INTO resource_pool (name) SELECT unnest(CAST(:pools AS text[]))")
    await connection.execute(names, {"pools": list(POOLS)})
    resource = Sql("""
        INSERT INTO pool_resource (pool_code, name, place)
        SELECT p.code, r.name, r.place
        FROM unnest(CAST(:pools AS text[]), CAST(:names AS text[])) WITH ORDINALITY AS r (pool, name, place)
        JOIN resource_pool p ON p.name = r.pool ORDER BY r.place
    """)
    pools, names_ = zip(*_RESOURCES, strict=True)
    await connection.execute(resource, {"pools": list(pools), "names": list(names_)})


def make_in_model(tx: Transaction) -> None:
    for pool in POOLS:
        tx.insert(tx.server.pools, pool, Values(name=pool))
    for pool, name in _RESOURCES:
        free = Values(pool=pool, name=name, holder=None, worker_id=None, free_since_s=-inf)
        tx.insert(tx.server.resources, name, free)


async def queue(p: Program) -> None:
    me = await p.licensed(NodeKind.MASTER, p.drivers())
    owned = p.owned(me)
    new = [_new_task(p, id_, code) for id_, _ in (p.some(owned) if owned else []) for code in p.some(TASKS)]
    if new:
        await p.call(task_instances.queue, new, me.epoch)


def _new_task(p: Program, id_: WorkflowInstanceId, code: int) -> NewTask:
    stream = "{}" if p.chance(0.3) else None
    return new_task(p, id_, code)._replace(resources=json.dumps(p.random.choice(_NEEDS)), stream=stream)


async def claim(p: Program) -> None:
    me = await p.licensed(NodeKind.WORKER)
    groups = p.random.choice((GROUPS, GROUPS, GROUPS[:1], GROUPS[1:]))
    served = set(p.random.choice(((), GROUPS)))
    held = await p.call(pool_claims.hold_pools, groups, me.epoch)
    rooms = await p.call(pool_claims.rooms, held)
    places = p.random.choice((1, 2, 4))
    found = await p.call(pool_claims.waiters, rooms, groups, served, places, _plain(p))
    given = turns(found, rooms, groups, places, served).given
    await p.call(pool_claims.claim, given, me.epoch)


def _plain(p: Program) -> Places | None:
    """Where it may believe that other tasks wait."""
    if p.chance(0.5):
        return None
    return {priority: dict.fromkeys(p.some(GROUPS), p.random.choice((0, 3))) for priority in p.some(list(Priority))}


def _busy(p: Program) -> set[int]:
    """The workers that run what has resources."""
    return {task.worker_id for _, task in p.rows(p.server.tasks, lambda task: task.resources and task.state in RUNNING)}


async def end(p: Program) -> None:
    """End attempts with and without resources."""
    await workers.report(p, _busy(p))


async def lose(p: Program) -> None:
    """A worker with all that it has; another comes."""
    await p.call(nodes.set_left, p.node(NodeKind.WORKER, _busy(p)), broke=True)
    await p.call(lost_tasks.mark_lost, 100)
    await people.begin_a_life(p, NodeKind.WORKER)


async def compare(p: Program) -> None:
    """A worker gives back what it has for attempts that it does not run; what others have is not its own to give."""
    me = await p.licensed(NodeKind.WORKER)
    others = {task.id for _, task in p.rows(p.server.tasks) if task.resources and task.worker_id != me.epoch}
    owned = {task.id for task in await p.call(task_claims.owned, me.epoch)}
    held = await p.call(pool_leases.held, me.epoch)
    await p.call(pool_leases.free, (held - owned) | others, me.epoch)


async def look(p: Program) -> None:
    """Make the calls with which a master reads pools."""
    await p.call(streams.living)
    await p.call(streams.first_in_line)


ACTIONS = ((queue, 40), (claim, 60), (end, 35), (lose, 10), (compare, 10), (look, 15))
