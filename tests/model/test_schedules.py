"""Which times fire: none lost, none twice, whatever a master slept through and however often it is asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.choices import Misfire
from model.errors import Refused
from model.ids import ScheduleId
from model.time.cron import Cron
from model.time.misfires import FIRES_MAX, Computed, compute
from model.time.schedules import ScheduleRow, ScheduleSpec, Timetable, stored_time, upcoming
from tests.every import every

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CRONS = [
    *("* * * * * ?", "0/7 * * * * ?", "* * * * *", "*/5 * * * *", "0 0 5 * * ?", "30 2 * * *", "0 30 1 ? * SUN"),
    "0 0 1 1 *",
]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]

seconds = st.integers(0, 3 * 86_400)
tables = st.builds(
    lambda cron, zone, misfire, grace: Timetable(
        Cron.parse(cron), ZoneInfo(zone), misfire=misfire, grace=timedelta(seconds=grace)
    ),
    st.sampled_from(CRONS),
    st.sampled_from(ZONES),
    st.sampled_from(Misfire),
    st.sampled_from([0, 1, 60, 86_400]),
)
moments = st.builds(
    lambda start, second, micro: start + timedelta(seconds=second, microseconds=micro),
    st.sampled_from([NOON, datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 24, 20, tzinfo=UTC)]),
    seconds,
    st.integers(0, 999_999),
)


def a_table(cron: str, **fields: object) -> Timetable:
    return replace(Timetable(Cron.parse(cron), ZoneInfo("UTC")), **fields)  # type: ignore[arg-type]


def after(**span: float) -> datetime:
    return NOON + timedelta(**span)


def rounds(table: Timetable, nows: list[datetime]) -> tuple[list[datetime], Computed]:
    """The fires over several looks, each repeated until nothing is due; and the last answer."""
    fired: list[datetime] = []
    done = compute(table, nows[0], None, None)
    assert done.fires == ()
    for now in nows[1:]:
        while True:
            done = compute(table, now, done.next_fire, fired[-1] if fired else None)
            fired += done.fires
            if done.next_fire is None or done.next_fire > now:
                break
    return fired, done


# ------------------------------------------------------------------------------------------------- laws


@given(tables, moments, st.lists(st.integers(0, 20_000), min_size=1, max_size=5))
def test_times_rise_and_none_is_twice_whatever_the_rule(table: Timetable, begin: datetime, gaps: list[int]) -> None:
    nows = [begin]
    for gap in gaps:
        nows.append(nows[-1] + timedelta(seconds=gap))
    fired, done = rounds(table, nows)
    assert all(earlier < later for earlier, later in pairwise(fired))
    assert all(begin < time <= nows[-1] for time in fired)
    assert done.next_fire is not None
    assert done.next_fire > nows[-1]
    assert done.next_fire == table.first_after(nows[-1])


@given(tables, moments, st.lists(st.integers(0, 4_000), min_size=1, max_size=5))
def test_fire_all_loses_none(table: Timetable, begin: datetime, gaps: list[int]) -> None:
    nows = [begin]
    for gap in gaps:
        nows.append(nows[-1] + timedelta(seconds=gap))
    fired, _ = rounds(replace(table, misfire=Misfire.FIRE_ALL), nows)
    assert fired == list(table.cron.between(begin, nows[-1], table.zone))


@given(tables, moments, st.integers(0, 4_000))
def test_each_rule_does_as_it_says(table: Timetable, begin: datetime, slept: int) -> None:
    """One sleep, of which every second was meant to be seen: the oracle walks through all its times."""
    now = begin + timedelta(seconds=slept)
    every = list(table.cron.between(begin, now, table.zone))
    missed = [time for time in every if now - time > table.grace]
    kept = every[len(missed) :]
    wanted = {
        Misfire.FIRE_ALL: every,
        Misfire.FIRE_ONCE: missed[-1:] + kept,
        Misfire.SKIP: kept,
    }[table.misfire]
    done = compute(table, now, table.first_after(begin), None)
    assert list(done.fires) == wanted[:FIRES_MAX]
    assert done.missed_since == (missed[0] if missed else None)
    if len(wanted) > FIRES_MAX:
        assert done.next_fire == wanted[FIRES_MAX]
    else:
        assert done.next_fire == table.first_after(now)


@given(tables, moments, seconds, seconds)
def test_nothing_fires_outside_of_start_and_end(table: Timetable, begin: datetime, start: int, length: int) -> None:
    bounded = replace(table, start=begin + timedelta(seconds=start), end=begin + timedelta(seconds=start + length))
    assert bounded.start is not None
    assert bounded.end is not None
    inside = upcoming(bounded, begin - timedelta(days=9), 50)
    assert all(bounded.start <= time <= bounded.end for time in inside)
    done = compute(bounded, begin, None, None)
    assert done.next_fire == next(iter(upcoming(bounded, begin, 1)), None)


@given(tables, moments)
def test_a_new_schedule_begins_now_and_not_in_the_past(table: Timetable, now: datetime) -> None:
    done = compute(table, now, None, None)
    assert done.fires == ()
    assert done.missed_since is None
    assert done.next_fire is not None
    assert done.next_fire > now


# ------------------------------------------------------------------------------------------------ cases


def test_a_month_of_missed_seconds_is_passed_over_at_once() -> None:
    table = a_table("* * * * * ?")
    done = compute(table, after(days=30), after(seconds=1), None)
    assert len(done.fires) == 62
    assert done.fires[0] == after(days=30, seconds=-61)
    assert done.missed_since == after(seconds=1)


def test_times_that_pass_before_a_master_sees_a_new_schedule_are_late_or_missed_like_any_other() -> None:
    made, seen = NOON + timedelta(seconds=30), after(minutes=12)
    minutes = [after(minutes=number) for number in range(1, 13)]
    every = a_table("* * * * *", misfire=Misfire.FIRE_ALL)
    assert compute(every, seen, None, None, made) == Computed(tuple(minutes), after(minutes=13), minutes[0])
    once = replace(every, misfire=Misfire.FIRE_ONCE)
    assert compute(once, seen, None, None, made).fires == tuple(minutes[-3:]), "the latest missed, and what is in time"
    assert compute(replace(every, misfire=Misfire.SKIP), seen, None, None, made).fires == tuple(minutes[-2:])
    assert compute(every, made + timedelta(seconds=1), None, None, made) == Computed((), minutes[0])


def test_they_count_from_its_start_time_if_that_is_later_and_after_what_was_fired() -> None:
    every = a_table("* * * * *", misfire=Misfire.FIRE_ALL)
    late = replace(every, start=after(minutes=10))
    assert compute(late, after(minutes=12), None, None, NOON).fires == tuple(after(minutes=n) for n in (10, 11, 12))
    assert compute(every, after(minutes=12), None, after(minutes=11), NOON).fires == (after(minutes=12),)


def test_a_schedule_that_was_made_in_the_future_of_a_clock_that_was_set_back_begins_now() -> None:
    assert compute(a_table("* * * * *"), NOON, None, None, after(hours=1)) == Computed((), after(minutes=1))


def test_a_late_fire_within_the_grace_is_an_ordinary_one() -> None:
    table = a_table("0 13 * * *", misfire=Misfire.SKIP)
    assert compute(table, after(hours=1, seconds=60), after(hours=1), None).fires == (after(hours=1),)
    done = compute(table, after(hours=1, seconds=61), after(hours=1), None)
    assert (done.fires, done.next_fire, done.missed_since) == ((), after(hours=25), after(hours=1))


def test_what_was_computed_before_its_time_stays() -> None:
    assert compute(a_table("0 13 * * *"), NOON, after(hours=1), None) == Computed((), after(hours=1))


def test_a_clock_that_was_set_back_fires_nothing_twice() -> None:
    table = a_table("0 * * * *")
    assert compute(table, NOON, None, after(hours=3)).next_fire == after(hours=4)
    assert compute(table, NOON, after(hours=4), after(hours=3)).fires == ()


def test_it_ends_with_its_end() -> None:
    table = a_table("0 * * * *", end=after(hours=2))
    assert compute(table, after(hours=2), after(hours=2), after(hours=1)) == Computed((after(hours=2),), None)
    assert compute(table, after(hours=3), after(hours=3), None) == Computed((), None)
    assert "is left before its end, 2026-03-01 14:00:00 UTC" in table.why_exhausted


def test_a_next_time_before_a_start_set_by_hand_does_not_count() -> None:
    table = a_table("0 * * * *", start=after(days=1))
    assert compute(table, after(hours=2), after(hours=1), None) == Computed((), after(days=1))


def a_row(**fields: object) -> ScheduleRow:
    row = ScheduleRow(
        ScheduleId(1),
        1001,
        "0 5 * * *",
        "UTC",
        None,
        None,
        "ONLINE",
        "SKIP",
        5.0,
        None,
        None,
        None,
        "2026-01-01",
        "2026-01-01",
    )
    return replace(row, **fields)  # type: ignore[arg-type]


def test_a_row_is_read() -> None:
    table = Timetable.of(a_row(time_zone="Europe/Berlin", start_time="2026-03-01 12:00:00+00", end_time=None))
    assert (table.zone.key, table.start, table.end) == ("Europe/Berlin", NOON, None)
    assert (table.misfire, table.grace) == (Misfire.SKIP, timedelta(seconds=5))


@every(
    ("fields", "sentence"),
    [
        ({"crontab": "every day"}, "cron|field"),
        ({"time_zone": "Mars/Olympus"}, "there is no time zone"),
        ({"start_time": "infinity"}, "start_time must be a time from the year 1900 to 9000, not infinity"),
        ({"end_time": "12026-01-01 00:00:00+00"}, "end_time must be a time"),
        ({"end_time": "0001-01-01 00:00:00+00 BC"}, "end_time must be a time"),
        ({"misfire_grace_s": float("nan")}, "misfire_grace_s must be from 0 to"),
        ({"misfire_grace_s": float("inf")}, "misfire_grace_s must be from 0 to"),
    ],
)
def test_a_broken_row_is_told_in_a_sentence(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        Timetable.of(a_row(**fields))


def test_a_stored_time_may_be_missing() -> None:
    assert stored_time(None, "start_time") is None


@every(
    ("spec", "sentence"),
    [
        (ScheduleSpec("0 5 * *"), "cron|field"),
        (ScheduleSpec("0 5 * * *", params="["), "params is not valid JSON"),
        (ScheduleSpec("0 5 * * *", misfire_grace_s=-1), "misfire_grace_s"),
        (ScheduleSpec("0 5 * * *", end_time=NOON), 'no fire time of "0 5 \\* \\* \\*" is left before its end'),
        (ScheduleSpec("0 0 5 * * ? 2020"), "is left; change it"),
    ],
)
def test_what_would_never_fire_is_refused_when_it_is_saved(spec: ScheduleSpec, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        spec.checked(NOON)
