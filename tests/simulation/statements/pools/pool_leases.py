"""The statements of `dao/pools/pool_leases.py`, and what the triggers of `task_instance` do for resources."""

from __future__ import annotations

import json
from collections.abc import Collection

from dao.postgres.notify import POOL
from model.cluster.nodes import NodeKind
from model.ids import Epoch, TaskInstanceId
from tests.simulation.statements.rows import owns_no_more
from tests.simulation.tables import Transaction, Values


def free(tx: Transaction, attempts: Collection[TaskInstanceId], worker: Epoch) -> int:
    """WHERE task_instance_id = ANY AND worker_id = :worker; the next in line are woken."""
    count = 0
    for row, resource in tx.scan(tx.server.resources.rows):
        if resource.holder in attempts and resource.worker_id == worker:
            tx.update(row, holder=None, worker_id=None, free_since_s=tx.server.now_s)
            count += 1
    if count:
        tx.notes.append((POOL, ""))
    return count


def held(tx: Transaction, worker: Epoch) -> set[TaskInstanceId]:
    return {resource.holder for _, resource in tx.scan(tx.server.resources.rows) if resource.worker_id == worker}


def leave(tx: Transaction, task: Values) -> None:
    """The trigger `task_instance_keeps_resources`, of an attempt that runs no more: only if its worker has no life."""
    if task.resources is not None and task.worker_id is not None and owns_no_more(tx, task.worker_id, NodeKind.WORKER):
        free(tx, [task.id], task.worker_id)


def leases(tx: Transaction, task: Values) -> str | None:
    """The leases of an attempt, as `_OWNED` of `dao/tasks/task_claims.py` reads them."""
    if task.resources is None:
        return None
    found: dict[str, list[dict[str, object]]] = {}
    for _, resource in tx.scan(tx.server.resources.rows):
        if resource.holder == task.id and resource.worker_id == task.worker_id:
            found.setdefault(resource.pool, []).append({"name": resource.name, "data": {}})
    return json.dumps(found) if found else None
