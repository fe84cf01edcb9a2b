"""What may need a person: runs that are late, schedules that missed a fire, workflows that fail."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from dao.runs import attention
from model.accounts.rights import Role
from model.ids import ScheduleId, WorkflowCode
from model.runs.estimate import late_s
from model.time.schedules import ScheduleRow
from service.schedules.fire_times import missed_fire
from tests.api.people import member
from tests.api.serving import Serving
from tests.api.test_last_runs import READS, History, get
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene
from tests.every import every

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NOON = ScheduleRow(
    *(ScheduleId(1), 1, "0 12 * * *", "UTC", None, None, "ONLINE", "SKIP", 60.0),
    *("2026-03-02 12:00:00+00", "2026-02-28 12:00:00+00", None, "2026-01-01 00:00:00+00", "2026-01-01 00:00:00+00"),
)


@pytest.fixture
async def history(api: Serving) -> History:
    found = History(api.database)
    await found.define(1)
    await found.define(2, "other")
    return found


@pytest.mark.parametrize(
    ("elapsed_s", "usual_s", "late"),
    [(100, None, None), (69, 10, None), (70, 10, 60), (1_499, 1_000, None), (1_500, 1_000, 500)],
)
def test_a_run_is_late_by_a_minute_and_half_of_its_usual_time(
    elapsed_s: float, usual_s: float | None, late: float | None
) -> None:
    assert late_s(elapsed_s, usual_s) == late


async def test_running_runs_are_compared_with_the_median_of_earlier_ones(
    api: Serving, admin: httpx.AsyncClient, history: History
) -> None:
    for code in (1, 2):
        for took_s in (100, 120, 5_000):
            await history.run(code, 200, took_s=took_s)
    late, hidden = [await history.run(code, 20, "RUNNING_EXECUTION", None) for code in (1, 2)]
    await history.run(1, 2.5, "RUNNING_EXECUTION", None)
    found = (await get(admin, "/attention/late"))["runs"]
    assert [each["id"] for each in found] == [str(late), str(hidden)]
    assert (found[0]["usual_s"], found[0]["late_s"]) == (120, pytest.approx(1_080, abs=60))
    async with api.client(await member(api.backend, "ada", "default", Role.VIEWER, READS)) as ada:
        assert [each["id"] for each in (await get(ada, "/attention/late"))["runs"]] == [str(late)]


@every(
    ("changed", "after", "why", "due"),
    [
        ({}, timedelta(0), None, None),
        ({}, timedelta(minutes=2), "SKIPPED", NOW),
        ({"misfire": "FIRE_ONCE"}, timedelta(minutes=2), None, None),
        ({"last_fire_at": "2026-03-01 12:00:00+00"}, timedelta(minutes=2), None, None),
        ({"last_fire_at": None, "counts_from": "2026-03-01 12:00:01+00"}, timedelta(minutes=2), None, None),
        ({"next_fire_at": "2026-03-01 12:00:00+00"}, timedelta(minutes=2), "NOT_FIRED", NOW),
        ({"next_fire_at": None}, timedelta(minutes=2), "NOT_FIRED", None),
        ({"problem": "no fire time is left"}, timedelta(0), "STOPPED", None),
        ({"crontab": "nonsense"}, timedelta(0), "STOPPED", None),
        ({"next_fire_at": "infinity"}, timedelta(0), "STOPPED", None),
    ],
)
def test_a_missed_fire_is_found_from_the_row_and_the_time(
    changed: dict[str, Any], after: timedelta, why: str | None, due: datetime | None
) -> None:
    found = missed_fire(replace(NOON, **changed), NOW + after)
    assert (found and found.why, found and found.due_at) == (why, due)


async def test_schedules_that_missed_a_fire_are_listed(admin: httpx.AsyncClient, history: History) -> None:
    await history.scene.sql(
        "INSERT INTO schedule (workflow_code, crontab, next_fire_at, problem, state) VALUES "
        "(1, '0 5 * * *', now() + interval '1 h', NULL, 'ONLINE'), (1, '0 5 * * *', now() - interval '1 h', NULL, "
        "'ONLINE'), (1, '0 5 * * *', NULL, 'it is over', 'ONLINE'), (1, '0 5 * * *', now() - interval '1 h', NULL, "
        "'OFFLINE')"
    )
    found = (await get(admin, "/attention/late"))["schedules"]
    assert [(each["id"], each["why"], each["workflow"]) for each in found] == [
        ("2", "NOT_FIRED", "w1"),
        ("3", "STOPPED", "w1"),
    ]
    assert found[0]["late_s"] == pytest.approx(3_600, abs=60)


async def test_a_workflow_that_failed_is_listed_until_it_succeeds(
    api: Serving, admin: httpx.AsyncClient, history: History
) -> None:
    await history.run(1, 60 * 24 * 8, "FAILURE")
    for ago in (300, 200):
        await history.run(1, ago, "FAILURE")
    last, hidden = [await history.run(code, 100, "FAILURE") for code in (1, 2)]
    await history.task(last, 2, "FAILURE")
    await history.define(2, "other", version=3)
    found = (await get(admin, "/attention/failed"))["items"]
    assert [(each["id"], each["times_this_week"], each.get("task")) for each in found] == [
        (str(hidden), 1, None),
        (str(last), 3, "b"),
    ]
    assert [(each["version"], each["newest_version"]) for each in found] == [(1, 3), (1, 1)]
    async with api.client(await member(api.backend, "ada", "default", Role.VIEWER, READS)) as ada:
        assert [each["id"] for each in (await get(ada, "/attention/failed"))["items"]] == [str(last)]
    await history.run(1, 50, "SUCCESS")
    assert [each["id"] for each in (await get(admin, "/attention/failed"))["items"]] == [str(hidden)]


MANY = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, started_at, schedule_time, ended_at)
    SELECT 1000000 + n, :code, 1, :state, 1, 'CONTINUE', 'MEDIUM', 'default', began, began,
           CASE WHEN :state <> 'RUNNING_EXECUTION' THEN began + interval '1 s' END
    FROM (SELECT n, now() - CAST(:ago AS float8) * interval '1 min' AS began
          FROM generate_series(1, CAST(:count AS integer)) AS n) AS many
"""
"""Runs of one workflow, as one that is endless, or that a minute starts and fails, has them."""


