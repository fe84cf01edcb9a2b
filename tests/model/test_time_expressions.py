"""Time expressions: what `$[...]` becomes, what stays, and the days on which the clock jumps."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from time import process_time
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given
from hypothesis import strategies as st

from model.time.time_expressions import replace_time_expressions, time_expression
from tests.every import every

FRIDAY = datetime(2022, 8, 26, 13, 5, 9, 7000, tzinfo=UTC)
FULL = "yyyy-MM-dd HH:mm:ss"

zones = st.sampled_from(sorted(available_timezones() - {"localtime"})).map(ZoneInfo)
moments = st.datetimes(
    datetime.fromisoformat("1950-01-01"), datetime.fromisoformat("2037-01-01"), timezones=st.just(UTC)
)


def said(expression: str, at: datetime = FRIDAY, zone: str = "UTC") -> str | None:
    return time_expression(expression, at, ZoneInfo(zone))


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


# -------------------------------------------------------------------------------------------------- expressions


@every(
    ("expression", "text"),
    [
        ("yyyyMMdd", "20220826"), ("yyyy-MM-dd HH:mm:ss", "2022-08-26 13:05:09"),
        ("yyyyMMdd-1", "20220825"), ("yyyy-MM-dd-1", "2022-08-25"), ("yyyy-MM-dd+1", "2022-08-27"),
        ("yyyyMMdd+7*2", "20220909"), ("yyyyMMdd-7*2", "20220812"), ("yyyyMMdd-(1+2)", "20220823"),
        ("yyyyMMdd+1-2", "20220825"), ("yyyyMMdd+2*(3-1)", "20220830"),
        ("yyyyMMddHHmmss-1/24", "20220826120509"), ("HHmmss+15/24/60", "132009"), ("HHmm-10/24*2", "1705"),
        ("yyyyMMddHH+36/24", "2022082801"), ("yyyy-MM-dd'T'HH-1", "2022-08-25T13"), ("yyyy'-1'", "2022-1"),
        ("yyyy-01-01", "2022-01"), ("yyyyMMdd-1-1", "20220825-1"), ("yyyyMMdd-0", "20220826"),
        ("yyyy-(MM)", "2022-(08)"), ("yyyy+1+", "2022+1+"),
        ("yyyyMMdd-(1", "20220826-(1"), ("yyyyMMdd-" + "(" * 400 + "1" + ")" * 400, "20220825"),
        ("add_months(yyyyMMdd,-12*2)", "20200826"), ("add_months(yyyyMMdd, 6)", "20230226"),
        ("this_day(yyyy-MM-dd)", "2022-08-26"), ("last_day(yyyy-MM-dd)", "2022-08-25"),
        ("last_day(EEE, d MMM)", "Thu, 25 Aug"),
        ("year_week(yyyy-MM-dd)", "2022-34"), ("year_week(yyyyMMdd)", "202234"),
        ("year_week(yyyy-MM-dd,5)", "2022-35"), ("year_week(yyyyMMdd,5)", "202235"),
        ("month_first_day(yyyy-MM-dd,-1)", "2022-07-01"), ("month_first_day(yyyy-MM-dd)", "2022-08-01"),
        ("month_last_day(yyyy-MM-dd,-1)", "2022-07-31"), ("month_last_day(yyyyMMdd,6)", "20230228"),
        ("week_first_day(yyyy-MM-dd,0)", "2022-08-22"), ("week_first_day(yyyy-MM-dd,-1)", "2022-08-15"),
        ("week_last_day(yyyy-MM-dd,0)", "2022-08-28"), ("week_last_day(yyyy-MM-dd,-1)", "2022-08-21"),
        ("month_begin(yyyyMMdd,1)", "20220802"), ("month_begin(yyyyMMdd,-1)", "20220731"),
        ("month_end(yyyyMMdd,-1)", "20220830"), ("month_end(yyyyMMdd,1)", "20220901"),
        ("week_begin(yyyyMMdd,1)", "20220823"), ("week_end(yyyyMMdd,-1)", "20220827"),
        ("timestamp(yyyyMMddHHmmss)", "1661519109"), ("timestamp(yyyyMMdd000000)", "1661472000"),
        ("timestamp(yyyyMMdd00mmss)", "1661472309"), ("timestamp(yyyyMMddHHmmss-1)", "1661432709"),
        ("timestamp(month_begin(yyyyMMddHHmmss,1))", "1659445509"),
        ("timestamp(add_months(yyyyMMdd000000,-1))", "1658793600"),
    ],
)  # fmt: skip
def test_every_form_on_a_friday_in_august(expression: str, text: str) -> None:
    assert said(expression) == text


@every(
    ("day", "months", "there"),
    [("2026-03-31", -1, "20260228"), ("2024-02-29", 12, "20250228"), ("2024-02-29", 48, "20280229"),
     ("2026-01-15", -1, "20251215"), ("2026-12-31", 2, "20270228")],
)  # fmt: skip
def test_months_end_where_the_shorter_month_does(day: str, months: int, there: str) -> None:
    assert said(f"add_months(yyyyMMdd,{months})", instant(f"{day}T00:00+00:00")) == there


@every(("day", "week"), [("2022-01-01", "2021-52"), ("2021-01-01", "2020-53"), ("2024-12-30", "2025-01")])
def test_a_week_has_one_name_on_both_sides_of_new_year(day: str, week: str) -> None:
    assert said("year_week(yyyy-MM-dd)", instant(f"{day}T00:00+00:00")) == week


@given(moments)
def test_weeks_from_monday_are_those_of_iso(at: datetime) -> None:
    year, week, _ = at.isocalendar()
    assert said("year_week(yyyy-MM-dd)", at) == f"{year}-{week:02}" == said("YYYY-ww", at)


@every(
    "expression",
    [
        "", " ", "1", "1+2", "i+1", "foo", "yyyy'T", "this_day()", "add_months(yyyyMMdd,)", "add_months(yyyyMMdd,x)",
        "last_day(yyyy)-1", "nothing(yyyy)", "year_week(yyyy,8)", "year_week(yyyy,0)", "year_week(foo)",
        "timestamp(yyyy)", "timestamp(timestamp(yyyyMMddHHmmss))", "timestamp(yyyyMMdd999999)", "yyyyMMdd-1 HH",
        "yyyyMMdd+1/0", "yyyy+1*", "yyyyMMdd-9999999999999999999999", "yyyyMMdd+4000000", "yyyyMMdd-800000",
        "add_months(yyyy,999999)", "add_months(yyyy,-999999)", "week_begin(yyyy,99999999999)",
        "HHmm+99999999999999999999/24", "y" * 1001, "yyyy-" + "9" * 900, "yyyy+1" + "-" * 900,
    ],
)  # fmt: skip
def test_what_is_no_expression_or_leaves_the_calendar_gives_nothing(expression: str) -> None:
    assert said(expression) is None


@every("at", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
@every("zone", ["UTC", "America/New_York", "Pacific/Kiritimati"])
@every("expression", [FULL, "yyyy-1", "yyyy+1", "year_week(yyyy)", "timestamp(yyyyMMddHHmmss)", "Y"])
def test_the_ends_of_the_calendar_raise_nothing(at: datetime, zone: str, expression: str) -> None:
    said(expression, at, zone)


# --------------------------------------------------------------------------------------- days of a clock's jump


@every(
    ("zone", "at", "expression", "text"),
    [
        # New York: 02:00 becomes 03:00 on 8 March 2026, 02:00 becomes 01:00 on 1 November
        ("America/New_York", "2026-03-09T02:30-04:00", "-1", "2026-03-08 03:30:00 -0400"),  # left out: moved on
        ("America/New_York", "2026-03-07T02:30-05:00", "+1", "2026-03-08 03:30:00 -0400"),
        ("America/New_York", "2026-03-08T23:30-04:00", "-1", "2026-03-07 23:30:00 -0500"),  # 23 hours, still yesterday
        ("America/New_York", "2026-03-09T00:00-04:00", "-1", "2026-03-08 00:00:00 -0500"),
        ("America/New_York", "2026-03-08T03:30-04:00", "-1/24", "2026-03-08 01:30:00 -0500"),
        ("America/New_York", "2026-03-09T00:30-04:00", "-24/24", "2026-03-07 23:30:00 -0500"),  # real hours
        ("America/New_York", "2026-11-02T00:30-05:00", "-1", "2026-11-01 00:30:00 -0400"),  # 25 hours
        ("America/New_York", "2026-11-02T01:30-05:00", "-1", "2026-11-01 01:30:00 -0400"),  # the first of two
        ("America/New_York", "2026-11-01T01:30-05:00", "-0", "2026-11-01 01:30:00 -0500"),  # it stays the second
        ("America/New_York", "2026-11-01T01:30-05:00", "-1/24", "2026-11-01 01:30:00 -0400"),
        ("America/New_York", "2026-11-01T02:30-05:00", "-30/24/60", "2026-11-01 02:00:00 -0500"),
        # Lord Howe: half an hour, 02:00 becomes 02:30 on 4 October 2026, 02:00 becomes 01:30 on 5 April
        ("Australia/Lord_Howe", "2026-10-03T02:15+10:30", "+1", "2026-10-04 02:45:00 +1100"),
        ("Australia/Lord_Howe", "2026-10-04T02:45+11:00", "-1/24", "2026-10-04 01:15:00 +1030"),
        ("Australia/Lord_Howe", "2026-04-05T01:45+10:30", "-30/24/60", "2026-04-05 01:45:00 +1100"),
        ("Australia/Lord_Howe", "2026-04-06T01:45+10:30", "-1", "2026-04-05 01:45:00 +1100"),
        # Apia: 30 December 2011 never came
        ("Pacific/Apia", "2011-12-31T05:00+14:00", "-1", "2011-12-30 05:00:00 -1000"),
        ("Pacific/Apia", "2011-12-31T05:00+14:00", "-2", "2011-12-29 05:00:00 -1000"),
        ("Pacific/Apia", "2011-12-31T05:00+14:00", "-6/24", "2011-12-29 23:00:00 -1000"),
        ("Pacific/Apia", "2011-12-29T05:00-10:00", "+2", "2011-12-31 05:00:00 +1400"),
        # Sao Paulo: midnight becomes 01:00 on 4 November 2018
        ("America/Sao_Paulo", "2018-11-05T00:00-02:00", "-1", "2018-11-04 01:00:00 -0200"),
    ],
)  # fmt: skip
def test_days_go_by_the_calendar_and_parts_of_a_day_by_real_time(
    zone: str, at: str, expression: str, text: str
) -> None:
    assert said(f"{FULL} Z{expression}", instant(at), zone) == text


@every("at", ["2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00"])
def test_a_timestamp_tells_the_two_hours_of_an_autumn_night_apart(at: str) -> None:
    assert said("timestamp(yyyyMMddHHmmss)", instant(at), "America/New_York") == str(int(instant(at).timestamp()))


def test_a_timestamp_of_a_midnight_is_computed_in_the_zone() -> None:
    at = instant("2026-03-08T12:00-04:00")
    midnight = str(int(instant("2026-03-08T00:00-05:00").timestamp()))
    assert said("timestamp(yyyyMMdd000000)", at, "America/New_York") == midnight


@given(moments, zones, st.integers(-5000, 5000))
def test_a_shift_by_days_always_lands_on_that_calendar_day(at: datetime, zone: ZoneInfo, days: int) -> None:
    there = at.astimezone(zone).date() + timedelta(days=days)
    assert time_expression(f"yyyy-MM-dd{days:+}", at, zone) == str(there)


@given(moments, zones, st.integers(0, 5000))
def test_a_shift_by_minutes_is_real_time(at: datetime, zone: ZoneInfo, minutes: int) -> None:
    there = int((at.replace(microsecond=0) + timedelta(minutes=minutes)).timestamp())
    assert time_expression(f"timestamp(yyyyMMddHHmmss+{minutes}/24/60)", at, zone) == str(there)


@given(moments, zones, st.integers(-60, 60))
def test_months_begin_and_end_with_their_first_and_last_day(at: datetime, zone: ZoneInfo, months: int) -> None:
    first = time_expression(f"month_first_day(yyyy-MM-dd,{months})", at, zone)
    last = time_expression(f"month_last_day(yyyy-MM-dd,{months})", at, zone)
    assert first and last and first[-2:] == "01" and first[:7] == last[:7]
    assert (date.fromisoformat(last) + timedelta(days=1)).day == 1


# --------------------------------------------------------------------------------------------------- in a text


@every(
    ("text", "after"),
    [
        ("", ""), ("no such thing", "no such thing"),
        ("from $[yyyyMMdd-1] to $[yyyyMMdd]", "from 20220825 to 20220826"),
        ("echo $[1+2] $[i*2] $[foo] $[] $[ ]", "echo $[1+2] $[i*2] $[foo] $[] $[ ]"),
        ("$$[yyyyMMdd]", "$[yyyyMMdd]"), ("$$[1+2]", "$$[1+2]"), ("$$$[yyyy]", "$$2022"),
        ("$$$$[yyyy]", "$$$[yyyy]"), ("$$$[1+2]", "$$$[1+2]"),
        ("$[$[yyyy]]", "$[2022]"), ("a[yyyy] $yyyy] $[yyyy", "a[yyyy] $yyyy] $[yyyy"), ("$[yyyy\n]", "$[yyyy\n]"),
        ("${arr[$[yyyy]]}", "${arr[2022]}"), ("$[yyyy+99999999999] $[yyyy]", "$[yyyy+99999999999] 2022"),
    ],
)  # fmt: skip
def test_only_time_expressions_are_replaced(text: str, after: str) -> None:
    assert replace_time_expressions(text, FRIDAY, ZoneInfo("UTC")) == after


@given(st.text(), moments, zones)
def test_no_text_raises(text: str, at: datetime, zone: ZoneInfo) -> None:
    replace_time_expressions(text, at, zone)
    replace_time_expressions(f"$[{text}]", at, zone)


@given(
    st.text("yMdHms'-+*/()0123456789, _adlnthmobegi[]$", max_size=60),
    st.sampled_from(["", "timestamp", "month_end"]),
    zones,
)
def test_no_expression_raises(inner: str, function: str, zone: ZoneInfo) -> None:
    replace_time_expressions(f"$[{function}({inner})] $[{inner}]", FRIDAY, zone)


@every("piece", ["$", "$[", "$[y", "$[yyyy-", "$[(", "]", "$[']", "$[+1", "x", "$[1]", "$[yyyyMMdd+1]"])
def test_a_megabyte_takes_no_long_time(piece: str) -> None:
    """CPU time, so that a busy machine fails nothing; a quadratic search would need hours."""
    text = piece * (1_000_000 // len(piece))
    began = process_time()
    replace_time_expressions(text, FRIDAY, ZoneInfo("UTC"))
    assert process_time() - began < 30
