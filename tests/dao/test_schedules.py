"""Schedules in the database: what is due, that a fire happens once, and what a change resets."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from dao.definitions import schedule_listings, schedules
from dao.definitions.schedules import Fire
from model.choices import FailureStrategy, Misfire, Priority, WarningType
from model.cluster.slots import Slot
from model.errors import NotFound
from model.ids import ScheduleId, WorkflowCode
from model.time.schedules import ScheduleRow, ScheduleSpec
from tests.dao.scene import Scene

ALONE = Slot(0, 1)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORKFLOW = WorkflowCode(1001)
DAILY = ScheduleSpec("0 5 * * *")


async def a_schedule(scene: Scene, spec: ScheduleSpec = DAILY, *, online: bool = True) -> ScheduleId:
    async with scene.writing() as connection:
        return await schedules.insert(connection, WORKFLOW, spec, online=online)


async def due(scene: Scene, slot: Slot | None = ALONE, limit: int = 100) -> list[ScheduleRow]:
    async with scene.database.reading() as connection:
        found = await schedules.due(connection, slot, limit)
    return found.rows if found else []


async def due_in_s(scene: Scene, slot: Slot | None = ALONE) -> float | None:
    async with scene.database.reading() as connection:
        return await schedules.next_due_in_s(connection, slot)


async def fire(scene: Scene, *fires: Fire) -> dict[ScheduleId, int]:
    async with scene.writing() as connection:
        return await schedules.fire(connection, fires)


async def found(scene: Scene, id_: ScheduleId) -> ScheduleRow:
    async with scene.database.reading() as connection:
        return await schedules.find(connection, id_)


# ---------------------------------------------------------------------------------------------- what is due


async def test_what_is_not_computed_is_due_first_and_what_lies_ahead_is_not(scene: Scene) -> None:
    past, ahead, new, off = [await a_schedule(scene) for _ in range(4)]
    await scene.sql("UPDATE schedule SET next_fire_at = now() - interval '1 h' WHERE id = :id", id=past)
    await scene.sql("UPDATE schedule SET next_fire_at = now() + interval '1 h' WHERE id = :id", id=ahead)
    async with scene.writing() as connection:
        await schedules.set_state(connection, off, online=False)
    assert [row.id for row in await due(scene)] == [new, past]
    assert [row.id for row in await due(scene, limit=1)] == [new]
    waiting_s = await due_in_s(scene)
    assert waiting_s is not None
    assert waiting_s < 0


async def test_each_schedule_belongs_to_one_slot(scene: Scene) -> None:
    ids = [await a_schedule(scene) for _ in range(7)]
    shares = [[row.id for row in await due(scene, Slot(current, 3))] for current in range(3)]
    assert sorted(id_ for share in shares for id_ in share) == ids
    assert all(id_ % 3 == current for current, share in enumerate(shares) for id_ in share)


async def test_without_a_slot_nothing_is_due(scene: Scene) -> None:
    await a_schedule(scene)
    assert await due(scene, None) == []
    assert await due_in_s(scene, None) is None


async def test_the_time_until_the_next_is_told(scene: Scene) -> None:
    assert await due_in_s(scene) is None
    id_ = await a_schedule(scene)
    await scene.sql("UPDATE schedule SET next_fire_at = now() + interval '100 s'")
    waiting_s = await due_in_s(scene)
    assert waiting_s == pytest.approx(100, abs=10)
    assert await due_in_s(scene, Slot((id_ + 1) % 2, 2)) is None


@pytest.mark.parametrize("time", ["infinity", "200000-01-01"])
async def test_a_time_that_never_comes_is_waited_for_by_nobody(scene: Scene, time: str) -> None:
    await a_schedule(scene)
    await scene.sql("UPDATE schedule SET next_fire_at = CAST(:time AS timestamptz)", time=time)
    assert await due(scene) == []
    assert (await due_in_s(scene) or 1e12) > 1e9


async def test_times_that_no_program_holds_are_read_as_text(scene: Scene) -> None:
    id_ = await a_schedule(scene)
    await scene.sql(
        "UPDATE schedule SET start_time = '-infinity', end_time = '20000-01-01', next_fire_at = '-infinity'"
    )
    (row,) = await due(scene)
    assert (row.start_time, row.end_time, row.next_fire_at) == ("-infinity", "20000-01-01 00:00:00+00", "-infinity")
    await fire(scene, Fire(row, (), None, "it is broken"))
    assert await due(scene) == []
    assert (await found(scene, id_)).problem == "it is broken"


# ----------------------------------------------------------------------------------------------------- fires


async def test_a_fire_inserts_its_commands_as_the_schedule_says(scene: Scene) -> None:
    spec = ScheduleSpec(
        "0 5 * * *",
        "Europe/Berlin",
        params='{"day": "1"}',
        priority=Priority.HIGH,
        failure_strategy=FailureStrategy.END,
        warning_type=WarningType.FAILURE,
        alert_group="ops",
        worker_group="gpu",
        environment="prod",
    )
    id_ = await a_schedule(scene, spec)
    (row,) = await due(scene)
    times = [NOON, NOON + timedelta(hours=1)]
    assert await fire(scene, Fire(row, times, NOON + timedelta(hours=2))) == {id_: 2}
    columns = (
        "type, workflow_code, params, priority, failure_strategy, warning_type, alert_group, worker_group, "
        "environment, schedule_time, time_zone, schedule_id, created_by"
    )
    assert await scene.sql(f"SELECT {columns} FROM command ORDER BY id") == [
        (
            *("SCHEDULER", 1001, '{"day": "1"}', "HIGH", "END", "FAILURE", "ops", "gpu", "prod"),
            *(time, "Europe/Berlin", id_, "schedule"),
        )
        for time in times
    ]
    after = await found(scene, id_)
    assert (after.last_fire_at, after.next_fire_at) == ("2026-03-01 13:00:00+00", "2026-03-01 14:00:00+00")


async def test_the_same_fire_a_second_time_does_nothing(scene: Scene) -> None:
    id_ = await a_schedule(scene)
    (row,) = await due(scene)
    plan = Fire(row, [NOON], NOON + timedelta(days=1))
    assert await fire(scene, plan) == {id_: 1}
    assert await fire(scene, plan) == {}
    assert await scene.sql("SELECT count(*) FROM command") == [1]


async def test_two_masters_at_once_fire_once(scene: Scene) -> None:
    ids = [await a_schedule(scene) for _ in range(20)]
    plans = [Fire(row, [NOON], NOON + timedelta(days=1)) for row in await due(scene)]
    answers = await asyncio.gather(fire(scene, *plans), fire(scene, *plans[::-1]), fire(scene, *plans))
    assert sorted(id_ for answer in answers for id_ in answer) == ids
    assert await scene.sql("SELECT count(*), count(DISTINCT schedule_id) FROM command") == [(20, 20)]


async def test_a_fire_that_is_under_way_elsewhere_is_left_to_whoever_is_at_it(scene: Scene) -> None:
    await a_schedule(scene)
    (row,) = await due(scene)
    plan = Fire(row, [NOON], NOON + timedelta(days=1))
    async with scene.writing() as connection:
        await schedules.fire(connection, [plan])
        assert await fire(scene, plan) == {}
    assert await scene.sql("SELECT count(*) FROM command") == [1]


@pytest.mark.parametrize(
    "meanwhile",
    [
        "UPDATE schedule SET crontab = '0 6 * * *'",
        "UPDATE schedule SET state = 'OFFLINE'",
        "UPDATE schedule SET next_fire_at = now()",
        "UPDATE schedule SET problem = 'set by hand'",
        "DELETE FROM schedule",
    ],
)
async def test_what_changed_since_it_was_read_does_not_fire(scene: Scene, meanwhile: str) -> None:
    await a_schedule(scene)
    (row,) = await due(scene)
    await scene.sql(meanwhile)
    assert await fire(scene, Fire(row, [NOON], NOON + timedelta(days=1))) == {}
    assert await scene.sql("SELECT count(*) FROM command") == [0]


async def test_a_round_without_a_fire_keeps_the_last_one(scene: Scene) -> None:
    id_ = await a_schedule(scene)
    (row,) = await due(scene)
    await fire(scene, Fire(row, [NOON], NOON + timedelta(hours=1)))
    (row,) = await due(scene)
    assert await fire(scene, Fire(row, (), NOON + timedelta(days=9000))) == {id_: 0}
    assert (await found(scene, id_)).last_fire_at == "2026-03-01 12:00:00+00"


# ------------------------------------------------------------------------------------------------- changes


@pytest.mark.parametrize(
    "change",
    [
        "crontab = '0 6 * * *'",
        "time_zone = 'Europe/Berlin'",
        "start_time = '2030-01-01'",
        "end_time = '2030-01-01'",
        "state = 'OFFLINE'",
    ],
)
async def test_a_change_by_plain_sql_has_it_computed_again(scene: Scene, change: str) -> None:
    await a_schedule(scene)
    await scene.sql("UPDATE schedule SET next_fire_at = '2026-03-01', problem = 'it was broken'")
    await scene.sql(f"UPDATE schedule SET {change}")
    assert await scene.sql("SELECT next_fire_at, problem FROM schedule") == [(None, None)]


async def test_what_changes_nothing_about_its_times_keeps_them(scene: Scene) -> None:
    await a_schedule(scene)
    await scene.sql("UPDATE schedule SET next_fire_at = '2026-03-01'")
    await scene.sql("UPDATE schedule SET params = '{}', crontab = crontab, state = 'ONLINE'")
    assert await scene.sql("SELECT next_fire_at FROM schedule") == [datetime(2026, 3, 1, tzinfo=UTC)]


async def test_a_next_time_that_is_set_together_with_the_change_stays(scene: Scene) -> None:
    await a_schedule(scene)
    await scene.sql("UPDATE schedule SET crontab = '0 6 * * *', next_fire_at = '2026-03-01'")
    assert await scene.sql("SELECT next_fire_at FROM schedule") == [datetime(2026, 3, 1, tzinfo=UTC)]


async def test_change_saves_another_content(scene: Scene) -> None:
    id_ = await a_schedule(scene)
    await scene.sql("UPDATE schedule SET next_fire_at = '2026-03-01'")
    async with scene.writing() as connection:
        await schedules.change(connection, id_, ScheduleSpec("0 7 * * *", misfire=Misfire.SKIP, start_time=NOON))
    row = await found(scene, id_)
    assert (row.crontab, row.misfire, row.start_time) == ("0 7 * * *", "SKIP", "2026-03-01 12:00:00+00")
    assert row.next_fire_at is None


async def test_online_once_more_tries_one_with_a_problem_again_and_leaves_a_good_one_alone(scene: Scene) -> None:
    good, bad = await a_schedule(scene), await a_schedule(scene)
    await scene.sql("UPDATE schedule SET next_fire_at = '2026-03-01' WHERE id = :id", id=good)
    await scene.sql("UPDATE schedule SET problem = 'no such zone' WHERE id = :id", id=bad)
    async with scene.writing() as connection:
        await schedules.set_state(connection, good, online=True)
        await schedules.set_state(connection, bad, online=True)
    assert (await found(scene, good)).next_fire_at == "2026-03-01 00:00:00+00"
    assert [row.id for row in await due(scene)] == [bad, good]


async def test_they_are_listed_with_the_names_of_their_workflows(scene: Scene) -> None:
    await scene.sql("INSERT INTO workflow_definition (code, name) VALUES (1001, 'sales')")
    first = await a_schedule(scene)
    async with scene.writing() as connection:
        second = await schedules.insert(connection, WorkflowCode(77), DAILY)
    async with scene.database.reading() as connection:
        listed = await schedule_listings.page(connection, 10)
        of_sales = await schedules.of_workflow(connection, WORKFLOW)
    assert [(row.id, row.workflow) for row in listed] == [(first, "sales"), (second, None)]
    assert [row.id for row in of_sales] == [first]


async def test_one_that_is_not_there_is_said_not_to_be(scene: Scene) -> None:
    nobody = ScheduleId(4711)
    id_ = await a_schedule(scene)
    async with scene.writing() as connection:
        await schedules.remove(connection, id_)
    for missing in (id_, nobody):
        sentence = f"there is no schedule {missing}; `shoal schedule list` lists those there are"
        with pytest.raises(NotFound, match=sentence):
            async with scene.writing() as connection:
                await schedules.remove(connection, missing)
        with pytest.raises(NotFound):
            async with scene.writing() as connection:
                await schedules.set_state(connection, missing, online=True)
        with pytest.raises(NotFound):
            async with scene.writing() as connection:
                await schedules.change(connection, missing, DAILY)
        with pytest.raises(NotFound):
            await found(scene, missing)
