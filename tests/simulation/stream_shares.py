"""Whether a worker took more streams than its share: judged by the tables, at the commit of its claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from model.cluster.nodes import Heartbeat, NodeKind, NodeState, NodeStatus
from model.ids import Epoch
from model.streams.spread import WorkerLoad, shares
from node.stream_workers import SILENT_BEATS
from tests.simulation.pool_invariants import could_begin
from tests.simulation.statements.streams.stream_claims import early_ends
from tests.simulation.tables import Transaction, Values
from worker.claims.pools import OTHERS_FOR_S

if TYPE_CHECKING:
    from tests.simulation.server import Server


LATE_S = 8.0
"""After this wait, any worker may soon take the stream."""


def took_too_many(
    server: Server, taken: list[Values], began_s: float, is_innocent: Callable[[int], bool]
) -> str | None:
    """I25: of a claim of streams that began then, and has been committed: whether it took more than its worker's share,
    by what it could see. Neither workers to which something was done just now count, nor those that have beaten since
    (their beats may have been stale when it read them; for what needs resources it reads them once a second), nor those
    on which streams fail, nor what waits for a pool."""
    worker: Epoch = taken[0].worker_id
    tasks = [row.values for row in server.tasks.unfinished.values() if row.values is not None]
    streams = [task for task in tasks if task.stream is not None and not task.state.is_final]
    here = [task for task in streams if task.worker_group == taken[0].worker_group]
    with_leases = taken[0].resources is not None
    ran = Counter(task.worker_id for task in here if task.worker_id is not None)
    queued = [task for task in here if task.worker_id is None and task.state == "QUEUED"]
    waiting = len(taken) + sum(task.resources is None or (with_leases and could_begin(server, task)) for task in queued)
    loads = [WorkerLoad(worker, ran[worker] - len(taken), waiting)]
    doubted = {end.worker for end in early_ends(Transaction(server)) if end.group == taken[0].worker_group}
    for row in server.nodes.unfinished.values():
        beat = server.beats.rows[row.id].values
        is_free = (
            beat is not None
            and beat.beaten_s <= began_s
            and _is_free(beat.heartbeat, server.now_s - beat.beaten_s, waiting)
            and (not with_leases or _was_heard(beat, began_s - OTHERS_FOR_S))
        )
        takes = row.id != worker and row.id not in doubted and is_free and _takes_streams(server, row.values)
        if takes and is_innocent(row.id):
            loads.append(WorkerLoad(row.id, ran[row.id], waiting))
    share = shares(waiting, loads)[worker]
    is_overdue = any(_is_overdue(server, task) for task in taken if with_leases) or (
        not with_leases and any(task.queued_s < server.now_s - LATE_S for task in [*taken, *here])
    )
    if len(taken) > share + 1 and not is_overdue:
        return f"worker {worker} took {len(taken)} streams, though its share was {share}"
    return None


def _is_free(said: Heartbeat | None, age_s: float, places: int) -> bool:
    """Whether a worker with this beat has places, and cannot be dead."""
    if said is None or not _is_heard(said, age_s):
        return False
    return said.status == NodeStatus.NORMAL and said.capacity - said.running >= places


def _is_heard(said: Heartbeat, age_s: float) -> bool:
    return said.silence is None or age_s <= SILENT_BEATS * said.silence.beat_s


def _was_heard(beat: Values, at_s: float) -> bool:
    """Whether the beat that was its last one then was not stale."""
    return beat.beaten_s <= at_s or _is_heard(beat.heartbeat, at_s - beat.before_s)


def _is_overdue(server: Server, task: Values) -> bool:
    """Whether it, and what it has now, were left to others for long."""
    held = [each.values for each in server.resources.rows.values() if each.values and each.values.holder == task.id]
    since_s = max([task.queued_s, *(each.free_since_s for each in held)])
    return bool(since_s < server.now_s - LATE_S)


def _takes_streams(server: Server, node: Values | None) -> bool:
    is_alive = node is not None and node.kind is NodeKind.WORKER and node.state is NodeState.ALIVE
    return is_alive and node is not None and (node.kind, node.name or node.address) not in server.drains
