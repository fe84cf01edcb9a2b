"""Whether a worker took more streams than its share: judged by the tables, at the commit of its claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from model.ids import Epoch
from model.nodes import NodeKind, NodeState
from model.spread import WorkerLoad, shares
from tests.simulation.tables import Values

if TYPE_CHECKING:
    from tests.simulation.server import Server


def took_too_many(server: Server, worker: Epoch, taken: list[Values], is_innocent: Callable[[int], bool]) -> str | None:
    """I25: of a claim of streams, which has been committed: whether it took more than this worker's share, by what all
    others could see. Workers to which something was done just now do not count."""
    tasks = [row.values for row in server.tasks.unfinished.values() if row.values is not None]
    here = [task for task in tasks if task.stream is not None and task.worker_group == taken[0].worker_group]
    ran = Counter(task.worker_id for task in here if task.worker_id is not None)
    waiting = len(taken) + sum(1 for task in here if task.worker_id is None and task.state == "QUEUED")
    loads = [WorkerLoad(worker, ran[worker] - len(taken), waiting)]
    for row in server.nodes.unfinished.values():
        beat = server.beats.rows[row.id].values
        said = None if beat is None else beat.heartbeat
        is_free = said is not None and said.status == "NORMAL" and said.capacity - said.running >= waiting
        if row.id != worker and is_free and _takes_streams(server, row.values) and is_innocent(row.id):
            loads.append(WorkerLoad(row.id, ran[row.id], waiting))
    share = shares(waiting, loads)[worker]
    is_overdue = any(task.queued_s < server.now_s - 8 for task in [*taken, *here])
    if len(taken) > share + 1 and not is_overdue:
        return f"worker {worker} took {len(taken)} streams, though its share was {share}"
    return None


def _takes_streams(server: Server, node: Values | None) -> bool:
    is_alive = node is not None and node.kind is NodeKind.WORKER and node.state is NodeState.ALIVE
    return is_alive and node is not None and (node.kind, node.name or node.address) not in server.drains
