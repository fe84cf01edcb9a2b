"""`dao/cluster/gone_nodes.py` on rows in memory."""

from __future__ import annotations

from datetime import timedelta

from dao.cluster.gone_nodes import WorkLeft
from model.cluster.nodes import NodeKind
from model.runs.states import WorkflowState
from tests.simulation.statements.rows import RUNNING, open_recovers, owns_no_more
from tests.simulation.statements.tasks import task_events
from tests.simulation.tables import Transaction


def work_left(tx: Transaction) -> WorkLeft:
    unfinished = tx.scan(tx.server.instances.unfinished)
    return WorkLeft(_left_by_gone_nodes(tx), any(each.state is WorkflowState.SERIAL_WAIT for _, each in unfinished))


def _left_by_gone_nodes(tx: Transaction) -> bool:
    server = tx.server
    recovering = open_recovers(tx)
    return (
        any(
            owns_no_more(tx, each.master_id, NodeKind.MASTER)
            and (each.state.is_driven or each.state is WorkflowState.FAILOVER)
            and str(row.id) not in recovering
            for row, each in tx.scan(server.instances.unfinished)
        )
        or any(
            task.state in RUNNING and task.worker_id is not None and owns_no_more(tx, task.worker_id, NodeKind.WORKER)
            for _, task in tx.scan(server.tasks.unfinished)
        )
        or any(task_events.is_stale(tx, run) for _, _, run in task_events.strays(tx))
    )


def delete_ended(tx: Transaction, kept: timedelta, limit: int) -> int:
    """No simulation lasts for as long as they are kept."""
    return 0
