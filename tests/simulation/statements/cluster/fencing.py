"""`dao/cluster/fencing.py` on rows in memory."""

from __future__ import annotations

from dao.cluster.fencing import BEAT_NO_MAX, OUT_OF_REACH
from dao.cluster.nodes import application_name
from model.cluster.nodes import NodeKind, NodeState
from model.ids import Epoch
from tests.simulation.server import Session
from tests.simulation.statements.cluster.nodes import LIVING, end
from tests.simulation.tables import Transaction


def terminate(tx: Transaction, kind: NodeKind, epoch: Epoch, beat_no: int) -> None:
    """pg_terminate_backend of all sessions of that name but one's own, if its beat is the one that was judged."""
    seen = tx.get(tx.server.beats, epoch)
    if tx.server.protections.judged and (seen is None or seen.beat_no != beat_no):
        return
    name = application_name(kind, epoch)
    if tx.server.protections.terminate:
        tx.server.end_sessions(
            lambda session: session.application_name == name and session is not tx and isinstance(tx, Session)
        )


def fence(tx: Transaction, epoch: Epoch, beat_no: int, why: str) -> bool:
    """UPDATE node_beat, of the beat that was judged, to a number out of reach, then UPDATE node SET state = 'FENCED'
    WHERE state IN ('ALIVE', 'LEAVING'): waits for all who hold it FOR SHARE."""
    beat = tx.server.beats.rows[epoch]
    tx.lock(beat)
    seen = tx.see(beat)
    if tx.server.protections.judged and (seen is None or seen.beat_no != beat_no):
        return False
    if seen is not None:
        tx.update(beat, beat_no=min(seen.beat_no, BEAT_NO_MAX) + OUT_OF_REACH)
    return end(tx, epoch, NodeState.FENCED, LIVING, why)
