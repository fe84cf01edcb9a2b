"""The statements of `dao/cluster/went_back.py`, on a database that is promoted before each look, and loses nothing.

So what a node takes for lost is a false alarm, which would stop the whole cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from uuid import UUID

from dao.cluster.nodes import Me
from dao.cluster.went_back import FORGOTTEN_AFTER_S, Known, LastGiven, Place
from model.ids import Epoch, TaskInstanceId, WorkflowInstanceId
from model.runs.states import TaskState
from tests.simulation.statements.retention.old_runs import KEPT_S
from tests.simulation.tables import Transaction

_timelines = count()


def place(tx: Transaction) -> Place:
    return Place(f"{next(_timelines):08X}", 0, 1)


def why_back(tx: Transaction, me: Me, began: Place, beat_no: int, silent_s: float, known: Known) -> str | None:
    """Reads the node, its beat, and whether what it knows is there."""
    node, beat = tx.get(tx.server.nodes, me.epoch), tx.get(tx.server.beats, me.epoch)
    if (node is None or node.incarnation != me.incarnation) and silent_s < FORGOTTEN_AFTER_S:
        return f"{me} is not in it"
    if beat is not None and beat.beat_no < beat_no:
        return f"beat {beat_no} of {me} is gone"
    if silent_s >= KEPT_S / 2:  # in earnest an hour, and runs are kept for a day at least
        return None
    runs = [f"run {id_}" for id_ in known.runs if tx.get(tx.server.instances, id_) is None]
    attempts = [f"attempt {id_}" for id_ in known.running if tx.get(tx.server.tasks, id_) is None]
    ends = [f"the end of {id_}" for id_ in known.ended if not _has_ended(tx, id_)]
    return next(iter([*runs, *attempts, *ends]), None)


def _has_ended(tx: Transaction, id_: int) -> bool:
    task = tx.get(tx.server.tasks, id_)
    return task is not None and task.ended_s is not None and task.state is not TaskState.NEED_FAULT_TOLERANCE


def last_given(tx: Transaction) -> LastGiven:
    return LastGiven(max(tx.server.tasks.rows, default=0), None, "")


def why_given_again(
    tx: Transaction, epoch: Epoch, incarnation: UUID, runs: Mapping[TaskInstanceId, WorkflowInstanceId]
) -> str | None:
    """Workers have no logs here."""
    assert not runs
    node = tx.get(tx.server.nodes, epoch)
    return f"another has epoch {epoch}" if node is not None and node.incarnation != incarnation else None


def gone(tx: Transaction, attempts: Sequence[TaskInstanceId]) -> list[TaskInstanceId]:
    """Workers have no logs here."""
    assert not attempts
    return []


def record(tx: Transaction, me: Me, why: str, known: Known) -> Known:
    raise AssertionError(f"{me} stops all nodes, and nothing was lost: {why}")
