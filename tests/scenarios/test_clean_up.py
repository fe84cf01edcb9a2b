"""Tasks that clean up (`teardown`, `on_exit`) on real servers: after each end of a run, however it is disturbed."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, UNTIL_STOPPED, WITHIN_S, Engine
from tests.shoal.command_line import CommandLine

FAILS = {"params": {"fail": True}}
SKIPS = {"params": {"skip": True}}
BOUND = {"timeout": 10}


def teardown(name: str = "clean", *after: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "after": list(after), "teardown": True, **BOUND, **fields}


def on_exit(name: str = "report", *after: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "after": list(after), "on_exit": True, **BOUND, **fields}


def ending(engine: Engine, run: int) -> tuple[str | None, str | None]:
    query = "SELECT ending_as, ending_reason FROM workflow_instance WHERE id = %s"
    [row] = engine.cluster.rows(query, run)
    return tuple(row)  # type: ignore[return-value]


async def cleans_up(engine: Engine, run: int, state: str) -> None:
    """Wait until it does, and will end in that state."""
    await eventually(lambda: ending(engine, run)[0], until=state, within_s=WITHIN_S)
    assert engine.state(run) == "RUNNING_EXECUTION"


def order(engine: Engine, run: int) -> list[str]:
    """The tasks in the order in which they were queued."""
    query = "SELECT task_name FROM task_instance WHERE workflow_instance_id = %s ORDER BY id"
    return [name for (name,) in engine.cluster.rows(query, run)]


async def test_teardown_runs_after_a_success_and_then_the_run_is_one(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a"}, {"name": "b", "after": ["a"]}, teardown()))
    assert (engine.state(run), engine.reason(run)) == ("SUCCESS", None)
    assert order(engine, run) == ["a", "b", "clean"]
    assert engine.path(run) == ["RUNNING_EXECUTION", "SUCCESS"]
    assert ending(engine, run) == (None, None)


@pytest.mark.parametrize("strategy", ["CONTINUE", "END"])
async def test_teardown_runs_after_a_failure_and_does_not_hide_it(engine: Engine, strategy: str) -> None:
    tasks = ({"name": "a", **FAILS}, {"name": "b", "after": ["a"]}, {"name": "c", **UNTIL_STOPPED})
    code = engine.define(*tasks[: 3 if strategy == "END" else 2], teardown(), failure_strategy=strategy)
    run = await engine.run(code)
    assert engine.state(run) == "FAILURE"
    assert str(engine.reason(run)).startswith('task "a" failed')
    killed = {"c": "KILL"} if strategy == "END" else {}
    assert engine.tasks(run) == {"a": "FAILURE", "clean": "SUCCESS", **killed}


async def test_teardown_runs_after_a_stop_when_all_that_ran_is_over(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND}, {"name": "b", "after": ["a"]}, teardown())
    run = await engine.begin(code)
    await engine.claim(run, "a")
    await engine.change("STOP", run)
    await engine.becomes(run, "READY_STOP")
    assert "clean" not in engine.tasks(run)
    engine.report(run, "a", "KILL")
    assert await engine.end(run) == "STOP"
    assert engine.reason(run) == "it was stopped"
    assert engine.tasks(run) == {"a": "KILL", "clean": "SUCCESS"}
    assert engine.path(run) == ["RUNNING_EXECUTION", "READY_STOP", "RUNNING_EXECUTION", "STOP"]


async def test_teardown_runs_after_the_timeout_of_a_run_for_as_long_as_its_own_allows(engine: Engine) -> None:
    fields: dict[str, Any] = {"timeout_minutes": 1 / 60, "timeout_strategy": "FAILED"}
    slow = teardown(params={"sleep_s": 2.5})
    run = await engine.run(engine.define({"name": "a", **UNTIL_STOPPED}, slow, **fields))
    assert engine.tasks(run) == {"a": "KILL", "clean": "SUCCESS"}
    assert engine.state(run) == "FAILURE"
    assert "it took longer than its timeout" in str(engine.reason(run))


async def test_teardown_of_what_never_began_does_not_run(engine: Engine) -> None:
    code = engine.define(
        {"name": "check", **FAILS},
        {"name": "start_cluster", "after": ["check"]},
        teardown("stop_cluster", "start_cluster"),
        teardown("clean"),
    )
    run = await engine.run(code)
    assert engine.state(run) == "FAILURE"
    assert engine.tasks(run) == {"check": "FAILURE", "clean": "SUCCESS"}


async def test_without_anything_to_clean_up_a_run_ends_at_once(engine: Engine) -> None:
    code = engine.define({"name": "a", **FAILS}, {"name": "b", "after": ["a"]}, teardown("clean", "b"))
    run = await engine.run(code)
    assert (engine.state(run), engine.tasks(run)) == ("FAILURE", {"a": "FAILURE"})


async def test_a_failed_teardown_is_told_in_the_reason_and_changes_no_state(engine: Engine) -> None:
    once = teardown("again", params={"fail_attempts": 1}, retry_times=1)
    run = await engine.run(engine.define({"name": "a"}, once, teardown("clean", "again", **FAILS), on_exit()))
    assert (engine.state(run), engine.reason(run)) == ("SUCCESS", 'cleaning up failed: task "clean"')
    assert engine.attempts(run, "again") == [("FAILURE", "NO"), ("SUCCESS", "YES")]
    assert engine.tasks(run)["report"] == "SUCCESS"


async def test_what_skips_itself_while_it_cleans_up_is_over_and_has_not_failed(engine: Engine) -> None:
    code = engine.define(
        {"name": "a", **SKIPS},
        {"name": "b", **FAILS},
        teardown("first", "a", **SKIPS),
        teardown("second", "first"),
        on_exit("third", **SKIPS),
        on_exit("report", "third"),
    )
    run = await engine.run(code)
    assert (engine.state(run), engine.reason(run)) == ("FAILURE", 'task "b" failed')
    cleaned = {"first": "SKIPPED", "second": "SUCCESS", "third": "SKIPPED", "report": "SUCCESS"}
    assert engine.tasks(run) == {"a": "SKIPPED", "b": "FAILURE", **cleaned}
    assert json.loads(engine.values(run, "report")["system.workflow.failed_tasks"]) == ["b"]


async def test_on_exit_runs_when_all_teardown_is_over_and_sees_the_end(engine: Engine) -> None:
    code = engine.define(
        {"name": "a", **FAILS},
        {"name": "b", **FAILS},
        on_exit(),
        teardown("first", params={"sleep_s": 0.5}),
        teardown("second", "first", **FAILS),
    )
    run = await engine.run(code)
    assert order(engine, run)[2:] == ["first", "second", "report"]
    values = engine.values(run, "report")
    assert values["system.workflow.state"] == "FAILURE"
    assert sorted(json.loads(values["system.workflow.failed_tasks"])) == ["a", "b"]


async def test_a_script_that_cleans_up_has_the_end_of_its_run_as_data(engine: Engine) -> None:
    """As in docs/guides/workflows.md; the name of a task is not code."""
    odd = "it's $(echo odd)"
    script = """
        echo "#{setValue(state=${system.workflow.state})}"
        echo "#{setValue(failed=${system.workflow.failed_tasks})}"
        echo "#{setValue(variable=$SHOAL_PARAM_system_workflow_failed_tasks)}"
    """
    code = engine.define({"name": odd, **FAILS}, on_exit(type="SHELL", params={"script": script}))
    run = await engine.run(code)
    assert (engine.state(run), engine.why(run, "report")) == ("FAILURE", "")
    listed = json.dumps([odd])
    assert engine.printed(run, "report") == {"state": "FAILURE", "failed": listed, "variable": listed}


async def test_a_stop_while_it_cleans_up_ends_the_run_at_once(engine: Engine) -> None:
    run = await engine.begin(engine.define({"name": "a", **FAILS}, teardown(**UNTIL_STOPPED), on_exit()))
    await cleans_up(engine, run, "FAILURE")
    await engine.task_becomes(run, "clean", "RUNNING_EXECUTION")
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    assert engine.reason(run) == 'task "a" failed; it was stopped while it cleaned up'
    assert engine.tasks(run) == {"a": "FAILURE", "clean": "KILL"}
    assert ending(engine, run) == (None, None)


async def test_a_stop_that_was_asked_for_before_it_cleaned_up_does_not_stop_that(engine: Engine) -> None:
    """The cleanup may have to wait for a master. The newest command does not count once the run begins to clean up."""
    run = await engine.begin(engine.define({"name": "a", **FAILS}, teardown(**BY_HAND)))
    await cleans_up(engine, run, "FAILURE")
    await engine.claim(run, "clean")
    engine.cluster.rows(
        "UPDATE workflow_instance SET ending_after = ending_after + 100000 WHERE id = %s RETURNING id", run
    )
    await engine.change("STOP", run)
    assert engine.cluster.one("SELECT requested_state IS NULL FROM workflow_instance WHERE id = %s", run)
    engine.report(run, "clean", "SUCCESS")
    assert await engine.end(run) == "FAILURE"
    assert engine.reason(run) == 'task "a" failed'


async def test_people_are_told_what_cleans_up_and_what_waits_for_that(engine: Engine) -> None:
    fails = {"name": "a", **FAILS}
    run = await engine.begin(
        engine.define(fails, {"name": "b", "after": ["a"]}, teardown(**BY_HAND), teardown("undo", "b"), on_exit())
    )
    await cleans_up(engine, run, "FAILURE")
    shoal = CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])
    shown = (await shoal("show", str(run))).out
    assert "it cleans up, and will end as FAILURE" in shown
    assert f"Run {run} of" in (told := (await shoal("why", str(run))).out)
    assert "which cleans up and then ends as FAILURE, waits for clean." in told
    assert "report waits because clean is queued" in (await shoal("why", f"{run}/report")).out
    assert (
        "undo is skipped: it cleans up only if a task before it has begun." in (await shoal("why", f"{run}/undo")).out
    )
    read = (await shoal("show", str(run), "--json")).json
    assert read["ending_as"] == "FAILURE"
    assert {each["name"]: each["closes"] for each in read["not_begun"]} == {"b": False, "undo": True, "report": True}
    await engine.claim(run, "clean")
    engine.report(run, "clean", "FAILURE")
    assert await engine.end(run) == "FAILURE"
    assert 'task "a" failed; cleaning up failed: task "clean"' in (await shoal("why", str(run))).out


async def test_a_pause_while_it_cleans_up_holds_it_until_it_is_resumed(engine: Engine) -> None:
    run = await engine.begin(engine.define({"name": "a", **BY_HAND}, teardown(**BY_HAND), on_exit(**BY_HAND)))
    await engine.claim(run, "a")
    await engine.change("STOP", run)
    await engine.becomes(run, "READY_STOP")
    engine.report(run, "a", "KILL")
    await cleans_up(engine, run, "STOP")
    await engine.claim(run, "clean")
    await engine.change("PAUSE", run)
    await engine.becomes(run, "READY_PAUSE")
    engine.report(run, "clean", "SUCCESS")
    assert await engine.end(run) == "PAUSE"
    assert ending(engine, run) == ("STOP", "it was stopped")
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.claim(run, "report")
    engine.report(run, "report", "SUCCESS")
    assert await engine.end(run) == "STOP"
    assert engine.reason(run) == "it was stopped"
    assert engine.attempts(run, "a") == [("KILL", "YES")]
    assert engine.attempts(run, "clean") == [("SUCCESS", "YES")]


async def test_a_run_that_is_only_paused_does_not_clean_up(engine: Engine) -> None:
    run = await engine.begin(engine.define({"name": "a", **BY_HAND}, {"name": "b", "after": ["a"]}, teardown()))
    await engine.claim(run, "a")
    await engine.change("PAUSE", run)
    await engine.becomes(run, "READY_PAUSE")
    engine.report(run, "a", "SUCCESS")
    assert await engine.end(run) == "PAUSE"
    assert engine.tasks(run) == {"a": "SUCCESS"}
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert order(engine, run) == ["a", "b", "clean"]


async def test_a_paused_run_cleans_up_without_going_on_when_a_person_names_that_task(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND}, {"name": "b", "after": ["a"]}, teardown("clean", "a"), on_exit())
    run = await engine.begin(code)
    await engine.claim(run, "a")
    await engine.change("PAUSE", run)
    await engine.becomes(run, "READY_PAUSE")
    engine.report(run, "a", "SUCCESS")
    assert await engine.end(run) == "PAUSE"
    await engine.change("EXECUTE_TASK", run, start_tasks="clean", task_depend_type="TASK_ONLY")
    await engine.end(run)
    assert engine.tasks(run) == {"a": "SUCCESS", "clean": "SUCCESS"}


@pytest.mark.parametrize("type_", ["START_FAILURE_TASK_PROCESS", "REPEAT_RUNNING"])
async def test_a_run_that_runs_again_cleans_up_again(engine: Engine, type_: str) -> None:
    code = engine.define({"name": "a"}, {"name": "b", "params": {"fail_attempts": 1}}, teardown("clean", "a"))
    run = await engine.run(code)
    assert (engine.state(run), engine.tasks(run)["clean"]) == ("FAILURE", "SUCCESS")
    await engine.change(type_, run)
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(run, "clean") == [("SUCCESS", "NO"), ("SUCCESS", "YES")]
    assert order(engine, run)[-1] == "clean"


async def test_a_stopped_run_that_is_resumed_cleans_up_again(engine: Engine) -> None:
    run = await engine.begin(engine.define({"name": "a", **BY_HAND}, teardown("clean", "a")))
    await engine.claim(run, "a")
    await engine.change("STOP", run)
    engine.report(run, "a", "KILL")
    assert await engine.end(run) == "STOP"
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.claim(run, "a")
    engine.report(run, "a", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(run, "clean") == [("SUCCESS", "NO"), ("SUCCESS", "YES")]


async def test_a_run_of_named_tasks_cleans_up_only_with_those_among_them(engine: Engine) -> None:
    code = engine.define({"name": "a"}, {"name": "b", "after": ["a"]}, teardown("clean", "a"), on_exit())
    alone = {"start_tasks": "a", "task_depend_type": "TASK_ONLY"}
    run = await engine.run(code, "START_CURRENT_TASK_PROCESS", **alone)
    assert (engine.state(run), engine.tasks(run)) == ("SUCCESS", {"a": "SUCCESS"})
    await engine.change("EXECUTE_TASK", run, start_tasks="clean", task_depend_type="TASK_ONLY")
    assert await engine.end(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "SUCCESS", "clean": "SUCCESS"}
    assert engine.attempts(run, "a") == [("SUCCESS", "YES")]


async def test_children_that_are_stopped_from_above_clean_up_for_themselves(engine: Engine) -> None:
    below = engine.define({"name": "a", **UNTIL_STOPPED}, teardown(**BY_HAND))
    above = engine.define({"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": below}}, teardown("last"))
    run = await engine.begin(above)
    [child] = await eventually(lambda: engine.children(run), within_s=WITHIN_S)
    await engine.task_becomes(child, "a", "RUNNING_EXECUTION")
    await engine.change("STOP", run)
    await cleans_up(engine, child, "STOP")
    await engine.claim(child, "clean")
    assert engine.state(run) == "READY_STOP"
    assert "last" not in engine.tasks(run)
    engine.report(child, "clean", "SUCCESS")
    assert await engine.end(run) == "STOP"
    assert engine.state(child) == "STOP"
    assert engine.tasks(run) == {"sub": "KILL", "last": "SUCCESS"}


async def test_another_master_goes_on_with_cleaning_up_and_repeats_nothing(fresh: Engine) -> None:
    master = await fresh.cluster.master()
    await fresh.cluster.worker()
    code = fresh.define(
        {"name": "a", "params": {"fail": True}},
        {"name": "b", "after": ["a"]},
        teardown("first"),
        teardown("second", "first", **BY_HAND),
        teardown("third", "second"),
        on_exit(),
        failure_strategy="END",
    )
    run = await fresh.begin(code)
    await fresh.claim(run, "second")
    master.signal(signal.SIGKILL)
    fresh.report(run, "second", "SUCCESS")
    await fresh.cluster.master()
    assert await fresh.end(run) == "FAILURE"
    assert fresh.reason(run) == 'task "a" failed'
    assert order(fresh, run) == ["a", "first", "second", "third", "report"]
    assert json.loads(fresh.values(run, "report")["system.workflow.failed_tasks"]) == ["a"]
    assert "FAILOVER" in fresh.path(run)


async def test_another_master_ends_a_stopped_run_as_one_after_cleaning_up(fresh: Engine) -> None:
    master = await fresh.cluster.master()
    await fresh.cluster.worker()
    run = await fresh.begin(fresh.define({"name": "a", **UNTIL_STOPPED}, teardown(**BY_HAND), on_exit()))
    await fresh.task_becomes(run, "a", "RUNNING_EXECUTION")
    await fresh.change("STOP", run)
    await fresh.claim(run, "clean")
    master.signal(signal.SIGKILL)
    fresh.report(run, "clean", "SUCCESS")
    await fresh.cluster.master()
    assert await fresh.end(run) == "STOP"
    assert order(fresh, run) == ["a", "clean", "report"]
