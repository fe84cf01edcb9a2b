"""The duty `retention`: no command is handled again, and none is refused, since its history was deleted."""

from __future__ import annotations

from typing import Any

import pytest

from dao.commands import commands
from dao.commands.commands import Outcome
from dao.postgres.errors import BadData
from model.ids import CommandId
from tests.dao.scene import Scene
from tests.master.finished_runs import OLD, YOUNG, delete_old, finished, handle, scene

__all__ = ["scene"]
pytestmark = pytest.mark.usefixtures("scene")


async def test_a_command_that_comes_again_is_not_handled_though_its_history_is_deleted(scene: Scene) -> None:
    master = await scene.master()
    await finished(scene, OLD)
    run = await finished(scene, OLD)
    (command,) = await scene.sql("SELECT command_id FROM workflow_instance WHERE id = :id", id=run)
    await delete_old(scene)
    assert await scene.sql("SELECT command_id FROM command_history") == [command], "the newest row stays"
    for id_ in (command, command - 1):
        with pytest.raises(BadData, match=r"2350[25]"):
            await handle(scene, id_, master)
        await scene.sql("DELETE FROM command")
    async with scene.database.reading() as connection:
        assert await commands.handled_before(connection, CommandId(command)) is not None
        assert await commands.handled_before(connection, CommandId(command + 1)) is None
    await handle(scene, command + 1, master)
    await delete_old(scene)
    assert await scene.sql("SELECT command_id FROM command_history") == [command + 1]
    with pytest.raises(BadData, match=r"2350[25]"):
        await handle(scene, command, master)


async def test_a_floor_that_somebody_wrote_refuses_nothing_new(scene: Scene) -> None:
    master = await scene.master()
    await finished(scene, OLD)
    await scene.sql("INSERT INTO history_floor VALUES (1, 0, 9000000000000000000)")
    await handle(scene, 5_000_000, master)


async def test_ids_that_somebody_chose_far_above_all_others_refuse_nothing_new(scene: Scene) -> None:
    master = await scene.master()
    far = 10**15
    for id_ in (far, far + 1):
        await handle(scene, id_, master)
    await scene.sql("UPDATE command_history SET handled_at = now() - interval '100 d'")
    await finished(scene, OLD)
    await finished(scene, YOUNG)
    await delete_old(scene)
    await handle(scene, 5_000_000, master)
    with pytest.raises(BadData):
        await handle(scene, far, master)


async def test_no_history_is_deleted_above_a_command_that_still_waits(scene: Scene) -> None:
    master = await scene.master()
    (waits,) = await scene.commands(1, age="200 d")
    run, young = await finished(scene, OLD), await finished(scene, YOUNG)
    await delete_old(scene)
    assert await scene.sql("SELECT workflow_instance_id FROM command_history ORDER BY 1") == [run, young]
    assert await scene.sql("SELECT id FROM workflow_instance") == [young]
    async with scene.writing() as connection:
        writing: Any = connection
        rows = await commands.take(writing, [CommandId(waits)])
        await commands.record(writing, [Outcome(row, None) for row in rows], master.epoch, None)
    assert "1 other commands" in await delete_old(scene)


async def test_a_command_that_commits_late_is_not_below_the_floor_of_what_was_handled_meanwhile(scene: Scene) -> None:
    master = await scene.master()
    run = await finished(scene, "8 d", code=1002)
    late, about, starts = await scene.commands(3)
    await scene.sql("DELETE FROM command")  # the first is in a transaction that is still open
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, workflow_instance_id, master_id, created_at) "
        "VALUES (:about, 'PAUSE', 'ERROR', :run, 1, now()), (:starts, 'START_PROCESS', 'DONE', NULL, 1, now())",
        about=about, run=run, starts=starts,
    )  # fmt: skip
    young = await finished(scene, YOUNG, code=1003)
    await delete_old(scene, kept_days=0)
    assert await scene.sql("SELECT id FROM workflow_instance") == [young]
    await handle(scene, late, master)
    await scene.sql("UPDATE command_history SET handled_at = now() - interval '2 d' WHERE command_id = :id", id=about)
    assert "1 other commands" in await delete_old(scene, kept_days=0), "also where what has no run is kept for ever"
    with pytest.raises(BadData):
        await handle(scene, about, master)


async def test_runs_that_are_deleted_by_hand_raise_no_floor_to_ids_of_the_last_day(scene: Scene) -> None:
    master = await scene.master()
    gone = [await finished(scene, "10 min") for _ in range(3)]
    young = await finished(scene, YOUNG)
    (late,) = await scene.sql("SELECT command_id FROM workflow_instance WHERE id = :id", id=gone[0])
    await scene.sql("DELETE FROM command_history WHERE command_id = :id", id=late)
    await scene.sql("DELETE FROM task_instance WHERE workflow_instance_id <> :id", id=young)
    await scene.sql("DELETE FROM workflow_instance WHERE id <> :id", id=young)
    await delete_old(scene)
    await handle(scene, late, master)
    await scene.sql("UPDATE command_history SET handled_at = handled_at - interval '2 d'")
    assert "2 other commands" in await delete_old(scene)


async def test_the_floor_of_ids_in_strides_is_that_of_their_residue(scene: Scene) -> None:
    master = await scene.master()
    await scene.sql("ALTER TABLE command ALTER COLUMN id SET INCREMENT BY 2")
    run = await finished(scene, OLD)
    (command,) = await scene.sql("SELECT command_id FROM workflow_instance WHERE id = :id", id=run)
    await delete_old(scene)
    await handle(scene, command + 1, master)
    with pytest.raises(BadData):
        await handle(scene, command, master)
