"""The statements of `dao/cluster/nodes.py`."""

from __future__ import annotations

from datetime import timedelta

from dao.cluster.nodes import BEAT_NO_MAX, OUT_OF_REACH, Beaten, Me, NodeRow, application_name
from dao.postgres import schema
from dao.postgres.notify import NODE
from model.errors import Fenced
from model.ids import Epoch
from model.nodes import Heartbeat, NodeKind, NodeState, ProcessIdentity
from model.states import WorkflowState
from tests.simulation.server import Session
from tests.simulation.statements.rows import RUNNING, open_recovers, owns_no_more
from tests.simulation.statements.tasks import task_events
from tests.simulation.tables import Transaction, Values

S = NodeState
LIVING = (S.ALIVE, S.LEAVING)


def enlist(
    tx: Transaction,
    incarnation: object,
    kind: NodeKind,
    address: str,
    process: ProcessIdentity,
    log_url: str,
    name: str = "",
) -> Me:
    server = tx.server
    epoch = Epoch(server.nodes.next_id())
    values = Values(incarnation=incarnation, kind=kind, address=address, process=process, state=S.ALIVE, name=name)
    tx.insert(server.nodes, epoch, values)
    tx.insert(server.beats, epoch, Values(beat_no=0, heartbeat=None, beaten_s=server.now_s))
    return Me(epoch, incarnation, kind, address, name)  # type: ignore[arg-type]


def hold_alive(tx: Transaction, me: Me) -> None:
    """FOR SHARE, and state IN ('ALIVE', 'LEAVING')."""
    tx.epoch = me.epoch
    on = tx.server.protections
    if not (on.licence and on.fencing if me.kind is NodeKind.MASTER else on.attempt):
        return
    if on.share:
        tx.share(tx.server.nodes.rows[me.epoch])
    _check(tx.get(tx.server.nodes, me.epoch), me)


def barrier(tx: Transaction, me: Me) -> None:
    """FOR UPDATE."""
    if tx.server.protections.barrier:
        tx.lock(tx.server.nodes.rows[me.epoch])
    _check(tx.get(tx.server.nodes, me.epoch), me)


def _check(node: Values | None, me: Me) -> None:
    if node is None or (node.incarnation, node.kind) != (me.incarnation, me.kind) or node.state not in LIVING:
        raise Fenced(f"{me} was fenced: others took it for dead")


def beat(tx: Transaction, me: Me, beat_no: int, *, unanswered: int, heartbeat: Heartbeat) -> Beaten:
    """UPDATE node_beat ... WHERE beat_no BETWEEN known AND known + unanswered, its node ALIVE or LEAVING; who lives is
    read by the same statement, so with the beat before this one, and so are the schema's versions after ours. When a
    fence that held the beat ends only the beat is looked at again, whose number is out of reach then."""
    row = tx.server.beats.rows[me.epoch]
    before = tx.see(row)
    _check(tx.see_as_before(tx.server.nodes.rows[me.epoch]), me)
    if before is None or not beat_no <= before.beat_no <= beat_no + unanswered:
        raise Fenced(f"{me} was fenced: its beat is not as it was")
    seen = living(tx)
    after = tx.update(row, beat_no=before.beat_no + 1, heartbeat=heartbeat, beaten_s=tx.server.now_s)
    return Beaten(after.beat_no, seen, _newer(tx))


def _newer(tx: Transaction) -> schema.Newer | None:
    later = [(row.id, each) for row, each in tx.scan(tx.server.schemas.rows) if row.id > schema.known_version()]
    forbidding = [version for version, each in later if not each.old_nodes_may_run]
    return schema.newer_of(max((version for version, _ in later), default=None), max(forbidding, default=None))


def living(tx: Transaction) -> list[NodeRow]:
    found = []
    for row, node in tx.scan(tx.server.nodes.unfinished):
        if node.state in LIVING:
            seen = tx.get(tx.server.beats, row.id)
            assert seen is not None
            age_s = tx.server.now_s - seen.beaten_s
            found.append(
                NodeRow(
                    *(row.id, node.kind, node.address, node.state, node.process, None, seen.beat_no, age_s),
                    *(seen.heartbeat, node.name),
                )
            )
    return found


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
    return _end(tx, epoch, S.FENCED, LIVING, why)


def set_alive(tx: Transaction, me: Me) -> None:
    _end(tx, me.epoch, S.ALIVE, (S.LEAVING,), None)


def set_leaving(tx: Transaction, me: Me) -> None:
    _end(tx, me.epoch, S.LEAVING, (S.ALIVE,), None)


def set_left(tx: Transaction, me: Me, *, broke: bool = False) -> None:
    tx.server.on_goodbye(me.epoch)
    _end(tx, me.epoch, S.FENCED if broke else S.LEFT, LIVING, None)
    tx.notes.append((NODE, ""))


def _end(tx: Transaction, epoch: Epoch, state: NodeState, befores: tuple[NodeState, ...], why: str | None) -> bool:
    row = tx.server.nodes.rows[epoch]
    node = tx.see(row)
    if node is None or node.state not in befores:
        return False
    tx.update(row, state=state, ended_why=why)
    return True


def anything_left(tx: Transaction) -> bool:
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


def forget_ended(tx: Transaction, kept: timedelta, limit: int) -> int:
    """No simulation lasts for as long as they are kept."""
    return 0
