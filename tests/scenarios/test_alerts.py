"""The ends of runs that are reported: one scenario for each warning type, as DolphinScheduler does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.eventually import eventually
from tests.scenarios.engine import UNTIL_STOPPED, WITHIN_S, Engine

FAILS = {"name": "a", "params": {"fail": True}}
SUCCEEDS = {"name": "a"}


def _ends(engine: Engine, run: int) -> list[Any]:
    """State, severity and group of each end of a run that was reported, in order."""
    return engine.cluster.rows(
        "SELECT facts ->> 'state', severity, alert_group FROM alert "
        "WHERE kind = 'RUN_ENDED' AND workflow_instance_id = %s ORDER BY id",
        run,
    )


@pytest.mark.parametrize(
    ("warning_type", "success", "failure"),
    [
        ("NONE", [], []),
        ("SUCCESS", [("SUCCESS", "INFO", "data")], []),
        ("FAILURE", [], [("FAILURE", "CRITICAL", "data")]),
        ("ALL", [("SUCCESS", "INFO", "data")], [("FAILURE", "CRITICAL", "data")]),
    ],
)
async def test_the_warning_type_of_a_run_says_which_ends_are_reported(
    engine: Engine, warning_type: str, success: list[Any], failure: list[Any]
) -> None:
    wanted = {"warning_type": warning_type, "alert_group": "data"}
    assert _ends(engine, await engine.run(engine.define(SUCCEEDS), **wanted)) == success
    assert _ends(engine, await engine.run(engine.define(FAILS), **wanted)) == failure


async def test_an_end_without_a_warning_type_is_reported_to_nobody(engine: Engine) -> None:
    assert _ends(engine, await engine.run(engine.define(FAILS), alert_group="data")) == []


async def test_a_report_without_a_group_goes_to_the_default_one(engine: Engine) -> None:
    run = await engine.run(engine.define(FAILS), warning_type="FAILURE")
    assert _ends(engine, run) == [("FAILURE", "CRITICAL", "default")]


@pytest.mark.parametrize(("command", "state"), [("STOP", "STOP"), ("PAUSE", "PAUSE")])
async def test_a_stopped_or_paused_run_is_neither_a_success_nor_a_failure(
    engine: Engine, command: str, state: str
) -> None:
    runs = {}
    for wanted in ("SUCCESS", "FAILURE", "ALL"):
        code = engine.define({"name": "a", **UNTIL_STOPPED, "params": {"sleep_s": 1}}, {"name": "b", "after": ["a"]})
        runs[wanted] = await engine.begin(code, warning_type=wanted)
        await engine.task_becomes(runs[wanted], "a", "RUNNING_EXECUTION")
        await engine.change(command, runs[wanted])
    for run in runs.values():
        assert await engine.end(run) == state
    assert {wanted: _ends(engine, run) for wanted, run in runs.items()} == {
        "SUCCESS": [],
        "FAILURE": [],
        "ALL": [(state, "WARNING", "default")],
    }


async def test_each_end_of_a_run_that_is_run_again_is_reported_once(engine: Engine) -> None:
    run = await engine.run(engine.define(FAILS), warning_type="ALL")
    for number, command in enumerate(("START_FAILURE_TASK_PROCESS", "REPEAT_RUNNING"), 2):
        await engine.change(command, run)
        await eventually(lambda: _ends(engine, run), until=[("FAILURE", "CRITICAL", "default")] * number)
        assert await engine.end(run) == "FAILURE"


async def test_a_run_below_another_is_reported_by_that_one(engine: Engine) -> None:
    engine.define(FAILS, name="alerts: child")
    parent = engine.define({"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": "alerts: child"}})
    run = await engine.run(parent, warning_type="ALL")
    (child,) = engine.children(run)
    assert engine.state(child) == "FAILURE"
    assert (_ends(engine, run), _ends(engine, child)) == ([("FAILURE", "CRITICAL", "default")], [])


async def test_a_run_that_ends_before_it_starts_is_reported(engine: Engine) -> None:
    code = engine.define({"name": "a", **UNTIL_STOPPED}, execution_type="SERIAL_DISCARD")
    first = await engine.begin(code)
    await engine.becomes(first, "RUNNING_EXECUTION")
    second = await engine.run(code, warning_type="ALL")
    assert _ends(engine, second) == [("STOP", "WARNING", "default")]
    await engine.change("STOP", first)
    await engine.end(first)


async def test_what_waits_in_line_and_is_stopped_is_reported(engine: Engine) -> None:
    code = engine.define({"name": "a", **UNTIL_STOPPED}, execution_type="SERIAL_WAIT")
    first = await engine.begin(code)
    await engine.becomes(first, "RUNNING_EXECUTION")
    second = await engine.begin(code, warning_type="ALL")
    await engine.becomes(second, "SERIAL_WAIT")
    await engine.change("STOP", second)
    assert await engine.end(second) == "STOP"
    assert _ends(engine, second) == [("STOP", "WARNING", "default")]
    await engine.change("STOP", first)
    await engine.end(first)


async def test_an_alert_says_of_which_run_and_why(engine: Engine) -> None:
    code = engine.define(FAILS, name="alerts: said")
    run = await engine.run(code, warning_type="FAILURE")
    ((subject, project, workflow, reason),) = engine.cluster.rows(
        "SELECT subject, project, workflow, facts ->> 'reason' FROM alert WHERE workflow_instance_id = %s", run
    )
    assert subject == f'run {run} of workflow "alerts: said" ended as FAILURE'
    assert (project, workflow, reason) == ("default", "alerts: said", 'task "a" failed')


async def test_runs_whose_master_is_killed_are_each_reported_once(fresh: Engine) -> None:
    """The master dies while it ends them; who comes after it ends the rest, and no end is reported twice."""
    code = fresh.define(SUCCEEDS, {"name": "b", "params": {"sleep_s": 0.2}, "after": ["a"]})
    masters = [await fresh.cluster.master() for _ in range(2)]
    await fresh.cluster.worker()
    await fresh.cluster.slots_become(2)
    commands = [fresh.ask("START_PROCESS", code, warning_type="ALL") for _ in range(200)]
    count = "SELECT count(*) FROM alert WHERE kind = 'RUN_ENDED'"
    await eventually(lambda: fresh.cluster.one(count) > 20, within_s=WITHIN_S)
    masters[0].kill()
    ended = "SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'"
    await eventually(lambda: fresh.cluster.one(ended), until=len(commands), within_s=WITHIN_S)
    assert fresh.cluster.one(count) == len(commands)
    assert fresh.cluster.one("SELECT count(DISTINCT workflow_instance_id) FROM alert") == len(commands)
    lost = await eventually(
        lambda: fresh.cluster.rows("SELECT severity, alert_group FROM alert WHERE kind = 'FAILOVER'"), within_s=WITHIN_S
    )
    assert lost == [("WARNING", "default")]


# ---------------------------------------------------------------------------------------------- timeouts

WARNED = "SELECT subject, facts ->> 'strategy' FROM alert WHERE kind = 'TASK_TIMEOUT' AND workflow_instance_id = %s"


@pytest.mark.parametrize(
    ("strategy", "state", "warned"), [("FAILED", "FAILURE", []), ("WARNFAILED", "FAILURE", ["WARNFAILED"])]
)
async def test_a_task_that_its_timeout_ends_is_warned_of_if_its_strategy_says_so(
    engine: Engine, strategy: str, state: str, warned: list[str]
) -> None:
    task = {"name": "a", **UNTIL_STOPPED, "timeout": 0.01, "timeout_strategy": strategy}
    run = await engine.run(engine.define(task), alert_group="ops")
    assert engine.state(run) == state
    assert [strategy for _, strategy in engine.cluster.rows(WARNED, run)] == warned


async def test_a_task_that_takes_too_long_and_succeeds_is_warned_of_once(engine: Engine) -> None:
    task = {"name": "a", "params": {"sleep_s": 1}, "timeout": 0.01, "timeout_strategy": "WARN"}
    run = await engine.run(engine.define(task, name="alerts: slow"), alert_group="ops")
    assert engine.state(run) == "SUCCESS"
    said = f'task "a" of run {run} of workflow "alerts: slow" takes longer than its timeout'
    assert engine.cluster.rows(WARNED, run) == [(said, "WARN")]
    assert engine.cluster.one("SELECT alert_group FROM alert WHERE workflow_instance_id = %s", run) == "ops"


async def test_a_task_that_ends_in_time_is_not_warned_of(engine: Engine) -> None:
    task = {"name": "a", "timeout": 10, "timeout_strategy": "WARN"}
    run = await engine.run(engine.define(task))
    assert engine.cluster.rows(WARNED, run) == []
