"""`dao/commands/error_commands.py`: refused commands are read, retried and dropped by people."""

from __future__ import annotations

import pytest

from dao.commands import commands, error_commands
from dao.commands.commands import Outcome
from model.cluster.slots import Slot
from model.errors import NotFound, Refused
from model.ids import CommandId
from tests.dao.scene import Scene


async def refused(scene: Scene, insert: str) -> list[CommandId]:
    """Have a master refuse what `insert` asks for."""
    await scene.sql(insert)
    async with scene.writing() as connection:
        rows = await commands.claim(connection, Slot(0, 1), 100, 1)
        outcomes = [Outcome(row, None, f"reason {row.id}") for row in rows]
        await commands.record(connection, outcomes, (await scene.master()).epoch, None)
    return sorted(row.id for row in rows)


async def test_they_are_listed_newest_first_by_pages(scene: Scene) -> None:
    ids = await refused(
        scene,
        "INSERT INTO command (type, params, created_at, created_by) "
        "SELECT 'NONSENSE', '{', 'infinity', 'anna' FROM generate_series(1, 5)",
    )
    async with scene.database.reading() as connection:
        first = await error_commands.error_commands(connection, 3)
        second = await error_commands.error_commands(connection, 3, before=first[-1].id)
    assert [error.id for error in (*first, *second)] == list(reversed(ids))
    assert (first[0].type, first[0].params, first[0].created_at) == ("NONSENSE", "{", "infinity")
    assert (first[0].created_by, first[0].reason) == ("anna", f"reason {first[0].id}")


async def test_a_retry_asks_again_for_the_same_and_takes_the_error_away(scene: Scene) -> None:
    [id_] = await refused(
        scene,
        "INSERT INTO command (type, workflow_code, workflow_version, params, priority, failure_strategy, worker_group, "
        "created_at, created_by) "
        "VALUES ('START_PROCESS', 1001, 7, '{\"a\": 1}', 'HIGH', 'END', 'gpu', '-infinity', 'anna')",
    )
    async with scene.writing() as connection:
        new = await error_commands.retry_error_command(connection, id_)
    assert new > id_
    assert await scene.sql(
        "SELECT id, type, workflow_code, workflow_version, params, priority, failure_strategy, worker_group, "
        "isfinite(created_at), created_by FROM command"
    ) == [(new, "START_PROCESS", 1001, 7, '{"a": 1}', "HIGH", "END", "gpu", True, "anna")]
    assert await scene.sql("SELECT count(*) FROM error_command") == [0]
    with pytest.raises(NotFound, match=f"there is no error command {id_}"):
        async with scene.writing() as connection:
            await error_commands.retry_error_command(connection, id_)


async def test_a_retry_keeps_every_column_that_says_what_is_asked(scene: Scene) -> None:
    values = (
        "'COMPLEMENT_DATA', 'ALL', 'night', 'prod', true, 'TASK_PRE', '[\"a\"]', '2026-01-31 05:00:00+00', "
        "'Europe/Berlin', 7, '1/2/3/4', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'"
    )
    columns = (
        "type, warning_type, alert_group, environment, dry_run, task_depend_type, start_tasks, schedule_time, "
        "time_zone, schedule_id, parent, traceparent"
    )
    [id_] = await refused(scene, f"INSERT INTO command ({columns}) VALUES ({values})")
    async with scene.writing() as connection:
        await error_commands.retry_error_command(connection, id_)
    assert await scene.sql(f"SELECT count(*) FROM command WHERE ({columns}) = ({values})") == [1]
    mine = "SELECT column_name FROM information_schema.columns WHERE table_name = "
    kept = set(await scene.sql(f"{mine}'error_command'")) - {
        "command_id",
        "reason",
        "master_id",
        "refused_at",
        "is_alerted",
    }
    assert (
        set(await scene.sql(f"{mine}'command'")) - {"id", "priority_rank", "deaths", "tried_by", "from_above"} == kept
    )


async def test_a_failover_that_is_under_way_is_not_asked_for_twice(scene: Scene) -> None:
    recover = "INSERT INTO command (type, workflow_instance_id) VALUES ('RECOVER_TOLERANCE_FAULT_PROCESS', 5)"
    [id_] = await refused(scene, recover)
    await scene.sql(recover)
    with pytest.raises(Refused, match="waits already"):
        async with scene.writing() as connection:
            await error_commands.retry_error_command(connection, id_)
    assert await scene.sql("SELECT count(*) FROM error_command") == [1], "the refusal undoes all of it"


async def test_a_dropped_one_is_gone_but_history_knows_that_it_was_there(scene: Scene) -> None:
    [id_] = await refused(scene, "INSERT INTO command (type) VALUES ('NONSENSE')")
    async with scene.writing() as connection:
        assert await error_commands.drop_error_commands(connection, [id_, CommandId(id_ + 1)]) == 1
    assert await scene.sql("SELECT count(*) FROM error_command") == [0]
    assert await scene.sql("SELECT outcome FROM command_history") == ["ERROR"]
    with pytest.raises(NotFound):
        async with scene.writing() as connection:
            await error_commands.some_error_commands(connection, [id_])
