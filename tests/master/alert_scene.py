"""The scene of tests about the duties of alerts: runs that began and ended, rules, and steps of duties."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from dao.cluster import nodes
from dao.postgres.database import Database
from dao.runs import workflow_instances
from dao.runs.workflow_instances import InstanceEnd
from master.duties.steps import STEPS, Context
from model.cluster.duties import DutyName, Step
from model.ids import Epoch, WorkflowInstanceId
from model.runs.states import WorkflowState
from tests.dao.scene import Scene

NEW = "INSERT INTO workflow_definition (code, name, project) VALUES (:code, :name, :project)"


@asynccontextmanager
async def sales(database_url: str) -> AsyncIterator[Scene]:
    """Two workflows of the project sales, `load` and `clean`, and one of the same name elsewhere."""
    database = Database(database_url, application_name="shoal-test")
    made = Scene(database)
    for code, name, project in ((1, "load", "sales"), (2, "clean", "sales"), (3, "load", "other")):
        await made.sql(NEW, code=code, name=name, project=project)
    yield made
    await database.close()


async def do(scene: Scene, name: DutyName = DutyName.ALERT_RULES) -> Step:
    """All steps of a duty."""
    progress: dict[str, Any] = {}
    while True:
        async with scene.writing() as connection:
            writing: Any = connection
            living = await nodes.living(connection)
            context = Context(timedelta(seconds=5), 90, lambda living=living: living)  # type: ignore[misc]
            step = await STEPS[name](writing, context, progress)
        if step.is_over:
            return step
        progress = dict(step.progress)


async def add_rule(scene: Scene, text: str, project: str = "sales") -> int:
    """Write a rule; its id."""
    statement = "INSERT INTO alert_rule (project, name, text) VALUES (:project, :text, :text) RETURNING id"
    return int((await scene.sql(statement, project=project, text=text))[0])


async def begin(scene: Scene, code: int = 1, **columns: object) -> int:
    """A run that has begun; its id."""
    names = "".join(f", {name}" for name in columns)
    places = "".join(f", :{name}" for name in columns)
    statement = f"""INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id,
                        failure_strategy, priority, worker_group{names})
                    SELECT coalesce(max(command_id), 0) + 1, :code, 1, 'RUNNING_EXECUTION', 1, 'CONTINUE', 'MEDIUM',
                           'default'{places} FROM workflow_instance RETURNING id"""
    return int((await scene.sql(statement, code=code, **columns))[0])


async def end(scene: Scene, run: int, state: str) -> None:
    """End a run."""
    if state == "STOP":
        await scene.sql("UPDATE workflow_instance SET state = 'READY_STOP' WHERE id = :run", run=run)
    async with scene.writing() as connection:
        await finish(connection, run, state)


async def finish(connection: Any, run: int, state: str) -> None:
    """End a run in a transaction of the caller."""
    await workflow_instances.finish(
        connection, [InstanceEnd(WorkflowInstanceId(run), WorkflowState(state), "")], Epoch(1)
    )


async def ended(scene: Scene, states: str, code: int = 1, **columns: object) -> list[int]:
    """Runs that ended one after the other: S, F or P."""
    runs = []
    for letter in states:
        runs.append(await begin(scene, code, **columns))
        await end(scene, runs[-1], {"S": "SUCCESS", "F": "FAILURE", "P": "STOP"}[letter])
    return runs


async def alerts(scene: Scene) -> list[Any]:
    """Kind, group and run of each alert, in order."""
    return await scene.sql("SELECT kind, alert_group, workflow_instance_id FROM alert ORDER BY id")
