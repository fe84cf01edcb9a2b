"""When cron fires: what is read, what is refused, and the nights on which clocks jump."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.time.cron import Cron
from tests.every import every

NEW_YORK = ZoneInfo("America/New_York")
UTC_ZONE = ZoneInfo("UTC")
MINUTE = timedelta(minutes=1)


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def first(text: str, count: int, after: str = "2026-01-01T00:00+00:00", zone: ZoneInfo = UTC_ZONE) -> list[str]:
    """The first fires, on the zone's clock, without seconds that are 0."""
    fires = islice(Cron.parse(text).after(instant(after), zone), count)
    return [f"{fire.astimezone(zone):%m-%d %H:%M:%S}".removesuffix(":00") for fire in fires]


def fires_between(text: str, start: str, end: str, zone: str) -> list[str]:
    """The fires on the zone's clock, with the offset."""
    fires = Cron.parse(text).between(instant(start), instant(end), ZoneInfo(zone))
    return [f"{fire.astimezone(ZoneInfo(zone)):%d %H:%M%z}" for fire in fires]


def fault(text: str) -> str:
    with pytest.raises(Refused) as caught:
        Cron.parse(text)
    return str(caught.value)


# -------------------------------------------------------------------------------------------------------- read


@every(
    ("text", "fires"),
    [
        # 1 January 2026 is a Thursday
        ("0 0 5 * * ? *", ["01-01 05:00", "01-02 05:00"]),
        ("0 5 * * *", ["01-01 05:00", "01-02 05:00"]),
        ("0 0 5 * * *", ["01-01 05:00", "01-02 05:00"]),
        ("15 0 0 * * ?", ["01-01 00:00:15", "01-02 00:00:15"]),
        ("*/30 * * * *", ["01-01 00:30", "01-01 01:00"]),
        ("0 5/15 9 * * ?", ["01-01 09:05", "01-01 09:20", "01-01 09:35", "01-01 09:50", "01-02 09:05"]),
        ("0 /20 * * * ?", ["01-01 00:20", "01-01 00:40", "01-01 01:00"]),
        ("0 0 12 ? * 2", ["01-05 12:00", "01-12 12:00"]),  # Quartz: Monday
        ("0 12 * * 2", ["01-06 12:00", "01-13 12:00"]),  # ordinary: Tuesday
        ("0 12 * * 0", ["01-04 12:00", "01-11 12:00"]),
        ("0 12 * * 7", ["01-04 12:00", "01-11 12:00"]),
        ("0 12 * * 5-7", ["01-02 12:00", "01-03 12:00", "01-04 12:00", "01-09 12:00"]),
        ("0 12 * * fri-sun", ["01-02 12:00", "01-03 12:00", "01-04 12:00", "01-09 12:00"]),
        ("0 12 * * SAT-MON/2", ["01-03 12:00", "01-05 12:00", "01-10 12:00"]),
        ("0 12 * * 7-2", ["01-04 12:00", "01-05 12:00", "01-06 12:00", "01-11 12:00"]),
        ("0 12 * * 5/2", ["01-02 12:00", "01-09 12:00"]),
        ("0 0 12 ? * FRI-MON", ["01-02 12:00", "01-03 12:00", "01-04 12:00", "01-05 12:00", "01-09 12:00"]),
        ("0 0 12 ? * MON-FRI/2", ["01-02 12:00", "01-05 12:00", "01-07 12:00"]),
        ("0 0 12 ? * 6L", ["01-30 12:00", "02-27 12:00"]),
        ("0 0 12 ? * friL", ["01-30 12:00", "02-27 12:00"]),
        ("0 0 12 ? * L", ["01-03 12:00", "01-10 12:00"]),
        ("0 0 12 ? * 6#3", ["01-16 12:00", "02-20 12:00"]),
        ("0 0 12 ? * MON#5", ["03-30 12:00", "06-29 12:00"]),
        ("0 12 * * 5L", ["01-30 12:00", "02-27 12:00"]),
        ("0 12 * * 5#3", ["01-16 12:00", "02-20 12:00"]),
        ("0 0 12 L * ?", ["01-31 12:00", "02-28 12:00"]),
        ("0 0 12 LW * ?", ["01-30 12:00", "02-27 12:00"]),
        ("0 0 12 L-3 * ?", ["01-28 12:00", "02-25 12:00", "03-28 12:00"]),
        ("0 0 12 15W * ?", ["01-15 12:00", "02-16 12:00", "03-16 12:00", "04-15 12:00", "05-15 12:00"]),
        ("0 12 1W * *", ["01-01 12:00", "02-02 12:00", "03-02 12:00", "04-01 12:00", "05-01 12:00", "06-01 12:00"]),
        ("0 0 12 1W 8 ?", ["08-03 12:00", "08-02 12:00"]),  # the 1st is a Saturday; in 2027 it is a Sunday
        ("0 0 12 31W * ?", ["01-30 12:00", "03-31 12:00", "05-29 12:00"]),
        ("0 0 22-2/2 * * ?", ["01-01 02:00", "01-01 22:00", "01-02 00:00"]),
        ("0 0 0 1 NOV-FEB ?", ["02-01 00:00", "11-01 00:00", "12-01 00:00", "01-01 00:00"]),
        ("0 12 13 * FRI", ["01-02 12:00", "01-09 12:00", "01-13 12:00"]),  # ordinary cron: either
        ("0 12 */2 * MON", ["01-05 12:00", "01-19 12:00"]),  # with a star: both
        ("0 12 13 * 0-6", ["01-01 12:00", "01-02 12:00"]),  # no star, although it is every day
        ("0 12 1-31 * MON", ["01-01 12:00", "01-02 12:00"]),
    ],
)  # fmt: skip
def test_what_a_text_means(text: str, fires: list[str]) -> None:
    assert first(text, len(fires)) == fires


