"""Tasks that begin and skip themselves: by an exit code, or by a line that they print."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.cluster.test_pools import make_pool
from tests.scenarios.engine import BY_HAND, Engine
from tests.scenarios.test_dependent import AT, on, waits
from tests.shoal.command_line import CommandLine

NOTHING_TO_DO = {"type": "SHELL", "params": {"script": "echo no orders today; exit 99"}, "skip_exit_codes": [99]}
SKIPS = {"params": {"skip": True}}


def printing(line: str, exit_code: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": "SHELL", "params": {"script": f"echo '{line}'; exit {exit_code}"}, **fields}


async def shoal(engine: Engine, *words: str) -> str:
    return (await CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])(*words)).out


async def test_a_process_skips_its_task_by_an_exit_code(engine: Engine) -> None:
    load = {"name": "load", **NOTHING_TO_DO, "retry_times": 3}
    run = await engine.run(engine.define(load, {"name": "report", "after": ["load"]}))
    assert (engine.state(run), engine.tasks(run)) == ("SUCCESS", {"load": "SKIPPED"})
    assert engine.path(run, "load") == ["QUEUED", "RUNNING_EXECUTION", "SKIPPED"]
    code = "SELECT exit_code FROM task_instance WHERE workflow_instance_id = %s"
    assert (engine.why(run, "load"), engine.cluster.one(code, run)) == ("exit code 99: no orders today", 99)
    assert "load has ended as SKIPPED: exit code 99: no orders today" in await shoal(engine, "why", f"{run}/load")
    assert "report is skipped: load skipped itself." in await shoal(engine, "why", f"{run}/report")
    shown = await shoal(engine, "show", str(run))
    assert "↷ SKIPPED" in shown
    assert "exit code 99: no orders today" in shown
    assert "load skipped itself" in shown


async def test_another_exit_code_is_a_failure(engine: Engine) -> None:
    load = {**NOTHING_TO_DO, "name": "load", "skip_exit_codes": [1, 98], "retry_times": 1}
    run = await engine.run(engine.define(load))
    assert engine.attempts(run, "load") == [("FAILURE", "NO"), ("FAILURE", "YES")]


@pytest.mark.parametrize("sign", "#$")
async def test_a_process_skips_its_task_by_a_line_and_its_outputs_do_not_count(engine: Engine, sign: str) -> None:
    line = "#{setValue(rows=5)}\n" + sign + "{setSkipped(no orders for today)}"
    after = {"name": "report", "after": ["load"], "start_when": "none_failed"}
    code = engine.define({"name": "load", **printing(line)}, after, params={"rows": "0"})
    run = await engine.run(code)
    assert (engine.state(run), engine.tasks(run)) == ("SUCCESS", {"load": "SKIPPED", "report": "SUCCESS"})
    assert (engine.why(run, "load"), engine.printed(run, "load")) == ("no orders for today", {})
    assert engine.values(run, "report")["rows"] == "0"


async def test_a_line_does_not_skip_a_process_that_fails(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "load", **printing("#{setSkipped(no orders)}", exit_code=1)}))
    assert (engine.state(run), engine.tasks(run)) == ("FAILURE", {"load": "FAILURE"})


async def test_conditions_count_what_skipped_itself_as_a_failure(engine: Engine) -> None:
    params = {"when": {"load": "SUCCESS", "other": "SUCCESS"}, "on_success": "yes", "on_failure": "no"}
    run = await engine.run(
        engine.define(
            {"name": "load", **SKIPS},
            {"name": "other"},
            {"name": "which", "type": "CONDITIONS", "after": ["load", "other"], "params": params},
            {"name": "yes", "after": ["which"]},
            {"name": "no", "after": ["which"]},
        )
    )
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == {"load": "SKIPPED", "other": "SUCCESS", "which": "SUCCESS", "no": "SUCCESS"}


async def test_conditions_after_nothing_but_skipped_tasks_are_skipped(engine: Engine) -> None:
    params = {"when": {"load": "SUCCESS"}, "on_failure": "no"}
    which = {"name": "which", "type": "CONDITIONS", "after": ["load"], "params": params}
    run = await engine.run(engine.define({"name": "load", **SKIPS}, which, {"name": "no", "after": ["which"]}))
    assert (engine.state(run), engine.tasks(run)) == ("SUCCESS", {"load": "SKIPPED"})


async def test_a_rerun_of_what_failed_leaves_a_skipped_task_and_what_depends_on_it(engine: Engine) -> None:
    code = engine.define(
        {"name": "load", **SKIPS},
        {"name": "report", "after": ["load"]},
        {"name": "other", "params": {"fail_attempts": 1}},
        {"name": "last", "after": ["load", "other"]},
    )
    run = await engine.run(code)
    assert (engine.state(run), engine.tasks(run)) == ("FAILURE", {"load": "SKIPPED", "other": "FAILURE"})
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert engine.tasks(run) == {"load": "SKIPPED", "other": "SUCCESS", "last": "SUCCESS"}
    assert engine.attempts(run, "load") == [("SKIPPED", "YES")]


async def test_a_skipped_task_runs_again_when_it_is_named(engine: Engine) -> None:
    script = "[ $SHOAL_ATTEMPT -gt 1 ] || echo '#{setSkipped()}'"
    load = {"name": "load", "type": "SHELL", "params": {"script": script}}
    run = await engine.run(engine.define(load, {"name": "report", "after": ["load"]}))
    assert (engine.tasks(run), engine.why(run, "load")) == ({"load": "SKIPPED"}, "")
    await engine.change("EXECUTE_TASK", run, start_tasks="load", task_depend_type="TASK_POST")
    assert await engine.end(run) == "SUCCESS"
    assert engine.tasks(run) == {"load": "SUCCESS", "report": "SUCCESS"}


@pytest.mark.parametrize("command", ["PAUSE", "STOP"])
async def test_what_skips_itself_while_its_run_is_halted_stays_skipped(engine: Engine, command: str) -> None:
    code = engine.define({"name": "load", **BY_HAND}, {"name": "last", "after": ["load"], "start_when": "all_done"})
    run = await engine.begin(code)
    await engine.claim(run, "load")
    await engine.change(command, run)
    engine.report(run, "load", "SKIPPED")
    assert await engine.end(run) == command
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert (engine.attempts(run, "load"), engine.tasks(run)["last"]) == ([("SKIPPED", "YES")], "SUCCESS")


async def test_a_new_owner_knows_what_skipped_itself(fresh: Engine) -> None:
    master = await fresh.cluster.master()
    await fresh.cluster.worker()
    code = fresh.define(
        {"name": "load", **SKIPS},
        {"name": "report", "after": ["load"]},
        {"name": "other", **BY_HAND},
        {"name": "last", "after": ["report", "other"]},
    )
    run = await fresh.begin(code)
    await fresh.claim(run, "other")
    await fresh.task_becomes(run, "load", "SKIPPED")
    master.signal(signal.SIGKILL)
    await fresh.cluster.master()
    fresh.report(run, "other", "SUCCESS")
    assert await fresh.end(run) == "SUCCESS"
    assert fresh.tasks(run) == {"load": "SKIPPED", "other": "SUCCESS", "last": "SUCCESS"}
    assert fresh.attempts(run, "load") == [("SKIPPED", "YES")]


async def test_a_dependent_takes_a_task_that_skipped_itself_for_a_failure(engine: Engine) -> None:
    code = engine.define({"name": "load", **SKIPS}, {"name": "other"})
    await engine.run(code, schedule_time=AT)
    for task, becomes in (("load", "FAILURE"), ("other", "SUCCESS"), ("*", "SUCCESS"), (None, "SUCCESS")):
        item = on(code, task=task) if task else on(code)
        run = await engine.run(engine.define(waits(item)), schedule_time=AT)
        assert (task, engine.state(run)) == (task, becomes)


async def test_what_it_held_of_a_pool_is_free_again(engine: Engine) -> None:
    make_pool(engine.cluster, "gate", 1)
    tasks = [{"name": name, **SKIPS, "resources": {"gate": 1}} for name in ("a", "b")]
    run = await engine.run(engine.define(*tasks))
    assert engine.tasks(run) == {"a": "SKIPPED", "b": "SKIPPED"}
