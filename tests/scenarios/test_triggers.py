"""Scenarios of `triggers`: a run's end, or the success of a task that updates a dataset, starts other workflows."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Sequence
from typing import Any

import pytest

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, WITHIN_S, Engine
from tests.shoal.command_line import CommandLine

WORK = {"name": "work", **BY_HAND}
LOAD = {"name": "load", "updates": ["orders"]}


def count(engine: Engine, workflow: int) -> int:
    """The number of its runs and of requested ones."""
    query = """SELECT (SELECT count(*) FROM workflow_instance WHERE workflow_code = %s)
                    + (SELECT count(*) FROM command WHERE workflow_code = %s AND type = 'START_PROCESS')"""
    return int(engine.cluster.one(query, workflow, workflow))


async def triggered(engine: Engine, workflow: int, nth: int = 1) -> int:
    """Its nth run, once that has ended."""
    query = """SELECT id FROM workflow_instance WHERE workflow_code = %s AND ended_at IS NOT NULL
               ORDER BY id OFFSET %s LIMIT 1"""
    ((run,),) = await eventually(lambda: engine.cluster.rows(query, workflow, nth - 1), within_s=WITHIN_S)
    return int(run)


def event(engine: Engine, run: int) -> dict[str, Any]:
    params = json.loads(engine.cluster.one("SELECT params FROM workflow_instance WHERE id = %s", run))
    return dict(json.loads(params["event"]))


async def report(engine: Engine, workflow: int, state: str) -> int:
    run = await engine.begin(workflow)
    await engine.claim(run, "work")
    engine.report(run, "work", state)
    assert await engine.end(run) == state
    return run


async def test_the_end_of_a_run_starts_the_workflows_that_wait_for_it(engine: Engine) -> None:
    name = f"source {engine.next_code()}"
    source = engine.define(WORK, name=name)
    after_success = engine.define({"name": "a", "params": {"write": "${event.run}"}}, triggers=[{"workflow": name}])
    states = {"workflow": name, "project": "default", "states": ["FAILURE", "STOP"]}
    after_others = engine.define({"name": "a"}, triggers=[states])
    elsewhere = engine.define({"name": "a"}, triggers=[{"workflow": name, "project": "another"}])
    offline = engine.define({"name": "a"}, triggers=[{"workflow": name}])
    engine.cluster.rows("UPDATE workflow_definition SET release_state = 'OFFLINE' WHERE code = %s", offline)
    run = await report(engine, source, "SUCCESS")
    started = await triggered(engine, after_success)
    known = event(engine, started)
    assert known.pop("schedule_time")
    assert known == {"kind": "workflow", "project": "default", "workflow": name, "run": str(run), "state": "SUCCESS"}
    assert engine.values(started, "a")["event.run"] == str(run)
    failed = await report(engine, source, "FAILURE")
    assert event(engine, await triggered(engine, after_others))["run"] == str(failed)
    await engine.change("REPEAT_RUNNING", failed)
    await engine.claim(failed, "work")
    engine.report(failed, "work", "SUCCESS")
    assert event(engine, await triggered(engine, after_success, 2))["run"] == str(failed)
    assert [count(engine, each) for each in (after_success, after_others, elsewhere, offline)] == [2, 1, 0, 0]


async def test_a_success_that_updates_a_dataset_starts_what_waits_for_it_once(engine: Engine) -> None:
    dataset, other = f"orders {engine.next_code()}", f"items {engine.next_code()}"
    load = {"name": "load", "updates": [dataset, other], "params": {"fail_attempts": 1}, "retry_times": 1}
    source = engine.define(load, {**WORK, "after": ["load"]})
    both = engine.define({"name": "a"}, triggers=[{"dataset": dataset}, {"dataset": other}])
    run = await engine.begin(source)
    known = event(engine, await triggered(engine, both))
    assert known.pop("schedule_time")
    assert sorted(known.pop("datasets")) == sorted([dataset, other])
    expected = {"kind": "dataset", "project": "default", "workflow": f"workflow {source}", "task": "load"}
    assert known == {**expected, "run": str(run)}
    await engine.claim(run, "work")
    engine.report(run, "work", "FAILURE")
    assert await engine.end(run) == "FAILURE"
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    await engine.claim(run, "work")
    engine.report(run, "work", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    only = {"start_tasks": "load", "task_depend_type": "TASK_ONLY"}
    await engine.run(source, "START_CURRENT_TASK_PROCESS", dry_run=True, **only)
    assert count(engine, both) == 1
    await engine.change("EXECUTE_TASK", run, start_tasks="load")
    await triggered(engine, both, 2)


async def update(engine: Engine, dataset: str, state: str = "SUCCESS", **task: Any) -> int:
    """A run that updates a dataset, if it succeeds."""
    load = {"name": "load", "updates": [dataset], **task}
    if state != "SUCCESS":
        load["params"] = {"fail_attempts": 1}
    run = await engine.begin(engine.define(load))
    assert await engine.end(run) == state
    return run


async def test_a_workflow_may_wait_for_all_of_several_datasets(engine: Engine) -> None:
    one, other, name = (f"{each} {engine.next_code()}" for each in ("orders", "items", "totals"))
    all_ = engine.define({"name": "a"}, name=name, triggers=[{"datasets": [one, other]}])
    shell = CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])
    assert f'Starts after all of the datasets "{one}", "{other}"' in (await shell("workflow", "show", name)).out
    await update(engine, one)
    newest = await update(engine, one)
    await update(engine, other, "FAILURE")
    page = (await shell("workflow", "show", name)).out
    assert f'waits for "{other}"; run {newest} has updated "{one}"' in page
    assert count(engine, all_) == 0
    last = await update(engine, other)
    run = await triggered(engine, all_)
    known = event(engine, run)
    assert known.pop("schedule_time")
    updates = known.pop("updates")
    assert known == {
        **{"kind": "dataset", "project": "default", "datasets": [one, other], "run": str(last), "task": "load"},
        "workflow": known["workflow"],
    }
    assert {dataset: each["run"] for dataset, each in updates.items()} == {one: str(newest), other: str(last)}
    assert f"run {last}, task load" in (await shell("show", str(run))).out
    await update(engine, other)
    assert count(engine, all_) == 1
    await update(engine, one)
    await triggered(engine, all_, 2)


async def test_a_condition_that_is_changed_begins_anew(engine: Engine) -> None:
    one, other = f"orders {engine.next_code()}", f"items {engine.next_code()}"
    all_ = engine.define({"name": "a"}, triggers=[{"datasets": [one, other]}])
    await update(engine, one)
    waits = "SELECT count(*) FROM dataset_wait WHERE workflow_code = %s"
    assert engine.cluster.one(waits, all_) == 1
    engine.cluster.rows("UPDATE workflow_definition SET version = version WHERE code = %s", all_)
    assert engine.cluster.one(waits, all_) == 1
    engine.cluster.rows(
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (%s, 2, %s)",
        all_,
        json.dumps({"tasks": [{"name": "a", "type": "FAKE"}], "triggers": [{"datasets": [one, other, "more"]}]}),
    )
    engine.cluster.rows("UPDATE workflow_definition SET version = 2 WHERE code = %s", all_)
    assert engine.cluster.one(waits, all_) == 0
    await update(engine, other)
    assert count(engine, all_) == 0
    engine.cluster.rows("DELETE FROM workflow_definition WHERE code = %s", all_)
    assert engine.cluster.one(waits, all_) == 0


async def test_both_runs_say_what_triggered_what(engine: Engine) -> None:
    name, dataset = f"source {engine.next_code()}", f"orders {engine.next_code()}"
    source = engine.define({**LOAD, "updates": [dataset]}, name=name)
    after_end = engine.define({"name": "a"}, name=f"after {name}", triggers=[{"workflow": name}])
    after_load = engine.define({"name": "a"}, triggers=[{"dataset": dataset}])
    run = await engine.run(source)
    by_end, by_load = await triggered(engine, after_end), await triggered(engine, after_load)
    shell = CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])
    assert f"Started by: the end of run {run}" in (await shell("show", str(by_end))).out
    assert f"Started by: run {run}, task load" in (await shell("show", str(by_load))).out
    page = (await shell("show", str(run))).out
    assert f"Triggered: run {by_end} of after {name} (SUCCESS)" in page
    assert f"run {by_load} (SUCCESS)" in page
    listed = json.loads((await shell("runs", "--trigger", "event", "--json", "--workflow", f"after {name}")).out)
    assert str(by_end) in json.dumps(listed)


async def test_workflows_that_trigger_each_other_in_a_circle_end_after_a_hundred_runs(engine: Engine) -> None:
    name = f"circle {engine.next_code()}"
    one = engine.define({"name": "a"}, name=name, triggers=[{"workflow": f"{name} back"}])
    other = engine.define({"name": "a"}, name=f"{name} back", triggers=[{"workflow": name}])
    await engine.begin(one)
    query = "SELECT reason FROM error_command WHERE workflow_code = ANY(%s)"
    ((reason,),) = await eventually(lambda: engine.cluster.rows(query, [one, other]), within_s=WITHIN_S)
    assert "100 runs have triggered one another" in reason
    assert count(engine, one) + count(engine, other) == 101


async def test_an_event_that_somebody_makes_up_by_sql_is_refused(engine: Engine) -> None:
    command = engine.ask("START_PROCESS", engine.define({"name": "a"}), parent="1/0/0/1/event")
    assert "leave parent out" in await engine.refused(command)


@pytest.mark.parametrize("kind", ["datasets", "ends"])
async def test_masters_that_are_killed_start_each_triggered_run_once(fresh: Engine, kind: str) -> None:
    """A chain of three workflows, whatever becomes of their masters meanwhile."""
    await fresh.cluster.worker()
    is_dataset = kind == "datasets"
    middle = {"dataset": "raw"} if is_dataset else {"workflow": "first"}
    last = {"dataset": "clean"} if is_dataset else {"workflow": "second"}
    first = fresh.define({"name": "a", "updates": ["raw"]}, {"name": "b", "after": ["a"]}, name="first")
    second = fresh.define({"name": "a", "updates": ["clean"]}, name="second", triggers=[middle])
    third = fresh.define({"name": "a"}, name="third", triggers=[last])
    await _run_all(fresh, [first] * 40)
    runs = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %s AND state = 'SUCCESS'"
    assert [fresh.cluster.one(runs, each) for each in (first, second, third)] == [40, 40, 40]
    sources = "SELECT count(DISTINCT split_part(started_by, '/', 1)) FROM workflow_instance WHERE workflow_code = %s"
    assert [fresh.cluster.one(sources, each) for each in (second, third)] == [40, 40]


async def test_masters_that_are_killed_count_each_update_of_several_datasets_once(fresh: Engine) -> None:
    """Of updates that come faster than the other dataset's the newest counts; none is in two starts."""
    await fresh.cluster.worker()
    sources = [fresh.define({"name": "a", "updates": [each]}, {"name": "b", "after": ["a"]}) for each in "xy"]
    both = fresh.define({"name": "a"}, triggers=[{"datasets": ["x", "y"]}])
    await _run_all(fresh, sources * 30)
    runs = [run for (run,) in fresh.cluster.rows("SELECT id FROM workflow_instance WHERE workflow_code = %s", both)]
    used = [(dataset, each["run"]) for run in runs for dataset, each in event(fresh, run)["updates"].items()]
    assert runs
    assert len(used) == len(set(used)) == 2 * len(runs)
    ((missing, updates),) = fresh.cluster.rows("SELECT missing, updates FROM dataset_wait")
    left = {dataset for dataset in updates if missing}
    assert left | set(missing) == ({"x", "y"} if missing else set())
    newest = {each: max(int(run) for dataset, run in used if dataset == each) for each in "xy"}
    assert all(each not in left or int(updates[each]["run"]) != newest[each] for each in "xy")


async def _run_all(fresh: Engine, codes: Sequence[int]) -> None:
    """Start these while four masters are killed in turn; returns once they and all that they trigger have ended."""
    masters = [await fresh.cluster.master() for _ in range(2)]
    commands = [fresh.ask("START_PROCESS", code) for code in codes]
    for _ in range(4):
        await asyncio.sleep(0.15)
        masters.pop(0).signal(signal.SIGKILL)
        masters.append(await fresh.cluster.master())
    for command in commands:
        run = await fresh.done(command)
        assert run is not None
        assert await fresh.end(run) == "SUCCESS"
    idle = """SELECT (SELECT count(*) FROM command) + (SELECT count(*) FROM workflow_instance WHERE ended_at IS NULL)"""
    await eventually(lambda: fresh.cluster.one(idle), until=0, within_s=WITHIN_S)
