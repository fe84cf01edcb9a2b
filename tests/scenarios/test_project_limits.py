"""A project that is limited, and every way by which a run of it may be made: a master refuses each."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.eventually import eventually
from tests.scenarios.engine import Engine

TASK: dict[str, Any] = {"name": "a", "tenant": "etl"}
DATES = {"dates": ["2026-01-01"], "dependents": True}


def limited(engine: Engine, *tasks: dict[str, Any], **fields: Any) -> int:
    """A workflow in a project of its own that may run as etl in the default group, and use no other of anything."""
    code = engine.define(*tasks, **fields)
    engine.cluster.rows(
        """INSERT INTO project (name, tenants, worker_groups, environments, data_sources, alert_groups)
           VALUES (%s, '{etl}', '{default}', '{spark}', '{shop}', '{data}')""",
        f"limited {code}",
    )
    engine.cluster.rows("UPDATE workflow_definition SET project = %s WHERE code = %s", f"limited {code}", code)
    return code


@pytest.mark.parametrize(
    ("task", "start", "sentence"),
    [
        ({"tenant": None}, {}, "a worker's own tenant: a task names none, only etl"),
        ({"tenant": "root"}, {}, 'the tenant "root", only etl'),
        ({"worker_group": "gpu"}, {}, 'the worker group "gpu", only default'),
        ({"environment": "prod"}, {}, 'the environment "prod", only spark'),
        ({"type": "SQL", "params": {"datasource": "hr"}}, {}, 'the data source "hr", only shop'),
        ({}, {"worker_group": "gpu"}, 'the worker group "gpu", only default'),
        ({}, {"environment": "prod"}, 'the environment "prod", only spark'),
        ({}, {"warning_type": "ALL", "alert_group": "ops"}, 'the alert group "ops", only data'),
    ],
)
async def test_a_row_of_command_passes_no_limit(
    engine: Engine, task: dict[str, Any], start: dict[str, Any], sentence: str
) -> None:
    code = limited(engine, {name: value for name, value in {**TASK, **task}.items() if value is not None})
    wanted = f'project "limited {code}" may not use {sentence}; name one of those, or ask an admin'
    assert await engine.refused(engine.ask("START_PROCESS", code, **start)) == wanted
    backfill = engine.ask("COMPLEMENT_DATA", code, params={"backfill": DATES}, **start)
    assert await engine.refused(backfill) == wanted
    assert engine.cluster.rows("SELECT FROM workflow_instance WHERE workflow_code = %s", code) == []


async def why_refused(engine: Engine, code: int) -> str:
    """The reason of the command of this workflow, which those of its own project read."""
    refusals = "SELECT DISTINCT reason FROM error_command WHERE workflow_code = %s"
    ((reason,),) = await eventually(lambda: engine.cluster.rows(refusals, code), within_s=10)
    return str(reason)


@pytest.mark.parametrize("type_", ["SUB_PROCESS", "DYNAMIC"])
async def test_a_child_run_passes_no_limit_of_its_project(engine: Engine, type_: str) -> None:
    below = limited(engine, {"name": "a", "type": "SHELL", "params": {"script": "id"}})
    lists = {"lists": [{"name": "n", "value": "1,2"}]}
    params = {"workflow": below, **(lists if type_ == "DYNAMIC" else {})}
    run = await engine.run(engine.define({"name": "above", "type": type_, "params": params}))
    assert engine.tasks(run) == {"above": "FAILURE"}
    assert engine.children(run) == []
    assert "may not use a worker's own tenant" in await why_refused(engine, below)
    assert engine.why(run, "above") in ("the workflow it stands for failed", "1 of 2 children failed")


async def test_what_a_parent_run_was_started_with_passes_no_limit_of_its_child(engine: Engine) -> None:
    below = limited(engine, TASK)
    above = engine.define({"name": "above", "type": "SUB_PROCESS", "params": {"workflow": below}})
    run = await engine.run(above, environment="prod")
    assert 'may not use the environment "prod", only spark' in await why_refused(engine, below)
    assert engine.why(run, "above") == "the workflow it stands for failed"


async def test_a_dependent_that_a_backfill_fills_passes_no_limit(engine: Engine) -> None:
    above = engine.define({"name": "a"})
    depends = {"groups": [{"items": [{"workflow": above, "cycle": "today"}]}]}
    below = limited(engine, {"name": "w", "type": "DEPENDENT", "params": depends}, {"name": "b", "after": ["w"]})
    await engine.run(above, "COMPLEMENT_DATA", params={"backfill": DATES})
    assert "may not use a worker's own tenant" in await why_refused(engine, below)


async def test_a_start_by_sql_and_a_schedule_pass_no_limit(engine: Engine) -> None:
    code = limited(engine, {"name": "a"})
    try:
        refused = await engine.refused(engine.cluster.one("SELECT start_workflow(%s)", code))
    except psycopg.errors.InsufficientPrivilege as error:
        refused = str(error)
    assert "may not use" in refused
    scheduled = engine.ask("SCHEDULER", code, schedule_id=77, schedule_time="2026-01-01 00:00Z")
    assert "may not use a worker's own tenant" in await engine.refused(scheduled)


async def test_a_run_from_before_the_limit_is_not_run_again(engine: Engine) -> None:
    code = engine.define({"name": "a", "params": {"fail": True}})
    run = await engine.run(code)
    engine.cluster.rows("INSERT INTO project (name, tenants) VALUES ('later', '{etl}')")
    engine.cluster.rows("UPDATE workflow_definition SET project = 'later' WHERE code = %s", code)
    for type_ in ("REPEAT_RUNNING", "START_FAILURE_TASK_PROCESS"):
        assert "may not use a worker's own tenant" in await engine.refused(engine.ask(type_, run=run))
    again = engine.ask("EXECUTE_TASK", run=run, start_tasks="a")
    assert "may not use a worker's own tenant" in await engine.refused(again)
