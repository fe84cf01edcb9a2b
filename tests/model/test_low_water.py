"""`model/cluster/low_water.py`: a queue is searched from a mark, and nothing below it is left for long."""

from __future__ import annotations

import pytest

from model.cluster.low_water import GRACE_S, LONG_S, PAUSE, REST_S, LowWater, Walks


@pytest.fixture
def mark() -> LowWater:
    mark = LowWater()
    mark.is_used = True
    return mark


def test_short_walks_are_made_each_time() -> None:
    walks = Walks()
    for second in range(10):
        assert walks.are_due(second)
        walks.took(LONG_S / 2, second)
        assert not walks.are_long


def test_long_walks_take_a_bounded_share_of_the_time() -> None:
    walks, now_s, walked_s = Walks(), 0.0, 0.0
    while now_s < 1_000:
        if walks.are_due(now_s):
            now_s += 3.0
            walked_s += 3.0
            walks.took(3.0, now_s)
            assert walks.are_long
        else:
            now_s += 1.0
    assert walked_s / now_s < 1.2 / PAUSE


def test_all_walks_are_made_after_masters_came_or_went() -> None:
    walks = Walks()
    walks.took(3.0, now_s=0.0)
    assert not walks.are_due(1.0)
    walks.rest(2.0)
    walks.took(10.0, now_s=12.0)
    assert walks.are_due(1.0 + REST_S)
    assert not walks.are_due(2.0 + REST_S)


def test_the_mark_follows_what_was_taken_once_late_ids_have_had_their_time(mark: LowWater) -> None:
    mark.took(100, now_s=5.0)
    mark.took(300, now_s=5.0 + GRACE_S / 2)
    assert mark.first(5.0 + GRACE_S * 0.9) == 0
    assert mark.first(5.0 + GRACE_S) == 100
    assert mark.first(5.0 + GRACE_S * 1.5) == 300


def test_it_does_not_matter_while_walks_are_short(mark: LowWater) -> None:
    mark.took(100, now_s=0.0)
    mark.is_used = False
    assert mark.first(60.0) == 0
    mark.is_used = True
    assert mark.first(60.0) == 100


@pytest.mark.parametrize("is_pending", [True, False])
def test_a_row_that_became_visible_late_is_searched_until_all_is_taken_again(mark: LowWater, is_pending: bool) -> None:
    mark.took(100, now_s=0.0)
    assert is_pending or mark.first(GRACE_S) == 100
    mark.lower(70)
    assert mark.first(3600.0) <= 70
    mark.took(120, now_s=3600.0)
    assert mark.first(3600.0 + GRACE_S) == 120


def test_a_row_that_waits_above_the_mark_changes_nothing(mark: LowWater) -> None:
    mark.took(100, now_s=0.0)
    mark.lower(101)
    assert mark.first(GRACE_S) == 100


def test_after_masters_came_or_went_all_is_searched_for_a_while(mark: LowWater) -> None:
    mark.took(100, now_s=0.0)
    assert mark.first(GRACE_S) == 100
    mark.rest(10.0)
    mark.took(150, now_s=11.0)
    assert mark.first(10.0 + REST_S - 1) == 0
    assert mark.first(10.0 + REST_S) == 150