@every(
    ("text", "days"),
    [
        ("0 0 0 1 1 ? 2027,2030-2034/2", ["2027-01-01", "2030-01-01", "2032-01-01", "2034-01-01"]),
        ("0 0 0 1 1 ? 2098/1", ["2098-01-01", "2099-01-01"]),
        ("0 0 0 1 1 ? 1999", []),
        ("0 0 0 29 2 ? 2027", []),
        ("0 0 0 29 2 ? 2090/3", ["2096-02-29"]),
        ("0 0 0 29W 2 ? 2027-2033", ["2028-02-29", "2032-02-27"]),
        ("0 0 0 L-28 2 ? 2027-2033", ["2028-02-01", "2032-02-01"]),
    ],
)
def test_a_year_ends_the_fires(text: str, days: list[str]) -> None:
    fires = Cron.parse(text).after(instant("2026-06-01T00:00+00:00"), UTC_ZONE)
    assert [str(fire.date()) for fire in fires] == days


def test_a_year_far_away_is_leapt_to() -> None:
    """Second by second there would be two thousand million of them."""
    fires = Cron.parse("* * * * * ? 2099").after(instant("2026-06-01T00:00+00:00"), NEW_YORK)
    assert next(fires) == instant("2099-01-01T00:00-05:00")


def test_the_rarest_days_are_found() -> None:
    fires = Cron.parse("0 0 * 2 MON#5").after(instant("2026-06-01T00:00+00:00"), UTC_ZONE)
    assert [fire.year for fire in islice(fires, 4)] == [2044, 2072, 2112, 2140]


