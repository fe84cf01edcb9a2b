"""The statements of `dao/pools/pool_claims.py`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from dao.pools.pool_claims import FREE_READ_MAX
from dao.tasks.task_claims import ClaimedTask
from model.ids import Epoch, TaskInstanceId
from model.pools.turns import PoolRoom, Waiter
from model.runs.queue_places import Places
from model.runs.states import TaskState
from tests.simulation.statements.tasks.task_claims import claimed_task, is_searched
from tests.simulation.tables import Row, Transaction, Values

T = TaskState
LAPSE_S = 2.0
"""Without the protection `lease` a lease lapses when its worker has not beaten for this long."""


def waiting(tx: Transaction) -> list[tuple[Row, Values]]:
    """The rows of `pool_line`, which triggers keep like this."""
    queued = tx.scan(tx.server.tasks.unfinished)
    return [(row, task) for row, task in queued if task.state is T.QUEUED and task.resources is not None]


def hold_pools(tx: Transaction, groups: Sequence[str], worker: Epoch) -> dict[str, bool]:
    """The pools for which these groups wait, in their order, FOR NO KEY UPDATE SKIP LOCKED."""
    node = tx.get(tx.server.nodes, worker)
    if node is not None and (node.kind, node.name or node.address) in tx.server.drains:
        return {}
    wanted = {name for _, task in waiting(tx) if task.worker_group in groups for name in json.loads(task.resources)}
    pools = tx.server.pools.rows
    holds = tx.server.protections.pools_held
    return {name: not holds or tx.try_lock(pools[name]) for name in sorted(wanted & pools.keys())}


def rooms(tx: Transaction, held: Mapping[str, bool]) -> dict[str, PoolRoom]:
    found = {}
    for name in {name for _, task in waiting(tx) for name in json.loads(task.resources)} & tx.server.pools.rows.keys():
        own = [resource for _, resource in tx.scan(tx.server.resources.rows) if resource.pool == name]
        free, by_streams = sum(_is_free(tx, each) for each in own), sum(_is_of_stream(tx, each) for each in own)
        found[name] = PoolRoom(free, len(own), held.get(name, False), by_streams=by_streams)
    return dict(sorted(found.items()))


def _is_of_stream(tx: Transaction, resource: Values) -> bool:
    holder = None if resource.holder is None else tx.get(tx.server.tasks, resource.holder)
    return holder is not None and holder.stream is not None and holder.state in (T.DISPATCH, T.RUNNING_EXECUTION)


def waiters(
    tx: Transaction,
    rooms: Mapping[str, PoolRoom],
    groups: Sequence[str],
    served: Collection[str],
    places: int,
    plain: Places | None = None,
) -> list[Waiter]:
    """Of each line of a held pool, among equal needs the first, as many as may get it and one more; none that needs
    more than there is. Of each place in the queue of the others, as many as have a place."""
    kinds: dict[tuple[str, str, str], list[Waiter]] = {}
    for _, task in waiting(tx):
        needs = json.loads(task.resources)
        if task.worker_group in {*groups, *served} and _fits(rooms, needs):
            for name in needs:
                kinds.setdefault((name, task.worker_group, task.resources), []).append(_waiter(task))
    found: dict[TaskInstanceId, Waiter] = {}
    for (name, *_), line in kinds.items():
        if rooms[name].is_held:
            first = sorted(line, key=_order)[: min(rooms[name].free, FREE_READ_MAX) + 1]
            found |= {waiter.id: waiter for waiter in first}
    return [*found.values(), *_plain_ones(tx, groups, places, plain)]


def _fits(rooms: Mapping[str, PoolRoom], needs: Mapping[str, int]) -> bool:
    """Whether there are enough, held or not, as far as they had been read."""
    return all(name in rooms and rooms[name].size >= number for name, number in needs.items())


def _plain_ones(tx: Transaction, groups: Sequence[str], places: int, plain: Places | None) -> list[Waiter]:
    searched: dict[tuple[str, str], list[Waiter]] = {}
    for _, task in tx.scan(tx.server.tasks.unfinished):
        if task.state is T.QUEUED and task.is_plain and is_searched(task, groups, plain):
            searched.setdefault((task.workflow_priority, task.worker_group), []).append(_waiter(task))
    return [waiter for queue in searched.values() for waiter in sorted(queue, key=_order)[:places]]


def _waiter(task: Values) -> Waiter:
    return Waiter(
        task.workflow_priority,
        task.workflow_instance_id,
        task.task_priority,
        task.id,
        task.worker_group,
        json.loads(task.resources or "{}"),
        task.resources is not None and task.stream is not None,
    )


def _order(waiter: Waiter) -> tuple[int, int, int, int]:
    return waiter.order


def claim(tx: Transaction, given: Sequence[Waiter], worker: Epoch) -> list[ClaimedTask]:
    """FOR UPDATE SKIP LOCKED of the attempts; the free resources that were longest free; the trigger leaves out an
    attempt without all of its leases."""
    claimed = []
    for waiter in given:
        row = tx.server.tasks.rows[waiter.id]
        if not tx.try_lock(row):
            continue
        task = tx.see(row)
        if task is None or task.state is not T.QUEUED:
            continue
        taken = [each for name, number in sorted(waiter.needs.items()) for each in _free_of(tx, name)[:number]]
        if len(taken) < sum(waiter.needs.values()):
            continue
        for resource in taken:
            tx.update(resource, holder=waiter.id, worker_id=worker)
        state = T.RUNNING_EXECUTION if task.write_ahead else T.DISPATCH
        started_s = tx.server.now_s if task.write_ahead else None
        changes = {"state": state, "worker_id": worker, "started_s": started_s, "handover": None}
        claimed.append(claimed_task(tx, tx.update(row, **changes)))
    return claimed


def _free_of(tx: Transaction, pool: str) -> list[Row]:
    """Without `pools_held` it takes, as it would without the lock and the condition, what was free when it began."""
    see = tx.see if tx.server.protections.pools_held else tx.see_as_before
    seen = [(row, see(row)) for row in tx.server.resources.rows.values()]
    free = [
        (resource.free_since_s, row.id, row)
        for row, resource in seen
        if resource is not None and resource.pool == pool and _is_free(tx, resource)
    ]
    return [row for *_, row in sorted(free, key=lambda each: each[:2])]


def _is_free(tx: Transaction, resource: Values) -> bool:
    if resource.holder is None or tx.server.protections.lease:
        return resource.holder is None
    beat = tx.get(tx.server.beats, resource.worker_id)
    return beat is None or tx.server.now_s - beat.beaten_s > LAPSE_S
