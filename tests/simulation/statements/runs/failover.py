"""`dao/runs/failover.py` on rows in memory."""

from __future__ import annotations

from collections.abc import Sequence

from dao.runs.failover import SOON_MAX, SOON_MIN, SOON_PART, TAKEOVERS_MAX
from model.cluster.nodes import NodeKind, NodeState
from model.ids import Epoch, WorkflowInstanceId
from model.runs.instances import WorkflowInstance
from model.runs.states import WorkflowState
from tests.simulation.statements.commands import commands
from tests.simulation.statements.rows import open_recovers, owns_no_more, read_instance, rows_of
from tests.simulation.tables import Row, Transaction, Values

W = WorkflowState


def claim_failover(
    tx: Transaction, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> dict[WorkflowInstanceId, tuple[WorkflowInstance, int]]:
    """FOR UPDATE in the order of the ids; only what belongs to a FENCED or LEFT master and has not ended."""
    taken = {}
    for row, _ in rows_of(tx, ids):
        tx.lock(row)
    for row, each in rows_of(tx, ids):
        if tx.server.protections.failover and not owns_no_more(tx, each.master_id, NodeKind.MASTER):
            continue
        if each.state.is_driven or each.state is W.FAILOVER:
            state = each.requested_state or (W.RUNNING_EXECUTION if each.state is W.FAILOVER else each.state)
            if each.state is W.READY_STOP:
                state = each.state
            owner = tx.get(tx.server.nodes, each.master_id)
            was_fenced = owner is not None and owner.kind is NodeKind.MASTER and owner.state is NodeState.FENCED
            takeovers = each.takeovers
            if was_fenced and tx.server.protections.takeovers:
                beat = tx.get(tx.server.beats, each.master_id)
                takeovers = 1 if drove_for_long(each, beat, tx.server.now_s) else min(takeovers, TAKEOVERS_MAX) + 1
            after = tx.update(row, master_id=master, state=state, takeovers=takeovers, owned_s=tx.server.now_s)
            taken[row.id] = (read_instance(tx, after), takeovers)
    return taken


def drove_for_long(run: Values, beat: Values | None, now_s: float) -> bool:
    """Whether the last beat of its owner came long after that had begun to drive it."""
    soon_s = min(SOON_MAX.total_seconds(), max(SOON_MIN.total_seconds(), (now_s - run.started_s) / SOON_PART))
    since_s = run.started_s if run.owned_s is None else run.owned_s
    return beat is not None and beat.beaten_s > since_s + soon_s


def fail_over(
    tx: Transaction,
    limit: int,
    without: Sequence[WorkflowInstanceId] = (),
    only: WorkflowInstanceId | None = None,
) -> int:
    """Runs to be driven without a living master and an open RECOVER command, FOR UPDATE SKIP LOCKED."""
    handed = 0
    for row, each in _left_behind(tx, without):
        if handed < limit and only in (None, row.id) and tx.try_lock(row):
            is_halted = each.state in (W.READY_PAUSE, W.READY_STOP) and each.requested_state is not W.READY_STOP
            tx.update(row, state=W.FAILOVER, requested_state=each.state if is_halted else each.requested_state)
            commands.ask_recover(tx, row.id, each.workflow_code, each.priority)
            handed += 1
    return handed


def left_behind(tx: Transaction, limit: int, without: Sequence[WorkflowInstanceId] = ()) -> list[WorkflowInstanceId]:
    """The same runs, only locked."""
    return [row.id for row, _ in _left_behind(tx, without) if tx.try_lock(row)][:limit]


def _left_behind(tx: Transaction, without: Sequence[WorkflowInstanceId]) -> list[tuple[Row, Values]]:
    recovering = open_recovers(tx) if tx.server.protections.recover else set()
    return [
        (row, each)
        for row, each in tx.scan(tx.server.instances.unfinished)
        if (each.state.is_driven or each.state is W.FAILOVER)
        and owns_no_more(tx, each.master_id, NodeKind.MASTER)
        and str(row.id) not in recovering
        and row.id not in without
    ]


def why_not_recovered(tx: Transaction, id_: WorkflowInstanceId) -> str:
    each = tx.get(tx.server.instances, id_)
    if each is None:
        return f"there is no workflow instance {id_}"
    if each.state.is_final:
        return f"workflow instance {id_} has already ended as {each.state}; there is nothing to fail over"
    if each.state is W.SERIAL_WAIT:
        return f"workflow instance {id_} waits for its turn, and no master drives it; there is nothing to fail over"
    return f"workflow instance {id_} belongs to master {each.master_id}, which lives; it is not taken away"
