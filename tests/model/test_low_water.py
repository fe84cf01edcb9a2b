"""`model/cluster/low_water.py`: a queue is searched from a mark, and nothing below it is left for long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.cluster.low_water import (
    ALL_EVERY_S,
    FROM_FIRST,
    GRACE_S,
    LONG_S,
    PAUSE,
    PAUSE_S_MAX,
    REST_S,
    UNFOUND_EVERY_S,
    Horizon,
    LowWater,
    MarkOfQueue,
    Marks,
    MarksOfLooks,
    Settling,
    Walks,
)


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
            now_s += 0.5
            walked_s += 0.5
            walks.took(0.5, now_s)
            assert walks.are_long
        else:
            now_s += 1.0
    assert walked_s / now_s < 1.2 / PAUSE


def test_a_server_that_hung_holds_up_no_look_for_longer_than_a_few_seconds() -> None:
    walks = Walks()
    walks.took(60.0, now_s=100.0)
    assert not walks.are_due(100.0 + PAUSE_S_MAX - 1)
    assert walks.are_due(100.0 + PAUSE_S_MAX)


def test_all_is_searched_now_and_then_and_while_masters_come_and_go() -> None:
    walks = Walks()
    assert walks.are_of_all(0.0)
    walks.took(LONG_S / 2, 0.0)
    assert not walks.are_of_all(ALL_EVERY_S - 1)
    walks.took(LONG_S / 2, ALL_EVERY_S - 1, of_all=False)
    assert walks.are_of_all(ALL_EVERY_S)
    walks.took(LONG_S / 2, ALL_EVERY_S)
    walks.rest(ALL_EVERY_S)
    assert walks.are_of_all(ALL_EVERY_S + REST_S - 1)


def test_a_long_look_from_marks_is_followed_by_a_pause_too() -> None:
    walks = Walks()
    walks.took(LONG_S / 2, 0.0)
    walks.took(3.0, 1.0, of_all=False)
    assert not walks.are_due(2.0)
    assert not walks.are_long, "of those from the first ids nothing is said"


def test_all_walks_are_made_after_masters_came_or_went() -> None:
    walks = Walks()
    walks.took(3.0, now_s=0.0)
    assert not walks.are_due(1.0)
    walks.rest(2.0)
    walks.took(10.0, now_s=REST_S)
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


def test_events_are_searched_from_where_nothing_waits_for_certain(mark: LowWater) -> None:
    mark.is_used = False
    mark.settled = 50
    assert mark.first(0.0) == 50
    mark.lower(20)
    assert mark.first(0.0) == 20
    mark.rest(0.0)
    assert mark.first(1.0) == mark.first(REST_S) == 0


# -------------------------------------------------------------------------------------------- marks of looks


def test_what_was_given_is_certain_once_all_have_ended_who_may_have_been_given_it() -> None:
    settling: Settling[int] = Settling()
    assert settling.looked(70, Horizon(10, 12), 0.0, 0.1) is None
    assert settling.looked(71, Horizon(10, 13), 0.2, 0.3) is None, "one may be given an id and not count yet"
    assert settling.looked(72, Horizon(10, 14), 0.1 + GRACE_S, 1.2) is None
    assert settling.looked(73, Horizon(13, 20), 9.0, 9.1) is None, "13 began to write before that horizon"
    assert settling.looked(74, Horizon(14, 20), 11.0, 11.1) == 70
    assert settling.looked(75, Horizon(20, 20), 13.0, 13.1) is None
    assert settling.looked(76, Horizon(20, 20), 15.0, 15.1) == 74


LOOK_S = 2.0


@given(
    st.lists(st.tuples(st.floats(0, 40), st.floats(0, GRACE_S * 0.99), st.floats(0, 20), st.booleans()), max_size=12),
    st.floats(0, 1),
)
def test_whatever_commits_when_a_look_from_the_mark_finds_what_waits(
    inserts: list[tuple[float, float, float, bool]], begin_s: float
) -> None:
    """Each insert gets its id, then begins to write, then commits or gives up. Nothing is ever taken, so each row must
    always be found from the mark. The mark of events works like that of commands."""
    rows = [
        (id_, given_s, given_s + writes_after_s, given_s + writes_after_s + lasts_s, commits)
        for id_, (given_s, writes_after_s, lasts_s, commits) in enumerate(sorted(inserts), 1)
    ]
    marks = MarksOfLooks()
    for number in range(40):
        now_s = begin_s + LOOK_S * number
        began = sorted(writes_s for _, _, writes_s, _, _ in rows)
        numbers = {id_: 1 + began.index(writes_s) for id_, _, writes_s, _, _ in rows}
        next_number = 1 + sum(writes_s <= now_s for writes_s in began)
        open_now = [numbers[id_] for id_, _, writes_s, ends_s, _ in rows if writes_s <= now_s < ends_s]
        last = sum(given_s <= now_s for _, given_s, *_ in rows)
        visible = [id_ for id_, *_, ends_s, commits in rows if commits and ends_s <= now_s]
        found = min((id_ for id_ in visible if id_ >= marks.now.event), default=None)
        assert found == min(visible, default=None), "below the mark nothing waits"
        horizon = Horizon(min(open_now, default=next_number), next_number)
        marks.looked((None, found), Marks(now_s, last + 1), horizon, (now_s, now_s))
    if not any(commits for *_, commits in rows):
        assert marks.now.event == len(rows) + 1, "it follows what was given"


def test_a_mark_falls_to_what_a_search_of_everything_finds_below_it_and_after_masters_came_or_went() -> None:
    marks = MarksOfLooks()
    for second in range(0, 10, 2):
        marks.looked((None, None), Marks(1e9 + second, 40), Horizon(9, 9), (second, second))
    assert marks.now == Marks(1e9 + 4, 40)
    marks.looked((1e9 + 3, None), Marks(1e9 + 10, 41), Horizon(9, 9), (10, 10))
    assert marks.now == Marks(1e9 + 3, 40)
    marks.rest()
    assert marks.now == FROM_FIRST
    marks.looked((None, None), Marks(1e9 + 12, 41), Horizon(9, 9), (12, 12))
    assert marks.now == FROM_FIRST


def test_the_mark_of_a_queue_rises_only_while_nothing_waits() -> None:
    mark = MarkOfQueue()
    for second in range(0, 20, 2):
        mark.looked(found=True, given=70 + second, horizon=Horizon(9, 9), times_s=(second, second))
    assert mark.now == 0
    for second in range(20, 26, 2):
        mark.looked(found=False, given=70 + second, horizon=Horizon(9, 9), times_s=(second, second))
    assert mark.now == 90
    mark.looked(found=True, given=200, horizon=Horizon(9, 9), times_s=(26, 26))
    assert mark.now == 90


def test_what_is_announced_and_not_found_is_searched_everywhere_once_a_second(mark: LowWater) -> None:
    assert mark.searches_all_in_s(10.0) == 0
    assert mark.searches_all_in_s(10.0 + UNFOUND_EVERY_S / 4) == pytest.approx(UNFOUND_EVERY_S * 3 / 4)
    assert mark.searches_all_in_s(10.0 + UNFOUND_EVERY_S) == 0
