"""`dao/runs/backfills.py`: which dates count as done, and what is read of a chain that waits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dao.definitions import schedules
from dao.definitions.backfill_dates import dates_of
from dao.run_lists import run_listings as listings
from dao.runs import backfills
from model.errors import Refused
from model.ids import CommandId, WorkflowCode
from model.runs.backfill import BackfillSpec
from model.time.schedules import ScheduleSpec
from tests.dao.scene import Scene

DATES = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 7)]
CODE = WorkflowCode(1001)


async def test_a_date_is_done_when_a_whole_run_of_it_has_succeeded(scene: Scene) -> None:
    master = await scene.master()
    for date, changes in zip(
        DATES,
        (
            "state = 'SUCCESS'",
            "state = 'FAILURE'",
            "state = 'SUCCESS', scope = '[1]'",
            "state = 'SUCCESS', dry_run = true",
            "state = 'SUCCESS', command_type = 'SCHEDULER'",
            "state = 'SUCCESS', executing = '[1]'",
        ),
        strict=True,
    ):
        id_ = await scene.instance(master)
        await scene.sql(
            f"UPDATE workflow_instance SET {changes}, ended_at = now(), schedule_time = :date WHERE id = :id",
            id=id_,
            date=date,
        )
    async with scene.database.reading() as connection:
        assert await backfills.done(connection, CODE, DATES) == {DATES[0], DATES[4]}
        assert await backfills.done(connection, CODE, []) == set()


async def test_the_first_run_of_each_date_since_the_command_counts(scene: Scene) -> None:
    master = await scene.master()
    before, first, again = [await scene.instance(master) for _ in range(3)]
    await scene.sql(
        "UPDATE workflow_instance SET command_type = 'COMPLEMENT_DATA', schedule_time = :date", date=DATES[0]
    )
    [command] = await scene.sql("SELECT command_id FROM workflow_instance WHERE id = :id", id=first)
    async with scene.database.reading() as connection:
        found = await backfills.runs_of_dates(connection, [CODE], DATES, CommandId(command))
    assert [(run.id, run.date, run.workflow_code) for run in found] == [(first, DATES[0], CODE)]
    assert before < first < again


@pytest.mark.parametrize(
    ("written", "left"),
    [
        (None, None),
        ('{"backfill": {"dates": ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]}, "a": "b"}', 2),
        ('{"backfill": {"dates": 3}}', None),
        ('{"backfill": []}', None),
        ("[]", None),
        ("nonsense", None),
    ],
)
async def test_the_dates_that_wait_for_a_run_are_counted_whatever_is_written(
    scene: Scene, written: str | None, left: int | None
) -> None:
    id_ = await scene.instance(await scene.master())
    await scene.sql("UPDATE workflow_instance SET backfill = :written WHERE id = :id", id=id_, written=written)
    async with scene.database.reading() as connection:
        assert (await listings.run_head(connection, id_)).dates_left == left


async def test_many_chains_of_others_hide_none_of_a_workflow(scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO workflow_definition (code, name, project) VALUES (51, 'mine', 'a'), (52, 'theirs', 'b')"
    )
    await scene.sql(
        "INSERT INTO error_command (command_id, type, workflow_code, created_by, reason, master_id) "
        "SELECT n, 'COMPLEMENT_DATA', CASE n WHEN 1 THEN 51 ELSE 52 END, 'backfill', 'no', 1 "
        "FROM generate_series(1, 1001) AS n"
    )
    async with scene.database.reading() as connection:
        for workflow, project in (("mine", None), (None, "a"), ("mine", "a")):
            found = await backfills.refused_chains(connection, workflow, project, 5)
            assert [each.id for each in found] == [1]
        newest = await backfills.refused_chains(connection, None, None, 2)
    assert [(each.id, each.workflow) for each in newest] == [(1001, "theirs"), (1000, "theirs")]


@pytest.mark.timeout(30)
async def test_a_rule_that_fires_each_second_for_centuries_is_refused_without_being_listed(scene: Scene) -> None:
    async with scene.writing() as connection:
        await schedules.insert(connection, CODE, ScheduleSpec("* * * * * ?"), online=True)
        with pytest.raises(Refused, match="more than 10000 times"):
            await dates_of(connection, CODE, "UTC", BackfillSpec("1900-01-01", "8999-12-31"))