async def test_many_runs_of_one_workflow_hide_no_late_run_of_another(
    admin: httpx.AsyncClient, history: History
) -> None:
    await history.run(1, 200, took_s=100)
    await history.scene.sql(MANY, code=2, state="RUNNING_EXECUTION", ago=60.0, count=1_001)
    late = await history.run(1, 20, "RUNNING_EXECUTION", None)
    assert [each["id"] for each in (await get(admin, "/attention/late"))["runs"]] == [str(late)]


async def test_many_workflows_with_endless_runs_hide_no_late_run(admin: httpx.AsyncClient, history: History) -> None:
    await history.scene.sql(
        "INSERT INTO workflow_definition (code, name, project, version) SELECT n, 'w' || n, 'default', 1 "
        "FROM generate_series(10, 300) AS n"
    )
    await history.run(1, 200, took_s=100)
    for code in range(10, 300):
        await history.run(code, 60, "RUNNING_EXECUTION", None)
    late = await history.run(1, 20, "RUNNING_EXECUTION", None)
    assert [each["id"] for each in (await get(admin, "/attention/late"))["runs"]] == [str(late)]


async def test_many_failures_of_one_workflow_hide_no_other(admin: httpx.AsyncClient, history: History) -> None:
    failed = await history.run(1, 100, "FAILURE")
    await history.scene.sql(MANY, code=2, state="FAILURE", ago=50.0, count=5_001)
    found = (await get(admin, "/attention/failed"))["items"]
    assert [(each["workflow"], each["times_this_week"]) for each in found] == [("w2", 1_000), ("w1", 1)]
    assert found[1]["id"] == str(failed)


async def test_many_schedules_that_ended_or_skip_hide_none_that_missed_a_fire(
    admin: httpx.AsyncClient, history: History
) -> None:
    many = "INSERT INTO schedule (workflow_code, crontab, next_fire_at, problem, misfire, counts_from, updated_at) "
    await history.scene.sql(
        f"{many} SELECT 1, '0 5 * * *', NULL, 'it is over', 'FIRE_ONCE', now(), now() FROM generate_series(1, 1001)"
    )
    await history.scene.sql(
        f"{many} SELECT 1, '0 5 1 1 *', now() + interval '1 min', NULL, 'SKIP', now(), now() "
        "FROM generate_series(1, 1001)"
    )
    await history.scene.sql(
        f"{many} VALUES (1, '0 5 * * *', now() - interval '1 h', NULL, 'FIRE_ONCE', now(), now()), "
        "(1, '0 * * * *', now() + interval '1 h', NULL, 'SKIP', now() - interval '4 h', now())"
    )
    found = (await get(admin, "/attention/late"))["schedules"]
    assert [(each["id"], each["why"]) for each in found[:2]] == [("2004", "SKIPPED"), ("2003", "NOT_FIRED")]


@pytest.mark.parametrize("statistics", ["none", "fresh"])
async def test_it_reads_little_of_a_long_history(api: Serving, statistics: str) -> None:
    scene = Scene(api.database)
    await scene.sql(
        "INSERT INTO workflow_definition (code, name, project, version) SELECT n, 'w' || n, 'default', 1 "
        "FROM generate_series(1, 100) AS n"
    )
    await scene.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, started_at, ended_at) SELECT n, 1 + n % 100, 1, "
        "CASE WHEN n % 5000 = 7 THEN 'RUNNING_EXECUTION' WHEN n % 100 = 5 THEN 'FAILURE' ELSE 'SUCCESS' END, 1, 'END', "
        "'MEDIUM', 'default', now() - interval '1 h', CASE WHEN n % 5000 <> 7 THEN now() END "
        "FROM generate_series(1, 30000) AS n"
    )
    if statistics == "fresh":
        await scene.sql("ANALYZE")
    async with api.database.writing() as connection:
        explaining: Any = Explaining(connection)
        assert [run.workflow_code for run in await attention.running(explaining, 1)] == [8]
        assert len(await attention.running(explaining, 50, [WorkflowCode(8)])) == 6
        assert len(await attention.failed(explaining, 7, None, 50)) == 1
    assert not explaining.plan.whole_tables & {"workflow_instance", "task_instance"}, explaining.plan
    assert sum(explaining.plan.read.values()) <= 2_000, explaining.plan
