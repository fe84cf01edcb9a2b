"""Runs that ended long ago, and the deletion of those that are old: for tests of the duty `retention`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from dao.cluster.nodes import Me
from dao.commands import commands
from dao.commands.commands import Outcome
from dao.postgres.database import Database
from master.duties import retention
from model.ids import CommandId
from tests.dao.scene import Scene

OLD, YOUNG = "100 d", "80 d"


@pytest_asyncio.fixture
async def scene(database_url: str) -> AsyncIterator[Scene]:
    """A database with the schema, and a workflow of each of three projects: without a setting, a week, and forever."""
    database = Database(database_url, application_name="shoal-test")
    made = Scene(database)
    await made.sql(
        "INSERT INTO workflow_definition (code, project, name) VALUES "
        "(1001, 'default', 'a'), (1002, 'week', 'b'), (1003, 'forever', 'c')"
    )
    await made.sql("INSERT INTO project (name, kept_days) VALUES ('week', 7), ('forever', 0)")
    yield made
    await database.close()


async def finished(
    scene: Scene, ended: str | None, *, code: int = 1001, state: str = "SUCCESS", above: int | None = None
) -> int:
    """A run with two attempts, its command and an event, that ended `ended` ago; None: it runs."""
    (command,) = await scene.commands(1)
    await scene.sql("DELETE FROM command WHERE id = :id", id=command)
    age = ended or "100 d"
    (run,) = await scene.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, started_at, ended_at, schedule_time, parent_instance_id, "
        "parent_task_code, parent_attempt, child_index) VALUES (:command, :code, 1, :state, 1, 'CONTINUE', "
        "'MEDIUM', 'default', "
        "now() - CAST(:age AS interval) - interval '1 min', CASE WHEN :ended THEN now() - CAST(:age AS interval) END, "
        "now() - CAST(:age AS interval), CAST(:above AS bigint), "
        "CASE WHEN CAST(:above AS bigint) > 0 THEN 1 END, CASE WHEN CAST(:above AS bigint) > 0 THEN 1 END, "
        "CASE WHEN CAST(:above AS bigint) > 0 THEN :command END) RETURNING id",
        command=command, code=code, state=state if ended else "RUNNING_EXECUTION", age=age, ended=ended is not None,
        above=above,
    )  # fmt: skip
    await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority, ended_at) SELECT :run, n, 'a' || n, 'FAKE', 'SUCCESS', 'default', 'MEDIUM', "
        "'MEDIUM', now() FROM generate_series(1, 2) AS n",
        run=run,
    )
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, workflow_instance_id, master_id, created_at, "
        "handled_at) VALUES (:command, 'START_PROCESS', 'DONE', :run, 1, now(), now() - CAST(:age AS interval))",
        command=command, run=run, age=age,
    )  # fmt: skip
    return int(run)


async def delete_old(scene: Scene, kept_days: int = 90, *, is_fine: bool = True) -> str:
    """All steps of a round; what it says."""
    progress: dict[str, Any] = {}
    while True:
        async with scene.writing() as connection:
            writing: Any = connection
            step = await retention.delete_old(writing, kept_days, json.loads(json.dumps(progress)))
        if step.is_over:
            assert step.is_fine is is_fine
            return step.result
        progress = dict(step.progress)


async def left(scene: Scene) -> set[int]:
    """The runs that are left, each whole."""
    left = set(await scene.sql("SELECT id FROM workflow_instance"))
    assert set(await scene.sql("SELECT DISTINCT workflow_instance_id FROM task_instance")) == left
    assert left <= set(await scene.sql("SELECT workflow_instance_id FROM command_history WHERE outcome = 'DONE'"))
    return left


async def handle(scene: Scene, id_: int, master: Me) -> None:
    """Record a handled command as a master does."""
    await scene.sql(
        "INSERT INTO command (id, type, workflow_code) OVERRIDING SYSTEM VALUE VALUES (:id, 'START_PROCESS', 1001)",
        id=id_,
    )
    async with scene.writing() as connection:
        writing: Any = connection
        rows = await commands.take(writing, [CommandId(id_)])
        await commands.record(writing, [Outcome(row, None) for row in rows], master.epoch, None)