@every("text", ["0 0 0 * * ?", "* * * * * ?", "0 0 29W 2 *"])
@every("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
@every("zone", [UTC_ZONE, NEW_YORK, ZoneInfo("Pacific/Kiritimati")])
def test_the_ends_of_the_calendar_raise_nothing(text: str, moment: datetime, zone: ZoneInfo) -> None:
    list(islice(Cron.parse(text).after(moment, zone), 3))


def test_without_a_year_fires_end_when_the_calendar_nearly_does() -> None:
    assert len(list(Cron.parse("0 0 1 1 *").after(instant("8990-06-01T00:00+00:00"), NEW_YORK))) == 10


def test_a_fire_is_later_than_the_moment_by_less_than_a_second_too() -> None:
    cron = Cron.parse("* * * * * ?")
    assert next(cron.after(instant("2026-01-01T00:00:00.5+00:00"), UTC_ZONE)) == instant("2026-01-01T00:00:01+00:00")
    assert next(cron.after(instant("2026-01-01T00:00:00+00:00"), UTC_ZONE)) == instant("2026-01-01T00:00:01+00:00")


def test_windows_that_follow_each_other_share_no_fire_and_miss_none() -> None:
    hours = [instant(f"2026-01-01T{hour:02}:00+00:00") for hour in range(6)]
    cron = Cron.parse("*/30 * * * *")
    windows = [fire for start, end in pairwise(hours) for fire in cron.between(start, end, UTC_ZONE)]
    assert windows == list(cron.between(hours[0], hours[-1], UTC_ZONE))
    assert len(windows) == 10


# ----------------------------------------------------------------------------------------------------- refused


@every(
    ("text", "sentence"),
    [
        ("* * * *", 'cron "* * * *" must have 5 fields (minute hour day month weekday), or 6 or 7 as in Quartz (second'
         " minute hour day month weekday [year]), not 4"),
        ("60 * * * *", 'cron "60 * * * *": minute "60" is not right at "60"; it takes numbers from 0 to 59'),
        ("0 0 99 * * ?", 'cron "0 0 99 * * ?": hour "99" is not right at "99"; it takes numbers from 0 to 23'),
        ("0 0 0 1 * MON", 'cron "0 0 0 1 * MON": day of month and day of week are both given, which Quartz cannot join;'
         " write ? in one of them"),
        ("0 0 0 ? * ?", 'cron "0 0 0 ? * ?": day of month and day of week are both ?; write * in one of them'),
        ("* * ? * *", 'cron "* * ? * *": ? belongs to Quartz cron, which begins with seconds; write * here'),
        ("0 0 30 2 *",
         'cron "0 0 30 2 *": day of month "30" never comes in month "2"; choose a day that the month has'),
        ("*/90 * * * *", 'cron "*/90 * * * *": minute "*/90": the step after / must be a number from 1 to 59'),
        ("* * 15W * 1", 'cron "* * 15W * 1": day of month "15W" cannot be joined with a day of week; write * for the'
         " day of week"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_field(text: str, sentence: str) -> None:
    assert fault(text) == sentence


@every(
    ("text", "field"),
    [
        ("a" * 2000, "longer"), ("@fortnightly", "nickname"), ("", "fields"), ("0 0 0 0 0 0 0 0", "fields"),
        ("x * * * * ?", "second"), ("-1 * * * *", "minute"), ("1,,2 * * * *", "minute"), ("1-2-3 * * * *", "minute"),
        ("1/2/3 * * * *", "minute"), ("*/0 * * * *", "minute"), ("*/ * * * *", "minute"), ("² * * * *", "minute"),
        ("9" * 900 + " * * * *", "minute"), ("**/2 * * * *", "minute"), ("? * * * *", "minute"),
        ("L * * * *", "minute"),
        ("* 1-24 * * *", "hour"), ("* * 0 * *", "day of month"), ("* * 15W,3 * *", "day of month"),
        ("* * 32W * *", "day of month"), ("* * L-31 * *", "day of month"), ("* * L/2 * *", "day of month"),
        ("* * WL * *", "day of month"), ("0 0 0 30W 2 ?", "day of month"), ("0 0 0 L-29 FEB ?", "day of month"),
        ("* * 31 2,4,6 *", "day of month"), ("* * * 13 *", "month"), ("* * * MON *", "month"),
        ("* * * * 8", "day of week"),
        ("* * * * JAN", "day of week"), ("* * * * L", "day of week"), ("* * * * 5#6", "day of week"),
        ("0 0 0 ? * 0", "day of week"), ("0 0 0 ? * 8", "day of week"), ("0 0 0 ? * 1#0", "day of week"),
        ("0 0 0 * * ? 1969", "year"), ("0 0 0 * * ? 2030-2029", "year"), ("0 0 0 * * ? ?", "year"),
    ],
)  # fmt: skip
def test_what_cron_does_not_know_is_refused_in_one_line(text: str, field: str) -> None:
    sentence = fault(text)
    assert field in sentence
    assert len(sentence) < 400 and "\n" not in sentence


@given(st.text(max_size=60) | st.text("0123456789*/,-?LW# ", max_size=40))
def test_a_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    try:
        cron = Cron.parse(text)
    except Refused:
        return
    assert cron.in_words
    list(islice(cron.after(instant("2026-01-01T00:00+00:00"), NEW_YORK), 3))


# -------------------------------------------------------------------------------------------------------- words


@every(
    ("text", "words"),
    [
        ("0 0 5 * * ? *", "At 05:00 every day"),
        ("0 0 12 ? * 6", "At 12:00 on Friday"),
        ("0 0 12 ? * MON-FRI", "At 12:00 on Monday through Friday"),
        ("0 0/15 * * * ?", "Every 15th minute of every hour"),
        ("0 0 12 15W * ?", "At 12:00 every day, only on the working day nearest to day 15 of the month"),
        ("0 0 12 L-3 * ?", "At 12:00 every day, only on the day 3 days before the last of the month"),
        ("0 0 0 1 1 ? 2026-2028,2030", "At 00:00 on January 1, only in 2026 to 2028, 2030"),
    ],
)
def test_the_words_for_a_rule(text: str, words: str) -> None:
    assert Cron.parse(text).in_words == words


@every("number", range(1, 8))
def test_the_weekday_in_words_is_that_of_the_fires(number: int) -> None:
    cron = Cron.parse(f"0 0 12 ? * {number}")
    fire = next(cron.after(instant("2026-01-01T00:00+00:00"), UTC_ZONE))
    assert cron.in_words == f"At 12:00 on {fire:%A}"


# ------------------------------------------------------------------------------------- nights of a clock's jump


SPRING = ("America/New_York", "2026-03-08T00:30-05:00", "2026-03-08T05:00-04:00")  # 02:00 becomes 03:00
AUTUMN = ("America/New_York", "2026-11-01T00:15-04:00", "2026-11-01T03:15-05:00")  # 02:00 becomes 01:00
HOWE_SPRING = ("Australia/Lord_Howe", "2026-10-04T00:30+10:30", "2026-10-04T04:00+11:00")  # 02:00 becomes 02:30
HOWE_AUTUMN = ("Australia/Lord_Howe", "2026-04-05T00:30+11:00", "2026-04-05T03:00+10:30")  # 02:00 becomes 01:30
APIA = ("Pacific/Apia", "2011-12-29T12:00-10:00", "2011-12-31T12:00+14:00")  # the 30th never came
SAO_PAULO = ("America/Sao_Paulo", "2018-11-03T12:00-03:00", "2018-11-04T12:00-02:00")  # 00:00 becomes 01:00
DUBLIN = ("Europe/Dublin", "2026-10-25T00:30+01:00", "2026-10-25T03:00+00:00")  # 02:00 becomes 01:00, "negative" DST


@every(
    ("night", "text", "fires"),
    [
        (SPRING, "30 2 * * *", ["08 03:00-0400"]),
        (SPRING, "0 30 2 * * ?", ["08 03:00-0400"]),
        (SPRING, "0 2,3 * * *", ["08 03:00-0400"]),
        (SPRING, "15,45 2 * * *", ["08 03:00-0400"]),
        (SPRING, "30 1-4 * * *", ["08 01:30-0500", "08 03:00-0400", "08 03:30-0400", "08 04:30-0400"]),
        (SPRING, "*/30 * * * *", ["08 01:00-0500", "08 01:30-0500", "08 03:00-0400", "08 03:30-0400", "08 04:00-0400",
                                  "08 04:30-0400", "08 05:00-0400"]),
        (SPRING, "0 */2 * * *", ["08 04:00-0400"]),
        (SPRING, "*/20 2 * * *", []),
        (AUTUMN, "30 1 * * *", ["01 01:30-0400"]),
        (AUTUMN, "0 30 1 * * ?", ["01 01:30-0400"]),
        (AUTUMN, "0 1,2 * * *", ["01 01:00-0400", "01 02:00-0500"]),
        (AUTUMN, "*/30 * * * *", ["01 00:30-0400", "01 01:00-0400", "01 01:30-0400", "01 01:00-0500", "01 01:30-0500",
                                  "01 02:00-0500", "01 02:30-0500", "01 03:00-0500"]),
        (AUTUMN, "*/30 1 * * *", ["01 01:00-0400", "01 01:30-0400", "01 01:00-0500", "01 01:30-0500"]),
        (AUTUMN, "0 0/30 1 1 11 ? 2026", ["01 01:00-0400", "01 01:30-0400", "01 01:00-0500", "01 01:30-0500"]),
        (HOWE_SPRING, "15 2 * * *", ["04 02:30+1100"]),
        (HOWE_SPRING, "45 2 * * *", ["04 02:45+1100"]),
        (HOWE_SPRING, "*/20 2-3 * * *", ["04 02:40+1100", "04 03:00+1100", "04 03:20+1100", "04 03:40+1100"]),
        (HOWE_AUTUMN, "45 1 * * *", ["05 01:45+1100"]),
        (HOWE_AUTUMN, "45 * * * *", ["05 00:45+1100", "05 01:45+1100", "05 01:45+1030", "05 02:45+1030"]),
        (HOWE_AUTUMN, "*/20 1-2 * * *", ["05 01:00+1100", "05 01:20+1100", "05 01:40+1100", "05 01:40+1030",
                                         "05 02:00+1030", "05 02:20+1030", "05 02:40+1030"]),
        (APIA, "0 5 * * *", ["31 00:00+1400", "31 05:00+1400"]),
        (APIA, "0 */6 * * *", ["29 18:00-1000", "31 00:00+1400", "31 06:00+1400", "31 12:00+1400"]),
        (APIA, "0 5 30 12 *", ["31 00:00+1400"]),
        (APIA, "*/30 5 30 12 *", []),
        (SAO_PAULO, "0 0 * * *", ["04 01:00-0200"]),
        (SAO_PAULO, "0 */4 * * *", ["03 16:00-0300", "03 20:00-0300", "04 04:00-0200", "04 08:00-0200",
                                    "04 12:00-0200"]),
        (DUBLIN, "30 1 * * *", ["25 01:30+0100"]),
        (DUBLIN, "0 * * * *", ["25 01:00+0100", "25 01:00+0000", "25 02:00+0000", "25 03:00+0000"]),
    ],
)  # fmt: skip
def test_fixed_times_fire_once_and_what_repeats_goes_by_real_time(
    night: tuple[str, str, str], text: str, fires: list[str]
) -> None:
    zone, start, end = night
    assert fires_between(text, start, end, zone) == fires


@every("moment", ["2026-11-01T01:10-05:00", "2026-11-01T01:30-04:00", "2026-11-01T01:45-05:00"])
def test_asked_in_the_second_of_two_hours_a_fixed_time_is_past(moment: str) -> None:
    """cronsim gives 01:30 of the first hour there, before the moment that was asked for."""
    assert next(Cron.parse("30 1 * * *").after(instant(moment), NEW_YORK)) == instant("2026-11-02T01:30-05:00")


def test_asked_at_the_moment_after_a_gap_the_moved_fire_is_past() -> None:
    fires = Cron.parse("30 2 * * *").after(instant("2026-03-08T03:00-04:00"), NEW_YORK)
    assert next(fires) == instant("2026-03-09T02:30-04:00")
