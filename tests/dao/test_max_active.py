"""Several runs of one serial line at once: `max_active` of them go on, whoever starts them."""

from __future__ import annotations

import asyncio

import pytest

from dao.cluster.nodes import Me
from dao.postgres.sql import Sql
from dao.runs import serial_line
from model.ids import TaskCode, WorkflowCode
from model.runs.instances import Parent
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState
from tests.dao.scene import Scene
from tests.dao.test_serial_line import CODE, SERIAL, called, definitions, join, waits

W = WorkflowState
__all__ = ["definitions"]


async def let(scene: Scene, max_active: str, version: int = 1, code: WorkflowCode = CODE) -> None:
    """A version that says that of its workflow, as the current one."""
    await scene.sql(
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (:code, :version, CAST(:spec AS jsonb))",
        code=code,
        version=version,
        spec=f'{{"max_active": {max_active}}}',
    )
    await scene.sql("UPDATE workflow_definition SET version = :version WHERE code = :code", code=code, version=version)


async def allowed(scene: Scene) -> int:
    async with scene.database.reading() as connection:
        (found,) = await serial_line.standing(connection, [Line(CODE)])
    return found.max_active


@pytest.mark.parametrize(
    ("written", "counts"),
    [
        *(("1", 1), ("3", 3), ("1000", 1000), ("1001", 1), ("0", 1), ("-5", 1), ('"3"', 1), ("null", 1), ("[3]", 1)),
        *(("1e99", 1), ("true", 1)),
    ],
)
async def test_what_a_version_says_counts_if_it_can(scene: Scene, written: str, counts: int) -> None:
    await let(scene, written)
    assert await allowed(scene) == counts


async def test_the_current_version_says_how_many_may_go_on(scene: Scene) -> None:
    assert await allowed(scene) == 1, "there is no version"
    await let(scene, "2")
    await let(scene, "5", 2)
    assert await allowed(scene) == 5
    await scene.sql("UPDATE workflow_definition SET version = 1")
    assert await allowed(scene) == 2


async def test_of_many_that_start_it_at_once_as_many_run_as_may(scene: Scene) -> None:
    await let(scene, "3")
    masters = [await scene.master() for _ in range(4)]

    async def start(master: Me) -> None:
        async with scene.writing() as connection:
            await join(connection, master)

    await asyncio.gather(*(start(master) for master in masters for _ in range(3)))
    assert await scene.sql("SELECT state, count(*) FROM workflow_instance GROUP BY 1 ORDER BY 1") == [
        ("RUNNING_EXECUTION", 3),
        ("SERIAL_WAIT", 9),
    ]


async def test_who_waited_for_a_save_reads_what_was_saved(scene: Scene) -> None:
    """It reads the number after it has the lock: a save in between must not let it begin beside too many."""
    await let(scene, "2")
    master = await scene.master()
    await scene.instance(master, execution_type=SERIAL)

    async def start() -> WorkflowState:
        async with scene.writing() as connection:
            return await join(connection, master)

    async with scene.writing() as saving:
        await serial_line.lock(saving, [CODE])
        await saving.execute(Sql("INSERT INTO workflow_version (workflow_code, version, spec) VALUES (1001, 2, '{}')"))
        await saving.execute(Sql("UPDATE workflow_definition SET version = 2 WHERE code = 1001"))
        second = asyncio.create_task(start())
        await scene.waits_for_a_lock()
    assert await second is W.SERIAL_WAIT


async def test_a_line_has_room_while_fewer_are_live_than_may_be(scene: Scene) -> None:
    await let(scene, "3")
    master = await scene.master()
    await waits(scene, Line(CODE), 9)
    for live in range(4):
        async with scene.writing() as connection:
            has_room = await serial_line.with_room(connection, CODE, 10) == [Line(CODE)]
            (found,) = await serial_line.standing(connection, [Line(CODE)])
        assert (has_room, len(found.live)) == (live < 3, live)
        assert await called(scene) == has_room
        await scene.sql("DELETE FROM command")
        await scene.instance(master, execution_type=SERIAL)
    async with scene.writing() as connection:
        (found,) = await serial_line.standing(connection, [Line(CODE)])
    assert len(found.live) == 3, "no more are read than may be live"


async def test_a_child_waits_in_vain_only_if_all_that_run_in_its_line_wait(scene: Scene) -> None:
    await let(scene, "2")
    master = await scene.master()
    above = await scene.instance(master, execution_type=SERIAL)
    beside = await scene.instance(master, execution_type=SERIAL)
    child = await waits(scene, Line(CODE), 3, parent=Parent(above, TaskCode(1), 1, 0))
    async with scene.writing() as connection:
        assert await serial_line.deadlocked(connection) == []
    other = await waits(scene, Line(CODE), 4, parent=Parent(beside, TaskCode(1), 1, 0))
    async with scene.writing() as connection:
        found = await serial_line.deadlocked(connection)
    assert [each.id for each in found] == [child, other]
