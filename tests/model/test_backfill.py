"""The dates of a backfill: each once, in balanced chains, and what is wrong in a sentence."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.runs.backfill import DATES_MAX, BackfillSpec, Order, RunMode, chains, rest
from model.time.cron import Cron
from tests.every import every

UTC_ZONE = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")
HAVANA = ZoneInfo("America/Havana")
"""Its clock leaves out midnight on the first day of summer time."""

zones = st.sampled_from([UTC_ZONE, BERLIN, HAVANA, ZoneInfo("America/New_York"), ZoneInfo("Asia/Kathmandu")])
days = st.dates(date(2025, 1, 1), date(2027, 12, 31))


def parsed(**fields: object) -> BackfillSpec:
    return BackfillSpec.parse(json.dumps({name.strip("_"): value for name, value in fields.items()}))


def a_range(begin: str, end: str, **fields: object) -> BackfillSpec:
    return BackfillSpec.parse(json.dumps({"from": begin, "to": end, **fields}))


def fault(**fields: object) -> str:
    with pytest.raises(Refused) as caught:
        spec = parsed(**fields)
        chains(spec, None, UTC_ZONE)
    return str(caught.value)


def iso(found: list[list[datetime]]) -> list[list[str]]:
    return [[time.isoformat() for time in chain] for chain in found]


# -------------------------------------------------------------------------------------------------- laws


@given(
    st.lists(days, min_size=1, max_size=60), st.sampled_from(RunMode), st.integers(0, 70), st.sampled_from(Order), zones
)
def test_each_date_is_in_one_chain_and_the_chains_are_balanced_and_in_order(
    listed: list[date], mode: RunMode, parallelism: int, order: Order, zone: ZoneInfo
) -> None:
    spec = parsed(dates=[str(day) for day in listed], mode=mode, parallelism=parallelism, order=order)
    found = chains(spec, None, zone)
    wanted = sorted({datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC) for day in listed})
    if order is Order.DESC:
        wanted.reverse()
    assert [time for chain in found for time in chain] == wanted
    assert len(found) == (1 if mode is RunMode.SERIAL else min(parallelism or len(wanted), len(wanted)))
    assert max(map(len, found)) - min(map(len, found)) <= 1


@given(days, st.integers(0, 60), zones)
def test_a_range_without_a_schedule_has_one_time_for_each_of_its_days(first: date, length: int, zone: ZoneInfo) -> None:
    last = first + timedelta(days=length)
    (chain,) = chains(a_range(str(first), str(last)), None, zone)
    assert [time.astimezone(zone).date() for time in chain] == [
        first + timedelta(days=day) for day in range(length + 1)
    ]


@given(
    days, st.integers(0, 20), zones, st.sampled_from(["0 5 * * *", "*/30 * * * *", "0 0 0 * * ?", "0 30 2 ? * MON-FRI"])
)
def test_a_range_has_every_fire_time_of_the_schedule_in_it(first: date, length: int, zone: ZoneInfo, cron: str) -> None:
    last = first + timedelta(days=length)
    rule = Cron.parse(cron)
    before = datetime(first.year, first.month, first.day, tzinfo=UTC) - timedelta(days=2)
    days_of_range = {first + timedelta(days=day) for day in range(length + 1)}
    wanted = [
        time
        for time in rule.between(before, before + timedelta(days=length + 5), zone)
        if time.astimezone(zone).date() in days_of_range
    ]
    spec = a_range(str(first), str(last))
    if wanted:
        assert chains(spec, partial(rule_between, rule, zone), zone) == [wanted]
    else:
        with pytest.raises(Refused, match="no fire time of the workflow's schedule lies from"):
            chains(spec, partial(rule_between, rule, zone), zone)


def rule_between(rule: Cron, zone: ZoneInfo, start: datetime, end: datetime) -> list[datetime]:
    return list(rule.between(start, end, zone))


@given(st.lists(days, min_size=1, max_size=20, unique=True), st.sampled_from(Order), st.booleans(), zones)
def test_the_rest_of_a_chain_goes_on_as_the_chain_would_have(
    listed: list[date], order: Order, dependents: bool, zone: ZoneInfo
) -> None:
    spec = parsed(
        dates=[str(day) for day in listed], order=order, dependents=dependents, mode="PARALLEL", parallelism=2
    )
    done: list[datetime] = []
    for chain in chains(spec, None, zone):
        left = chain
        while left:
            done.append(left[0])
            if not left[1:]:
                break
            following = BackfillSpec.parse(rest(spec, left[1:]))
            assert (following.mode, following.order, following.dependents) == (RunMode.SERIAL, order, dependents)
            (left,) = chains(following, None, UTC_ZONE)
    assert done == [time for chain in chains(spec, None, zone) for time in chain]


# ------------------------------------------------------------------------------------------------- cases


def test_ten_dates_and_a_parallelism_of_three_make_three_chains() -> None:
    """DolphinScheduler ran ceil(10/3) = 4 (apache/dolphinscheduler#17831)."""
    found = chains(a_range("2026-01-01", "2026-01-10", mode="PARALLEL", parallelism=3), None, UTC_ZONE)
    assert [len(chain) for chain in found] == [4, 3, 3]
    assert found[1][0] == datetime(2026, 1, 5, tzinfo=UTC)


def test_in_parallel_without_a_number_each_date_is_a_chain() -> None:
    for given_number in ({}, {"parallelism": 0}, {"parallelism": None}):
        found = chains(a_range("2026-01-01", "2026-01-04", mode="parallel", **given_number), None, UTC_ZONE)
        assert [len(chain) for chain in found] == [1, 1, 1, 1]


def test_descending_begins_with_the_last() -> None:
    found = chains(a_range("2026-01-01", "2026-01-03", order="DESC"), None, BERLIN)
    assert iso(found) == [["2026-01-02T23:00:00+00:00", "2026-01-01T23:00:00+00:00", "2025-12-31T23:00:00+00:00"]]


def test_times_bound_a_range_to_the_second_and_both_count() -> None:
    rule = partial(rule_between, Cron.parse("0 * * * *"), UTC_ZONE)
    found = chains(a_range("2026-01-01 05:00:00", "2026-01-01T08:00:00+01:00"), rule, UTC_ZONE)
    assert iso(found) == [["2026-01-01T05:00:00+00:00", "2026-01-01T06:00:00+00:00", "2026-01-01T07:00:00+00:00"]]


def test_a_midnight_that_the_clock_leaves_out_is_the_first_moment_of_its_day() -> None:
    (chain,) = chains(a_range("2026-03-07", "2026-03-09"), None, HAVANA)
    assert [time.astimezone(HAVANA).isoformat() for time in chain] == [
        "2026-03-07T00:00:00-05:00", "2026-03-08T01:00:00-04:00", "2026-03-09T00:00:00-04:00",
    ]  # fmt: skip


def test_the_names_of_dolphinscheduler_are_known() -> None:
    theirs = parsed(
        complementStartDate="2026-01-01 00:00:00",
        complementEndDate="2026-01-31 00:00:00",
        runMode="RUN_MODE_PARALLEL",
        expectedParallelismNumber="2",
        executionOrder="DESC_ORDER",
        complementDependentMode="ALL_DEPENDENT",
    )
    assert theirs == a_range(
        "2026-01-01 00:00:00", "2026-01-31 00:00:00",
        mode="PARALLEL", parallelism=2, order="DESC", dependents=True,
    )  # fmt: skip
    listed = parsed(complementScheduleDateList="2026-01-02 00:00:00,2026-01-01 00:00:00, 2026-01-02")
    assert iso(chains(listed, None, UTC_ZONE)) == [["2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"]]


@every(
    ("fields", "sentence"),
    [
        ({}, 'backfill needs "from" and "to", or "dates"; write {"from": "2026-01-01", "to": "2026-01-31"}'),
        ({"from_": "2026-01-01"}, 'backfill needs "from" and "to", or "dates"'),
        ({"dates": []}, 'backfill needs "from" and "to", or "dates"'),
        ({"dates": ["2026-01-01"], "to": "2026-01-01"}, 'backfill has both "dates" and a range; keep one of them'),
        ({"dates": [1]}, "backfill: dates must be a list such as"),
        ({"dates": ["soon"]}, 'backfill: date "soon" is not a date or time; write 2026-01-31 or 2026-01-31T05:00:00'),
        ({"dates": ["0001-01-01"]}, "backfill: date 0001-01-01 is too far away; use a year from 1900 to 9000"),
        ({"dates": ["2026-01-01"] * (DATES_MAX + 1)}, "backfill has more than 10000 dates; split it into parts"),
        ({"from_": 1, "to": "2026-01-01"}, 'backfill: from must be a text such as "2026-01-31"'),
        ({"from_": "2026-01-02", "to": "2026-01-01"}, "backfill ends before it begins"),
        ({"from_": "1990-01-01", "to": "2026-01-01"}, "has more than 10000 times; split it into parts"),
        ({"from_": "2026-01-01T01:00", "to": "2026-01-01T02:00"}, "no midnight lies from"),
        ({"form": "2026-01-01"}, 'backfill has no field "form"; did you mean "from"?'),
        ({"from_": "2026-01-01", "complementStartDate": "2026-01-01"}, 'backfill says "from" twice'),
        ({"dates": ["2026-01-01"], "mode": "FAST"}, 'backfill: mode "FAST" is unknown; use SERIAL or PARALLEL'),
        ({"dates": ["2026-01-01"], "order": ["ASC"]}, "is unknown; use ASC or DESC"),
        ({"dates": ["2026-01-01"], "parallelism": -1}, "parallelism must be a whole number from 0 to 10000, not -1"),
        ({"dates": ["2026-01-01"], "parallelism": True}, "parallelism must be a whole number"),
        ({"dates": ["2026-01-01"], "parallelism": "9" * 5000}, "parallelism must be a whole number"),
        ({"dates": ["2026-01-01"], "dependents": "yes"}, "backfill: dependents must be true or false"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(fields: dict[str, object], sentence: str) -> None:
    assert sentence in fault(**fields)


@every("text", ["", "[]", "1", "null", '"x"', "{", "[" * 100_000, "\x00"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="backfill must be a JSON object; write "):
        BackfillSpec.parse(text)
