"""`dao/commands/commands.py`: each command goes to one master, in order, and leaves a record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dao.commands import commands, waiting_work
from dao.commands.commands import NewCommand, Outcome
from dao.postgres.errors import BadData
from dao.postgres.sql import Sql
from dao.runs import lookups
from model.choices import FailureStrategy, Priority, TaskDependType, WarningType
from model.cluster.low_water import FROM_FIRST, Marks
from model.cluster.slots import Slot
from model.errors import NotFound
from model.ids import CommandId, WorkflowCode, WorkflowInstanceId
from model.runs.command_moves import CommandType
from model.runs.commands import CommandRow
from tests.dao.scene import Scene

ALL = Slot(0, 1)


async def taken(scene: Scene, slot: Slot = ALL, limit: int = 100, id_step: int = 1) -> list[CommandRow]:
    async with scene.writing() as connection:
        return await commands.claim(connection, slot, limit, id_step)


def ids(rows: list[CommandRow]) -> list[CommandId]:
    return [row.id for row in rows]


async def test_two_lines_of_sql_and_the_function_ask_for_the_same(scene: Scene) -> None:
    await scene.sql("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 1001)")
    async with scene.writing() as connection:
        await commands.insert(connection, NewCommand(CommandType.START_PROCESS, WorkflowCode(1001)))
    by_hand, by_function = await taken(scene)
    for name in ("type", "workflow_code", "workflow_version", "params", "priority", "worker_group", "created_by"):
        assert getattr(by_hand, name) == getattr(by_function, name)


async def test_a_start_keeps_all_that_it_was_given(scene: Scene) -> None:
    async with scene.writing() as connection:
        id_ = await commands.insert(
            connection,
            NewCommand(
                CommandType.START_PROCESS,
                WorkflowCode(1001),
                workflow_version=3,
                params='{"day": "2026-01-31"}',
                priority=Priority.HIGH,
                failure_strategy=FailureStrategy.END,
                worker_group="gpu",
                warning_type=WarningType.ALL,
                alert_group="ops",
                environment="etl",
                dry_run=True,
                task_depend_type=TaskDependType.TASK_PRE,
                start_tasks="a,b",
                schedule_time=datetime(2026, 3, 29, 1, tzinfo=UTC),
                time_zone="Europe/Berlin",
                created_by="anna",
            ),
        )
    [row] = await taken(scene)
    assert (row.id, row.type, row.workflow_code, row.workflow_version) == (id_, "START_PROCESS", "1001", "3")
    assert (row.params, row.priority, row.failure_strategy) == ('{"day": "2026-01-31"}', "HIGH", "END")
    assert (row.worker_group, row.created_by, row.dry_run, row.environment) == ("gpu", "anna", "true", "etl")
    assert (row.warning_type, row.alert_group, row.task_depend_type) == ("ALL", "ops", "TASK_PRE")
    assert (row.start_tasks, row.schedule_time, row.time_zone) == ("a,b", "2026-03-29 01:00:00+00", "Europe/Berlin")


async def test_a_change_of_a_run_names_the_run(scene: Scene) -> None:
    async with scene.writing() as connection:
        await commands.insert_many(
            connection,
            [
                NewCommand(CommandType.PAUSE, workflow_instance_id=WorkflowInstanceId(42)),
                NewCommand(CommandType.STOP, workflow_instance_id=WorkflowInstanceId(43)),
            ],
        )
    rows = await taken(scene)
    assert [(row.type, row.workflow_instance_id, row.workflow_code) for row in rows] == [
        ("PAUSE", "42", None),
        ("STOP", "43", None),
    ]


async def test_a_claim_takes_its_slot_and_leaves_the_others(scene: Scene) -> None:
    made = await scene.commands(10)
    slot = Slot(1, 3)
    assert ids(await taken(scene, slot)) == [id_ for id_ in made if slot.owns(id_)]
    assert await scene.sql("SELECT id FROM command ORDER BY id") == [id_ for id_ in made if not slot.owns(id_)]


async def test_ids_in_strides_are_shared_by_their_stride(scene: Scene) -> None:
    await scene.sql("ALTER TABLE command ALTER id SET INCREMENT BY 2")
    made = await scene.commands(8)
    slot = Slot(0, 2)
    got = ids(await taken(scene, slot, id_step=2))
    assert got == [id_ for id_ in made if slot.owns(id_, step=2)]
    assert len(got) == 4
    async with scene.writing() as connection:
        assert await commands.id_increment(connection) == 2


async def test_a_claim_is_ordered_by_urgency_then_age_and_keeps_its_limit(scene: Scene) -> None:
    low = await scene.commands(2, priority="low")
    medium = await scene.commands(2)
    unknown = await scene.commands(1, priority="SUPER")
    highest = await scene.commands(2, priority="HIGHEST")
    [recover] = await scene.sql(
        "INSERT INTO command (type, workflow_instance_id, priority) "
        "VALUES ('RECOVER_TOLERANCE_FAULT_PROCESS', 5, 'LOWEST') RETURNING id"
    )
    order = [recover, *highest, *medium, *unknown, *low]
    assert ids(await taken(scene, limit=4)) == order[:4]
    assert ids(await taken(scene)) == order[4:]


async def test_two_masters_that_believe_in_one_slot_share_its_commands(scene: Scene) -> None:
    made = await scene.commands(10)
    async with scene.writing() as one, scene.writing() as other:
        first = ids(await commands.claim(one, ALL, 4, 1))
        second = ids(await commands.claim(other, ALL, 100, 1))
    assert (first, second) == (made[:4], made[4:])


async def test_a_claim_that_is_not_committed_leaves_the_commands(scene: Scene) -> None:
    made = await scene.commands(3)
    with pytest.raises(RuntimeError):
        async with scene.writing() as connection:
            await commands.claim(connection, ALL, 100, 1)
            raise RuntimeError("the master dies here")
    assert ids(await taken(scene)) == made


async def test_what_waited_too_long_is_taken_by_anybody_oldest_first(scene: Scene) -> None:
    await scene.commands(2)
    younger = await scene.commands(1, age="1 h")
    older = await scene.commands(1, age="2 h")
    async with scene.writing() as connection:
        assert ids(await commands.steal(connection, timedelta(minutes=30), 1)) == older
        assert ids(await commands.steal(connection, timedelta(minutes=30), 10)) == younger
    assert await scene.sql("SELECT count(*) FROM command") == [2]


async def test_what_is_put_in_quarantine_is_taken_by_its_id_alone(scene: Scene) -> None:
    first, second, old = [*await scene.commands(2), *await scene.commands(1, age="1 h")]
    async with scene.writing() as connection:
        assert await commands.claim(connection, ALL, 10, 1, [first, second, old]) == []
        assert ids(await commands.claim(connection, ALL, 1, 1, [first])) == [second]
        assert await commands.steal(connection, timedelta(minutes=30), 10, [old]) == []
        assert ids(await commands.take(connection, [old])) == [old]
    assert await scene.sql("SELECT id FROM command") == [first]


async def test_a_row_without_a_type_is_fetched_as_one_of_no_type(scene: Scene) -> None:
    await scene.sql("ALTER TABLE command ALTER type DROP NOT NULL")
    await scene.sql("INSERT INTO command (type) VALUES (NULL)")
    assert [row.type for row in await taken(scene)] == [""]


async def test_a_command_whose_id_was_handled_before_is_kept_as_an_error_beside_its_history(scene: Scene) -> None:
    master = await scene.master()
    await scene.commands(1)
    [row] = await taken(scene)
    async with scene.writing() as connection:
        assert await commands.handled_before(connection, row.id) is None
        await commands.record(connection, [Outcome(row, WorkflowInstanceId(42))], master.epoch, None)
        before = await commands.handled_before(connection, row.id)
        assert before is not None
        assert before.startswith("DONE at 20")
        assert before.endswith(", run 42")
        await commands.record_errors(connection, [Outcome(row, None, "again")], master.epoch)
    assert await scene.sql("SELECT outcome FROM command_history") == ["DONE"]
    assert await scene.sql("SELECT command_id, reason FROM error_command") == [(row.id, "again")]


async def test_rows_that_no_program_could_read_are_fetched_as_text(scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO command (type, workflow_code, workflow_version, params, created_at) VALUES "
        "('START_PROCESS', 1001, 1, repeat('[', 3000), 'infinity'), ('', 0, -1, '', '-infinity'), "
        "('START_PROCESS', 1001, NULL, '{}', 'epoch'::timestamptz + interval '18000 years')"
    )
    assert [row.created_at for row in await taken(scene)][:2] == ["infinity", "-infinity"]


async def test_a_look_tells_what_waits_for_whom(scene: Scene) -> None:
    me, other = await scene.master(), await scene.master()

    async def look(slot: Slot | None, *, marks: Marks | None = FROM_FIRST) -> tuple[bool, bool, bool]:
        async with scene.database.reading() as connection:
            found = await waiting_work.work_waits(connection, slot, timedelta(minutes=1), 1, me.epoch, marks=marks)
        return found.mine, found.aged, found.events is not None

    assert await look(ALL) == (False, False, False)
    [id_] = await scene.commands(1)
    assert await look(Slot(id_ % 2, 2)) == (True, False, False)
    assert await look(Slot((id_ + 1) % 2, 2)) == (False, False, False)
    assert await look(None) == (False, False, False)
    await scene.commands(1, age="1 h")
    assert await look(None) == (False, True, False)
    event = "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) VALUES (:id, 1, 1, 'SUCCESS')"
    await scene.sql(event, id=await scene.instance(other))
    assert await look(None) == (False, True, False)
    await scene.sql(event, id=await scene.instance(me))
    assert await look(None) == (False, True, True)
    assert await look(ALL, marks=None) == (False, False, False)
    async with scene.database.reading() as connection:
        found = await waiting_work.work_waits(connection, ALL, timedelta(minutes=1), 1, me.epoch)
    assert found.oldest_s is not None
    assert found.events is not None
    assert await look(ALL, marks=Marks(found.oldest_s, found.events)) == (True, True, True)
    assert await look(ALL, marks=Marks(found.oldest_s + 1, found.events + 1)) == (True, False, False)
    assert await look(ALL, marks=Marks(found.now_s, 0)) == (False, False, True)


async def test_every_outcome_is_recorded_and_a_refused_command_is_kept_whole(scene: Scene) -> None:
    master = await scene.master()
    await scene.commands(1)
    await scene.sql(
        "INSERT INTO command (type, workflow_code, workflow_version, workflow_instance_id, params, priority, "
        "failure_strategy, worker_group, created_at, created_by) "
        "VALUES (:type, 7, 8, 9, '{', 'SUPER', 'MAYBE', 'g', 'infinity', 'anna')",
        type="X" * 5000,
    )
    async with scene.writing() as connection:
        good, bad = await commands.claim(connection, Slot(0, 1), 10, 1)
        outcomes = [Outcome(good, WorkflowInstanceId(42)), Outcome(bad, None, "it is broken")]
        await commands.record(connection, outcomes, master.epoch, Slot(0, 1))
    assert await scene.sql(
        "SELECT command_id, outcome, workflow_instance_id, slot_total, isfinite(created_at) "
        "FROM command_history ORDER BY command_id"
    ) == [(good.id, "DONE", 42, 1, True), (bad.id, "ERROR", None, 1, True)]
    assert await scene.sql(
        "SELECT type, workflow_code, workflow_version, workflow_instance_id, params, priority, failure_strategy, "
        "worker_group, created_at::text, created_by, reason, master_id FROM error_command"
    ) == [("X" * 5000, 7, 8, 9, "{", "SUPER", "MAYBE", "g", "infinity", "anna", "it is broken", master.epoch)]


async def test_a_command_is_recorded_once_and_no_more(scene: Scene) -> None:
    master = await scene.master()
    await scene.commands(1)
    [row] = await taken(scene)
    async with scene.writing() as connection:
        await commands.record(connection, [Outcome(row, WorkflowInstanceId(1))], master.epoch, None)
    with pytest.raises(BadData):
        async with scene.writing() as connection:
            await commands.record(connection, [Outcome(row, WorkflowInstanceId(2))], master.epoch, None)


async def test_an_insert_wakes_the_masters_once_for_many_rows(scene: Scene) -> None:
    async with scene.database.reading() as connection:
        await connection.execute(Sql("LISTEN shoal_command"))
        await scene.commands(50)
        driver = connection.driver
        heard = [notification.payload async for notification in driver.notifies(timeout=30, stop_after=1)]
        heard += [notification.payload async for notification in driver.notifies(timeout=0.1)]
        await connection.execute(Sql("UNLISTEN *"))
    assert heard == [""]


@pytest.mark.parametrize(
    ("slot", "wanted"), [(ALL, [1, 2, 3, 6]), (Slot(0, 2), [2, 6]), (Slot(1, 2), [1, 3, 6]), (None, [6])]
)
async def test_a_master_without_room_takes_what_needs_none_and_of_others_what_waited_too_long(
    scene: Scene, slot: Slot | None, wanted: list[int]
) -> None:
    kinds = ("PAUSE", "STOP", "RECOVER_TOLERANCE_FAULT_PROCESS", "START_PROCESS", "REPEAT_RUNNING", "PAUSE")
    for kind in kinds:
        await scene.sql("INSERT INTO command (type, workflow_instance_id) VALUES (:kind, 7)", kind=kind)
    await scene.sql("UPDATE command SET created_at = now() - interval '1 min' WHERE id >= 4")
    async with scene.writing() as connection:
        found = await commands.claim_urgent(connection, slot, timedelta(seconds=5), 100, 1)
    assert ids(found) == wanted


async def test_a_command_whose_history_was_deleted_was_handled(scene: Scene) -> None:
    """Unlike one that never was, and one whose id nobody has given yet, though somebody wrote a far higher floor."""
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, master_id, created_at) "
        "VALUES (7, 'STOP', 'DONE', 1, now())"
    )
    await scene.sql("INSERT INTO history_floor VALUES (2, 0, 4), (2, 1, 900)")
    told = {2: "was handled, and its history has been deleted", 5: "was handled, and", 6: "there was none", 9: "none"}
    async with scene.database.reading() as connection:
        assert (await lookups.fate_of(connection, CommandId(7))).id == 7
        for id_, said in told.items():
            with pytest.raises(NotFound, match=said):
                await lookups.fate_of(connection, CommandId(id_))
