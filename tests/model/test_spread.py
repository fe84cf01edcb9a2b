"""The spread of streams over workers."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from model.ids import Epoch
from model.streams.spread import WorkerLoad, shares, surplus


@st.composite
def workers(draw: st.DrawFn) -> list[WorkerLoad]:
    epochs = draw(st.lists(st.integers(1, 50), unique=True, min_size=1, max_size=6))
    return [WorkerLoad(Epoch(epoch), draw(st.integers(0, 8)), draw(st.integers(0, 8))) for epoch in epochs]


@given(waiting=st.integers(0, 40), of=workers())
def test_everything_that_has_a_place_is_given_and_nobody_gets_more_than_his_places(
    waiting: int, of: list[WorkerLoad]
) -> None:
    given_ = shares(waiting, of)
    assert sum(given_.values()) == min(waiting, sum(each.free for each in of))
    assert all(given_[each.worker] <= each.free for each in of)


@given(waiting=st.integers(0, 40), of=workers())
def test_with_places_for_all_nobody_gets_one_while_another_has_two_less(waiting: int, of: list[WorkerLoad]) -> None:
    of = [replace(each, free=waiting) for each in of]
    given_ = shares(waiting, of)
    after = {each.worker: each.streams + given_[each.worker] for each in of}
    for each in of:
        if given_[each.worker]:
            assert after[each.worker] - min(after.values()) <= 1


@given(waiting=st.integers(0, 30), of=workers(), order=st.randoms(use_true_random=False))
def test_what_one_worker_takes_does_not_change_what_the_others_are_to_take(
    waiting: int, of: list[WorkerLoad], order: object
) -> None:
    """So workers that claim at once, each by its own reading, together take no more than their shares."""
    whole = shares(waiting, of)
    left, now = waiting, list(of)
    order.shuffle(now)  # type: ignore[attr-defined]
    for place, each in enumerate(now):
        takes = shares(left, now)[each.worker]
        assert takes == whole[each.worker]
        left -= takes
        now[place] = replace(each, streams=each.streams + takes, free=each.free - takes)


def all_of(workers: list[WorkerLoad]) -> dict[Epoch, int]:
    return {each.worker: each.streams for each in workers}


@given(of=workers(), most=st.integers(0, 20))
def test_moves_make_it_even_and_end(of: list[WorkerLoad], most: int) -> None:
    moves = surplus(of, most, all_of(of))
    assert len(moves) <= most
    streams = {each.worker: each.streams for each in of}
    for source in moves:
        streams[source] -= 1
        assert streams[source] >= 0
    if len(moves) < most:
        ended = [replace(each, streams=each.streams - moves.count(each.worker)) for each in of]
        full = [each for each in ended if each.free == 0]
        assert full or max(each.streams for each in ended) <= max(1, max(each.streams for each in of))


def test_thirty_streams_on_three_workers_are_ten_each_and_fifteen_on_two() -> None:
    three = [WorkerLoad(Epoch(n), 0, 32) for n in (1, 2, 3)]
    assert shares(30, three) == {1: 10, 2: 10, 3: 10}
    assert shares(10, [WorkerLoad(Epoch(n), 10, 22) for n in (1, 2)]) == {1: 5, 2: 5}
    returned = [*(WorkerLoad(Epoch(n), 15, 17) for n in (1, 2)), WorkerLoad(Epoch(3), 0, 32)]
    assert len(surplus(returned, 100, all_of(returned))) == 10
    assert sorted(surplus(returned, 2, all_of(returned))) == [1, 2]


def test_nothing_moves_to_a_worker_without_a_place_nor_for_a_difference_of_one() -> None:
    full = [WorkerLoad(Epoch(1), 9, 0), WorkerLoad(Epoch(2), 0, 0)]
    even = [WorkerLoad(Epoch(1), 2, 5), WorkerLoad(Epoch(2), 1, 5)]
    assert surplus(full, 5, all_of(full)) == surplus(even, 5, all_of(even)) == []


def test_where_the_worker_with_most_has_none_that_may_move_the_next_gives_one() -> None:
    three = [WorkerLoad(Epoch(1), 4, 5), WorkerLoad(Epoch(2), 3, 5), WorkerLoad(Epoch(3), 0, 5)]
    assert surplus(three, 5, {Epoch(2): 3}) == [2]
    assert surplus(three, 5, {Epoch(1): 1, Epoch(2): 3}) == [1, 2]
    assert surplus(three, 5, {}) == []
