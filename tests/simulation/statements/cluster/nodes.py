"""The statements of `dao/cluster/nodes.py`."""

from __future__ import annotations

from uuid import UUID

from dao.cluster.node_rows import Drain, NodeRow
from dao.cluster.nodes import Beaten, Me, NewNode
from dao.postgres import newer_schema
from dao.postgres.notify import NODE
from model.cluster.nodes import Heartbeat, NodeKind, NodeState
from model.errors import Fenced
from model.ids import Epoch
from tests.simulation.tables import Transaction, Values

S = NodeState
LIVING = (S.ALIVE, S.LEAVING)


def enlist(tx: Transaction, incarnation: UUID, new: NewNode) -> Me:
    server = tx.server
    epoch = Epoch(server.nodes.next_id())
    told = {"kind": new.kind, "address": new.address, "process": new.process, "name": new.name}
    tx.insert(server.nodes, epoch, Values(incarnation=incarnation, state=S.ALIVE, **told))
    tx.insert(server.beats, epoch, Values(beat_no=0, heartbeat=None, beaten_s=server.now_s, before_s=server.now_s))
    return Me(epoch, incarnation, new.kind, new.address, new.name)


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
    """UPDATE node_beat ... WHERE beat_no BETWEEN known AND known + unanswered, its node ALIVE or LEAVING; who lives (a
    worker: itself) is read by the same statement, so with the beat before this one, and so are the schema's versions
    after ours. When a fence that held the beat ends only the beat is looked at again: its number is out of reach then.
    """
    row = tx.server.beats.rows[me.epoch]
    before = tx.see(row)
    _check(tx.see_as_before(tx.server.nodes.rows[me.epoch]), me)
    if before is None or not beat_no <= before.beat_no <= beat_no + unanswered:
        raise Fenced(f"{me} was fenced: its beat is not as it was")
    seen = [each for each in living(tx) if me.kind is NodeKind.MASTER or each.epoch == me.epoch]
    times = {"beaten_s": tx.server.now_s, "before_s": before.beaten_s}
    after = tx.update(row, beat_no=before.beat_no + 1, heartbeat=heartbeat, **times)
    return Beaten(after.beat_no, seen, _newer(tx))


def _newer(tx: Transaction) -> newer_schema.Newer | None:
    later = [(row.id, each) for row, each in tx.scan(tx.server.schemas.rows) if row.id > newer_schema.known_version()]
    forbidding = [version for version, each in later if not each.old_nodes_may_run]
    return newer_schema.newer_of(max((version for version, _ in later), default=None), max(forbidding, default=None))


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
                    *(seen.heartbeat, node.name, _drain(tx, node)),
                )
            )
    return found


def _drain(tx: Transaction, node: Values) -> Drain | None:
    id_ = tx.server.drains.get((node.kind, node.name or node.address))
    return None if id_ is None else Drain(id_, 0.0, "somebody")


def set_alive(tx: Transaction, me: Me) -> None:
    end(tx, me.epoch, S.ALIVE, (S.LEAVING,), None)


def set_leaving(tx: Transaction, me: Me) -> None:
    end(tx, me.epoch, S.LEAVING, (S.ALIVE,), None)


def set_left(tx: Transaction, me: Me, *, broke: bool = False) -> bool:
    tx.server.on_goodbye(me.epoch)
    if not end(tx, me.epoch, S.FENCED if broke else S.LEFT, LIVING, None):
        return False
    tx.notes.append((NODE, ""))
    return True


def end(tx: Transaction, epoch: Epoch, state: NodeState, befores: tuple[NodeState, ...], why: str | None) -> bool:
    """Set a final state, if the node is still in one of `befores`."""
    row = tx.server.nodes.rows[epoch]
    node = tx.see(row)
    if node is None or node.state not in befores:
        return False
    tx.update(row, state=state, ended_why=why)
    return True
