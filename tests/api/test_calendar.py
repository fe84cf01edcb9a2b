"""The calendar of schedules: past runs by day and state, fire times to come, days on which the clock changes."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from dao.definitions import schedule_days
from model.accounts.rights import Role, Scope
from model.ids import ScheduleId
from model.time.clock_changes import clock_change
from service.schedules.calendar_days import ALL_MAX, COUNTED_MAX, SHOWN_MAX, fires_of_days
from tests.api.people import member
from tests.api.serving import BASE, Serving
from tests.api.test_attention import NOON
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene

PATH = BASE + "/schedules:calendar"
BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 1, 11, 30, tzinfo=UTC)
BEGINS = [datetime(2026, 2, 27, tzinfo=UTC) + timedelta(days=n) for n in range(62)]
UNTIL = BEGINS[-1] + timedelta(days=1)


@pytest.mark.parametrize(
    ("day", "zone", "words"),
    [
        (date(2026, 3, 29), "Europe/Berlin", "02:00 to 03:00 does not exist"),
        (date(2026, 10, 25), "Europe/Berlin", "02:00 to 03:00 comes twice"),
        (date(2026, 4, 5), "Australia/Lord_Howe", "01:30 to 02:00 comes twice"),
        (date(2024, 9, 8), "America/Santiago", "00:00 to 01:00 does not exist"),
        (date(2026, 6, 1), "Europe/Berlin", None),
    ],
)
def test_a_change_of_the_clock_is_said(day: date, zone: str, words: str | None) -> None:
    found = clock_change(day, ZoneInfo(zone))
    assert (found is None) == (words is None)
    assert found is None or words in found.in_words  # type: ignore[operator]


def test_fires_are_shown_by_day_from_now_on_and_the_rest_is_counted() -> None:
    rows = [
        NOON,
        replace(NOON, crontab="*/10 * * * *"),
        replace(NOON, crontab="* * * * *", state="OFFLINE"),
        replace(NOON, crontab="* * * * *", end_time="2026-03-03 00:00:00+00"),
        replace(NOON, crontab="nonsense"),
        replace(NOON, crontab="0 0 5 6 1 ? 2026"),
    ]
    found = fires_of_days(rows, NOW, BEGINS, UNTIL)
    assert [day for day, place in found.days if place == 0] == list(range(2, 62))
    first, second = found.days[2, 1], found.days[3, 1]
    assert (len(first.times), first.more, first.is_least) == (SHOWN_MAX, 74 - SHOWN_MAX, False)
    assert (second.times[0], second.more, second.is_least) == (BEGINS[3], COUNTED_MAX - SHOWN_MAX, True)
    assert [day for day, place in found.days if place == 3] == [2, 3, 4]
    assert (len(found.days[4, 3].times), found.days[4, 3].more) == (1, 0)
    assert {place for _, place in found.days} == {0, 1, 3}
    assert len(found.faults) == 1
    assert found.until_day is None


def test_no_more_fires_are_computed_than_there_is_time_for() -> None:
    began_s = time.process_time()
    found = fires_of_days([replace(NOON, crontab="* * * * * ?")] * 200, NOW, BEGINS, UNTIL)
    assert len(found.days) * (COUNTED_MAX + 1) <= ALL_MAX + COUNTED_MAX
    assert found.until_day == 3
    assert time.process_time() - began_s < 5


async def test_past_days_count_runs_by_state_and_days_to_come_have_fire_times(
    api: Serving, admin: httpx.AsyncClient
) -> None:
    scene = Scene(api.database)
    await scene.sql("INSERT INTO workflow_definition (code, name, project) VALUES (1, 'w', 'etl'), (2, 'v', 'bi')")
    await scene.sql(
        "INSERT INTO schedule (workflow_code, crontab, time_zone) VALUES (1, '30 2 * * *', 'Europe/Berlin'), "
        "(2, '0 5 * * *', 'UTC')"
    )
    await scene.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, ended_at, schedule_id, schedule_time) SELECT n, 1, 1, "
        "CASE WHEN n = 2 THEN 'FAILURE' ELSE 'SUCCESS' END, 1, 'END', 'MEDIUM', 'default', now(), 1, "
        "timestamptz '2026-03-28 22:30+00' + n * interval '1 h' FROM generate_series(0, 3) AS n"
    )

    async def calendar(client: httpx.AsyncClient, **query: str) -> dict[str, Any]:
        answer = await client.get(PATH, params={"zone": "Europe/Berlin", **query})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    found = await calendar(admin, **{"from": "2026-03-28", "to": "2026-03-29"})
    assert [(day["day"], day["states"], day.get("day_h")) for day in found["days"]] == [
        ("2026-03-28", {"SUCCESS": 1}, None),
        ("2026-03-29", {"FAILURE": 1, "SUCCESS": 2}, 23),
    ]
    assert found["days"][1]["begins_at"] == "2026-03-28T23:00:00.000Z"
    assert "does not exist" in found["days"][1]["clock_change"]
    march = (await calendar(admin, **{"from": "2199-03-31", "to": "2199-03-31"}))["days"][0]
    assert [(each["workflow"], each["fires"][0]["local"][11:16]) for each in march["schedules"]] == [
        ("w", "03:00"),
        ("v", "05:00"),
    ]
    async with api.client(
        await member(api.backend, "ada", "bi", Role.VIEWER, frozenset({Scope.DEFINITIONS_READ}))
    ) as ada:
        seen = await calendar(ada, **{"from": "2026-03-28", "to": "2199-03-31"} | {"to": "2026-05-01"})
        assert {each["workflow"] for day in seen["days"] for each in day["schedules"]} <= {"v"}
    for wrong in (
        {"from": "2026-03-28", "to": "2026-03-27"},
        {"from": "2026-01-01", "to": "2026-03-04"},
        {"from": "0001-01-01", "to": "0001-01-02"},
        {"from": "9999-12-31", "to": "9999-12-31"},
        {"from": "2026-03-28", "to": "2026-03-28", "zone": "Nowhere"},
    ):
        assert (await admin.get(PATH, params=wrong)).status_code == 422, wrong


async def test_runs_of_the_asked_days_and_schedules_are_read_only(api: Serving) -> None:
    scene = Scene(api.database)
    await scene.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, ended_at, schedule_id, schedule_time) "
        "SELECT n, 1, 1, 'SUCCESS', 1, 'END', 'MEDIUM', 'default', now(), 1 + n % 10, "
        "timestamptz '2026-02-27 00:00+00' + n * interval '1 min' FROM generate_series(0, 20000) AS n"
    )
    async with api.database.writing() as connection:
        explaining: Any = Explaining(connection)
        found = await schedule_days.counts(explaining, [ScheduleId(3)], BEGINS[:2], BEGINS[2])
    assert [(each.day, each.count, each.is_cut) for each in found] == [(0, 144, False), (1, 144, False)]
    assert not explaining.plan.whole_tables & {"workflow_instance"}
    assert sum(explaining.plan.read.values()) <= 300, explaining.plan
