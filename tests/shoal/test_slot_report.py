"""The truth about the slots beside what each master believes."""

from __future__ import annotations

from dao.cluster.node_rows import NodeRow
from model.cluster.nodes import Heartbeat, NodeKind, NodeState, NodeStatus, ProcessIdentity
from model.cluster.slots import Slot
from model.ids import Epoch
from service.slots.slot_report import report


def master(epoch: int, believes: Slot | None, status: NodeStatus = NodeStatus.NORMAL) -> NodeRow:
    beat = Heartbeat(
        epoch=Epoch(epoch),
        kind=NodeKind.MASTER,
        address=f"m{epoch}:1",
        status=status,
        slot_current=believes.current if believes else None,
        slot_total=believes.total if believes else None,
    )
    process = ProcessIdentity("boot", epoch, 1)
    return NodeRow(Epoch(epoch), NodeKind.MASTER, beat.address, NodeState.ALIVE, process, None, 1, 0.1, beat)


def beats(*rows: NodeRow) -> list[Heartbeat]:
    return [row.heartbeat for row in rows if row.heartbeat]


def test_who_still_counts_a_master_that_is_gone_is_shown_beside_the_truth() -> None:
    first, second = master(1, Slot(0, 2)), master(3, Slot(2, 3))
    found = report([first, second], beats(first, second), [], None)
    assert found.total == 2
    assert [(each.slot, each.agrees) for each in found.masters] == [(Slot(0, 2), True), (Slot(1, 2), False)]


def test_a_busy_master_and_one_that_is_not_in_the_registry_have_no_slot_and_come_last() -> None:
    busy, lost, well = master(1, None, NodeStatus.BUSY), master(2, Slot(0, 1)), master(3, Slot(0, 1))
    found = report([busy, lost, well], beats(busy, well), [], None)
    assert [(each.row.epoch, each.slot) for each in found.masters] == [(3, Slot(0, 1)), (1, None), (2, None)]
    assert [each.in_registry for each in found.masters] == [True, True, False]


def test_without_the_registry_the_database_alone_tells() -> None:
    rows = [master(2, Slot(1, 2)), master(1, Slot(0, 2))]
    found = report(rows, None, [], "cannot reach it")
    assert [each.slot for each in found.masters] == [Slot(0, 2), Slot(1, 2)]
    assert found.registry_fault == "cannot reach it"
