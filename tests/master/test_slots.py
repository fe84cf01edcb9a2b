"""The slots: every command has one owner, and everybody with the same list comes to the same answer."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from model.cluster.nodes import Heartbeat, NodeKind, NodeStatus
from model.cluster.slot_view import SlotView, slot_view
from model.cluster.slots import Slot
from model.ids import Epoch

NORMAL, BUSY = NodeStatus.NORMAL, NodeStatus.BUSY


def a_master(epoch: int, address: str = "", status: NodeStatus = NORMAL) -> Heartbeat:
    return Heartbeat(epoch=Epoch(epoch), kind=NodeKind.MASTER, address=address or f"host:{epoch}", status=status)


@st.composite
def clusters(draw: DrawFn, min_size: int = 0) -> list[Heartbeat]:
    """Masters in the order of their arrival; few addresses, so that some have had a life before."""
    epochs = draw(st.lists(st.integers(1, 10_000), min_size=min_size, max_size=12, unique=True))
    address, status = st.sampled_from("abcdefgh"), st.sampled_from(NodeStatus)
    return [a_master(epoch, f"{draw(address)}:5678", draw(status)) for epoch in epochs]


@given(clusters(min_size=1), st.integers(1, 2**63 - 1), st.integers(1, 1000))
def test_every_command_belongs_to_exactly_one_master(live: list[Heartbeat], command_id: int, step: int) -> None:
    view = slot_view(live)
    slots = [view.slot_of(master.epoch) for master in live]
    assert sum(slot.owns(command_id, step) for slot in slots if slot) == 1


@given(clusters(min_size=1), st.integers(1, 1000), st.integers(0, 10**9))
def test_ids_with_a_stride_reach_every_slot_when_the_stride_is_told(
    live: list[Heartbeat], step: int, first: int
) -> None:
    total = len(slot_view(live).masters)
    ids = [step * (first + position) for position in range(1, total + 1)]
    assert all(any(Slot(current, total).owns(id_, step) for id_ in ids) for current in range(total))


def test_ids_with_a_stride_idle_half_of_the_masters_when_it_is_not_told() -> None:
    owned = {current: sum(Slot(current, 4).owns(id_) for id_ in range(2, 802, 2)) for current in range(4)}
    assert owned == {0: 200, 1: 0, 2: 200, 3: 0}


@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_makes_no_difference(live: list[Heartbeat], random: Random) -> None:
    arrived = list(live)
    random.shuffle(arrived)
    assert slot_view(arrived) == slot_view(live)


@given(clusters())
def test_the_first_slot_is_the_oldest_masters(live: list[Heartbeat]) -> None:
    masters = slot_view(live).masters
    assert list(masters) == sorted(masters)
    assert [view and view.current for view in map(slot_view(live).slot_of, masters)] == list(range(len(masters)))


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=12, unique=True), st.data())
def test_a_master_that_goes_moves_only_those_behind_it(epochs: list[int], data: st.DataObject) -> None:
    before = slot_view(map(a_master, epochs))
    gone = data.draw(st.sampled_from(epochs))
    after = slot_view(a_master(epoch) for epoch in epochs if epoch != gone)
    for epoch in map(Epoch, set(epochs) - {gone}):
        former, now = before.slot_of(epoch), after.slot_of(epoch)
        assert former and now
        assert now == Slot(former.current - (epoch > gone), former.total - 1)


@given(clusters(min_size=1))
def test_a_busy_master_has_no_slot_unless_all_are_busy(live: list[Heartbeat]) -> None:
    latest = {master.address: master for master in sorted(live, key=lambda each: each.epoch)}.values()
    ready = {master.epoch for master in latest if master.status is NORMAL}
    assert set(slot_view(live).masters) == (ready or {master.epoch for master in latest})


def test_when_all_are_busy_all_stay_in() -> None:
    assert slot_view([a_master(1, status=BUSY), a_master(2, status=BUSY)]).masters == (1, 2)
    assert slot_view([a_master(1, status=BUSY), a_master(2)]).masters == (2,)


@given(clusters(), st.sets(st.integers(1, 10_000).map(Epoch)))
def test_an_epoch_that_the_database_does_not_hold_alive_gets_no_slot(live: list[Heartbeat], alive: set[Epoch]) -> None:
    assert set(slot_view(live, alive).masters) <= alive
    assert slot_view(live, alive) == slot_view([master for master in live if master.epoch in alive])


def test_a_phantom_does_not_hide_the_living_master_of_its_address() -> None:
    phantom, living = a_master(9, "a:1"), a_master(4, "a:1")
    assert slot_view([phantom, living], alive={Epoch(4)}).masters == (4,)


@given(clusters())
def test_of_one_address_only_the_latest_life_counts(live: list[Heartbeat]) -> None:
    masters = slot_view(live).masters
    addresses = [master.address for master in live if master.epoch in masters]
    assert len(addresses) == len(set(addresses))
    latest = {master.address: master.epoch for master in sorted(live, key=lambda each: each.epoch)}
    assert set(masters) <= set(latest.values())


def test_a_former_life_takes_no_slot_though_the_latest_one_is_busy() -> None:
    view = slot_view([a_master(1, "a:1"), a_master(2, "a:1", BUSY), a_master(3, "b:1")])
    assert view.masters == (3,)


@given(clusters(), clusters())
def test_views_have_the_same_hash_if_and_only_if_they_are_the_same(one: list[Heartbeat], two: list[Heartbeat]) -> None:
    assert (slot_view(one).hash == slot_view(two).hash) == (slot_view(one) == slot_view(two))


def test_the_hash_does_not_run_numbers_together() -> None:
    views = [SlotView((Epoch(1), Epoch(23))), SlotView((Epoch(12), Epoch(3))), SlotView((Epoch(123),)), SlotView(())]
    assert len({view.hash for view in views}) == len(views)


def test_without_masters_nobody_has_a_slot() -> None:
    assert slot_view([]).slot_of(Epoch(1)) is None


def test_a_slot_is_shown_as_place_of_total() -> None:
    assert str(Slot(1, 3)) == "1/3"
    assert a_master(1).slot is None
    assert a_master(1).model_copy(update={"slot_current": 1, "slot_total": 3}).slot == Slot(1, 3)


def test_masters_of_two_machines_with_one_address_both_have_a_slot() -> None:
    """The default loopback name, or one fixed port on many machines: who they are is not where they are reached."""
    both = [
        Heartbeat(epoch=Epoch(epoch), kind=NodeKind.MASTER, address="127.0.0.1:5678", name=f"host{epoch}:5678")
        for epoch in (1, 2)
    ]
    assert slot_view(both).masters == (1, 2)


@given(clusters(min_size=1), st.sets(st.integers(0, 11)))
def test_a_drained_master_has_no_slot_even_if_all_others_are_busy(live: list[Heartbeat], which: set[int]) -> None:
    some = [each.model_copy(update={"drained": int(n in which), "status": BUSY}) for n, each in enumerate(live)]
    view = slot_view(some)
    assert all(view.slot_of(each.epoch) is None for each in some if each.drained)
    latest = {each.address: each for each in sorted(some, key=lambda each: each.epoch)}
    assert len(view.masters) == sum(not each.drained for each in latest.values())
