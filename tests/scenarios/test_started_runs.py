"""Scenarios of SUB_PROCESS with `wait: false`: another workflow is started, and goes its own way."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import pytest

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, WITHIN_S, Engine
from tests.shoal.command_line import CommandLine

OUTPUT = "started.run"
WORK = {"name": "work", **BY_HAND}
BY = "SELECT id FROM workflow_instance WHERE started_by LIKE %s || '/%%' ORDER BY id"


def starts(other: int | str, **params: Any) -> dict[str, Any]:
    return {"name": "start", "type": "SUB_PROCESS", "params": {"workflow": other, "wait": False, **params}}


def started_by(engine: Engine, run: int) -> list[int]:
    return [id_ for (id_,) in engine.cluster.rows(BY, str(run))]


async def stop(engine: Engine, run: int) -> None:
    await engine.change("STOP", run)
    await engine.end(run)


async def test_it_starts_another_workflow_and_goes_on_with_the_id_of_that_run(engine: Engine) -> None:
    other = engine.define(WORK, params={"city": "Oslo"})
    after = {"name": "after", "after": ["start"], "params": {"write": "${started.run}"}}
    above = engine.define(starts(other, params={"city": "${town}"}), after, params={"town": "Lima"})
    run = await engine.run(above)
    assert engine.state(run) == "SUCCESS"
    (started,) = started_by(engine, run)
    assert engine.printed(run, "start") == {OUTPUT: str(started)}
    assert engine.values(run, "after")[OUTPUT] == str(started)
    assert engine.children(run) == []
    assert engine.state(started) == "RUNNING_EXECUTION"
    await engine.claim(started, "work")
    assert engine.values(started, "work")["city"] == "Lima"
    engine.report(started, "work", "FAILURE")
    assert await engine.end(started) == "FAILURE"
    assert engine.state(run) == "SUCCESS"


async def test_a_stop_of_the_run_leaves_the_started_one_alone_and_a_resume_starts_no_other(engine: Engine) -> None:
    other = engine.define(WORK)
    run = await engine.begin(engine.define(starts(other), {**WORK, "name": "own", "after": ["start"]}))
    await engine.task_becomes(run, "own", "QUEUED")
    await stop(engine, run)
    (started,) = started_by(engine, run)
    assert engine.state(started) == "RUNNING_EXECUTION"
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.claim(run, "own")
    engine.report(run, "own", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert started_by(engine, run) == [started]
    await engine.change("REPEAT_RUNNING", run)
    await engine.task_becomes(run, "own", "QUEUED")
    first, second = started_by(engine, run)
    assert (first, engine.printed(run, "start")) == (started, {OUTPUT: str(second)})
    for each in (run, first, second):
        await stop(engine, each)


@pytest.mark.parametrize("why", ["offline", "unknown"])
async def test_what_cannot_be_started_fails_the_task_with_the_reason(engine: Engine, why: str) -> None:
    other: int | str = "nobody"
    said = 'there is no workflow "nobody" in project "default"'
    if why == "offline":
        other = engine.define(WORK, name="taken back")
        engine.cluster.rows("UPDATE workflow_definition SET release_state = 'OFFLINE' WHERE code = %s", other)
        said = 'workflow "taken back" is OFFLINE'
    run = await engine.run(engine.define(starts(other)))
    assert engine.state(run) == "FAILURE"
    assert f"the workflow that it starts was not started: {said}" in engine.why(run, "start")


async def test_the_started_run_says_what_started_it(engine: Engine) -> None:
    other = engine.define({"name": "work"}, name="audit of a run")
    run = await engine.run(engine.define(starts(other)))
    (started,) = started_by(engine, run)
    await engine.end(started)
    shell = CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])
    assert f"Started by: run {run}, task start" in (await shell("show", str(started))).out
    assert f"run {started} (SUCCESS)" in (await shell("show", str(run))).out
    of_rest = json.loads((await shell("show", str(started), "--json")).out)
    assert (of_rest["started_by_id"], of_rest["started_by_task"]) == (str(run), "start")
    assert "parent_id" not in of_rest
    listed = (await shell("runs", "--trigger", "task", "--workflow", "audit of a run")).out
    assert str(started) in listed


async def test_a_workflow_that_starts_itself_by_sql_ends_at_a_depth(engine: Engine) -> None:
    code = engine.next_code()
    assert engine.define(starts(code)) == code
    await engine.run(code)
    query = "SELECT max(depth), count(*) FROM workflow_instance WHERE workflow_code = %s AND ended_at IS NOT NULL"
    await eventually(lambda: engine.cluster.rows(query, code), until=[(30, 31)], within_s=WITHIN_S)


async def test_masters_that_are_killed_start_each_run_once(fresh: Engine) -> None:
    """Whenever its master dies: before the command is taken, or after."""
    await fresh.cluster.worker()
    other = fresh.define({"name": "work"})
    above = fresh.define(*({**starts(other), "name": f"start {number}"} for number in range(20)))
    masters = [await fresh.cluster.master() for _ in range(2)]
    commands = [fresh.ask("START_PROCESS", above) for _ in range(5)]
    for _ in range(3):
        await asyncio.sleep(0.15)
        masters.pop(0).signal(signal.SIGKILL)
        masters.append(await fresh.cluster.master())
    runs = [await fresh.done(each) for each in commands]
    for run in runs:
        assert run is not None
        assert await fresh.end(run) == "SUCCESS"
        outputs = """SELECT outputs::json ->> 'started.run' FROM task_instance
                     WHERE workflow_instance_id = %s AND state = 'SUCCESS'"""
        named = sorted(int(id_) for (id_,) in fresh.cluster.rows(outputs, run))
        assert named == started_by(fresh, run)
        assert len(named) == 20
    count = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %s"
    assert fresh.cluster.one(count, other) == 100
