"""Several runs of a workflow at once: what each execution type means with `max_active`, and what takes a place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from master.claim.serial import TURNS_MAX
from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, UNTIL_STOPPED, Engine
from tests.scenarios.test_execution_types import most_at_once

TASK = {"name": "a", **BY_HAND}


async def begin(engine: Engine, code: int, count: int, **columns: Any) -> list[int]:
    return [await engine.begin(code, **columns) for _ in range(count)]


async def end(engine: Engine, run: int, state: str = "SUCCESS") -> None:
    await engine.claim(run, "a")
    engine.report(run, "a", state)
    await engine.end(run)


def states(engine: Engine, runs: list[int]) -> list[str]:
    short = {"RUNNING_EXECUTION": "runs", "SERIAL_WAIT": "waits"}
    return [short.get(engine.state(run), engine.state(run)) for run in runs]


async def become(engine: Engine, runs: list[int], *expected: str) -> None:
    await eventually(lambda: states(engine, runs), until=list(expected), within_s=20)


async def test_so_many_run_and_the_others_wait_in_their_order(engine: Engine) -> None:
    code = engine.define(TASK, max_active=2)
    runs = await begin(engine, code, 4)
    assert states(engine, runs) == ["runs", "runs", "waits", "waits"]
    await end(engine, runs[1])
    await become(engine, runs, "runs", "SUCCESS", "runs", "waits")
    await end(engine, runs[0], "FAILURE")
    await become(engine, runs, "FAILURE", "SUCCESS", "runs", "runs")
    for run in runs[2:]:
        await end(engine, run)
    assert most_at_once(engine, code) == 2


async def test_two_masters_with_many_starts_at_once_let_so_many_run(engine: Engine) -> None:
    code = engine.define({"name": "a", "params": {"sleep_s": 0.05}}, max_active=3)
    engine.cluster.start(code, 30)
    over = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %s AND state = 'SUCCESS'"
    await eventually(lambda: engine.cluster.one(over, code), until=30, within_s=30)
    assert most_at_once(engine, code) == 3


async def test_a_paused_run_frees_its_place_and_needs_one_to_go_on(engine: Engine) -> None:
    code = engine.define({"name": "a", **UNTIL_STOPPED}, max_active=2)
    runs = await begin(engine, code, 3)
    await engine.task_becomes(runs[0], "a", "RUNNING_EXECUTION")
    await engine.change("STOP", runs[0])
    await become(engine, runs, "STOP", "runs", "runs")
    for command in ("RECOVER_SUSPENDED_PROCESS", "REPEAT_RUNNING"):
        assert await engine.refused(engine.ask(command, run=runs[0])) == (
            f"workflow instance {runs[0]} cannot go on: at most 2 runs of its workflow go on at once, and so many do; "
            "wait for the end of one"
        )
    await engine.change("STOP", runs[1])
    await engine.end(runs[1])
    await engine.change("RECOVER_SUSPENDED_PROCESS", runs[0])
    await become(engine, runs, "runs", "STOP", "runs")
    assert most_at_once(engine, code) == 2
    for run in (runs[0], runs[2]):
        await engine.change("STOP", run)
        await engine.end(run)


async def test_a_run_is_discarded_while_so_many_run(engine: Engine) -> None:
    code = engine.define(TASK, max_active=2, execution_type="SERIAL_DISCARD")
    runs = await begin(engine, code, 3)
    assert states(engine, runs) == ["runs", "runs", "STOP"]
    await end(engine, runs[0])
    runs += await begin(engine, code, 1)
    assert states(engine, runs) == ["SUCCESS", "runs", "STOP", "runs"]
    for run in (runs[1], runs[3]):
        await end(engine, run)


async def test_with_priority_the_newest_stay(engine: Engine) -> None:
    code = engine.define(TASK, max_active=2, execution_type="SERIAL_PRIORITY")
    runs = await begin(engine, code, 2)
    for run in runs:
        await engine.claim(run, "a")
    runs += await begin(engine, code, 1)
    await become(engine, runs, "READY_STOP", "runs", "waits")
    runs += await begin(engine, code, 1)
    await become(engine, runs, "READY_STOP", "READY_STOP", "waits", "waits")
    runs += await begin(engine, code, 1)
    await become(engine, runs, "READY_STOP", "READY_STOP", "STOP", "waits", "waits")
    assert engine.reason(runs[2]) == "a newer run of this workflow has priority"
    for run in runs[:2]:
        engine.report(run, "a", "KILL")
    await become(engine, runs, "STOP", "STOP", "STOP", "runs", "runs")
    for run in runs[3:]:
        await end(engine, run)
    assert most_at_once(engine, code) == 2


async def test_each_key_has_so_many_places(engine: Engine) -> None:
    code = engine.define(TASK, max_active=2, serial_key="${k}")
    runs = [await engine.begin(code, params={"k": key}) for key in "aabaab"]
    assert states(engine, runs) == ["runs", "runs", "runs", "waits", "waits", "runs"]
    for place in (0, 1):
        await end(engine, runs[place])
    await become(engine, runs, "SUCCESS", "SUCCESS", "runs", "runs", "runs", "runs")
    for run in runs[2:]:
        await end(engine, run)


async def test_the_children_of_one_task_wait_for_each_other(engine: Engine) -> None:
    below = engine.define({"name": "a", "params": {"sleep_s": 0.1}}, max_active=2)
    params = {"workflow": below, "lists": [{"name": "x", "value": "1,2,3,4,5"}], "parallelism": 5}
    above = engine.define({"name": "each", "type": "DYNAMIC", "params": params})
    assert await engine.end(await engine.begin(above)) == "SUCCESS"
    assert most_at_once(engine, below) == 2


async def test_the_dates_of_a_backfill_wait_for_each_other(engine: Engine) -> None:
    code = engine.define({"name": "a", "params": {"sleep_s": 0.1}}, max_active=2)
    dates = [f"2026-01-0{day}" for day in range(1, 7)]
    for date in dates:
        engine.ask("COMPLEMENT_DATA", code, params={"backfill": {"dates": [date]}})
    over = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %s AND state = 'SUCCESS'"
    await eventually(lambda: engine.cluster.one(over, code), until=len(dates), within_s=30)
    assert most_at_once(engine, code) == 2


async def test_a_larger_number_lets_more_of_the_waiting_go_on_at_once(engine: Engine, tmp_path: Path) -> None:
    """More than begin in one transaction; by a save, without waiting for the next look at all lines."""
    code = engine.define(TASK, max_active=1)
    count = TURNS_MAX + 20
    engine.cluster.start(code, count)
    live = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %s AND state = 'RUNNING_EXECUTION'"
    waiting = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %s AND state = 'SERIAL_WAIT'"
    await eventually(lambda: engine.cluster.one(waiting, code), until=count - 1, within_s=30)
    save(engine, code, count - 5, tmp_path)
    await eventually(lambda: engine.cluster.one(live, code), until=count - 5, within_s=20)
    assert engine.cluster.one(waiting, code) == 5
    save(engine, code, 1, tmp_path)
    runs = [run for (run,) in engine.cluster.rows("SELECT id FROM workflow_instance WHERE workflow_code = %s", code)]
    await engine.change("STOP", min(runs))
    await engine.end(min(runs))
    assert engine.cluster.one(waiting, code) == 5, "a smaller one stops nothing, and nothing begins beside too many"
    engine.cluster.rows(
        "INSERT INTO command (type, workflow_instance_id) SELECT 'STOP', id FROM workflow_instance "
        "WHERE workflow_code = %s AND ended_at IS NULL RETURNING id",
        code,
    )
    await eventually(lambda: engine.cluster.one(live, code) + engine.cluster.one(waiting, code), until=0, within_s=60)


def save(engine: Engine, code: int, max_active: int, folder: Path) -> None:
    """Save by the command line, as a person does."""
    name = engine.cluster.one("SELECT name FROM workflow_definition WHERE code = %s", code)
    file = folder / "flow.yaml"
    task = "{name: a, type: FAKE, worker_group: by-hand}"
    file.write_text(f"name: {name}\nmax_active: {max_active}\ntasks:\n  - {task}\n")
    engine.cluster.shoal("workflow", "apply", str(file))


@pytest.mark.parametrize("key", [None, "${k}"])
async def test_why_a_run_waits_says_how_many_go_on_at_once(engine: Engine, key: str | None) -> None:
    code = engine.define(TASK, max_active=2, **({"serial_key": key} if key else {}))
    runs = await begin(engine, code, 4, **({"params": {"k": "x"}} if key else {}))
    of_key = ' for the key "x"' if key else ""
    assert f"runs at most 2 at once{of_key}: run {runs[0]} is RUNNING_EXECUTION, and 2 more are before it" in (
        engine.cluster.shoal("why", str(runs[3]))
    )
    for run in runs:
        await end(engine, run)
