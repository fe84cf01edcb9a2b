"""Start rules on real servers: one scenario for each rule, and one for each way in which a run is disturbed."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from model.choices import StartWhen
from tests.eventually import eventually
from tests.model.test_start_rules import TABLE
from tests.scenarios.engine import BY_HAND, UNTIL_STOPPED, WITHIN_S, Engine
from tests.shoal.command_line import CommandLine

FAILS = {"params": {"fail": True}}
NOT_CHOSEN = {"type": "SWITCH", "params": {"cases": [{"when": "1 == 2", "then": ["skipped"]}]}}


def ruled(rule: str, *after: str, name: str = "last", **fields: Any) -> dict[str, Any]:
    return {"name": name, "after": list(after), "start_when": rule, **fields}


def shoal(engine: Engine) -> CommandLine:
    return CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])


async def why(engine: Engine, run: int, task: str) -> str:
    return (await shoal(engine)("why", f"{run}/{task}")).out


@pytest.mark.parametrize("by_itself", [False, True], ids=["not-chosen", "by-itself"])
@pytest.mark.parametrize("rule", StartWhen)
async def test_each_rule_starts_what_the_guide_says_after_all_have_ended(
    engine: Engine, rule: StartWhen, by_itself: bool
) -> None:
    """One task for each row of the table in docs/guides/workflows.md."""
    rows = [ends for ends, of_rule in TABLE if of_rule == rule]
    last = {" and ".join(sorted(ends)): ends for ends in rows}
    code = engine.define(
        {"name": "which", **({} if by_itself else NOT_CHOSEN)},
        {"name": "succeeded"},
        {"name": "skipped", **({"params": {"skip": True}} if by_itself else {"after": ["which"]})},
        {"name": "failed", **FAILS},
        *(ruled(rule, *sorted(ends), name=f"after {name}") for name, ends in last.items()),
    )
    run = await engine.run(code)
    tasks = engine.tasks(run)
    starts = {f"after {name}" for name, ends in last.items() if TABLE[ends, rule].strip("*") == "✓"}
    assert {name for name in tasks if name.startswith("after ")} == starts
    skipped = {"skipped": "SKIPPED"} if by_itself else {}
    others = {"which": "SUCCESS", "succeeded": "SUCCESS", "failed": "FAILURE"} | skipped
    assert tasks == others | dict.fromkeys(starts, "SUCCESS")
    assert (engine.state(run), engine.reason(run)) == ("FAILURE", 'task "failed" failed')


@pytest.mark.parametrize(
    ("rule", "first", "then"), [("one_success", "SUCCESS", "FAILURE"), ("one_failed", "FAILURE", "SUCCESS")]
)
async def test_what_wants_one_starts_while_the_others_run_and_stays_whatever_they_come_to(
    engine: Engine, rule: str, first: str, then: str
) -> None:
    code = engine.define({"name": "a", **BY_HAND}, {"name": "b", **BY_HAND}, ruled(rule, "a", "b"))
    run = await engine.begin(code)
    await engine.claim(run, "a")
    await engine.claim(run, "b")
    assert f"(start_when: {rule})" in await why(engine, run, "last")
    engine.report(run, "a", first)
    await engine.task_becomes(run, "last", "SUCCESS")
    assert engine.tasks(run)["b"] == "RUNNING_EXECUTION"
    engine.report(run, "b", then)
    assert await engine.end(run) == "FAILURE"
    assert engine.attempts(run, "last") == [("SUCCESS", "YES")]


async def test_what_wants_all_waits_for_the_last_and_for_its_last_retry(engine: Engine) -> None:
    code = engine.define(
        {"name": "a", **FAILS, "retry_times": 1},
        {"name": "b", **BY_HAND},
        *(ruled(rule, "a", "b", name=rule) for rule in ("all_done", "all_failed", "none_failed")),
    )
    run = await engine.begin(code)
    await engine.claim(run, "b")
    await eventually(
        lambda: engine.attempts(run, "a"), until=[("FAILURE", "NO"), ("FAILURE", "YES")], within_s=WITHIN_S
    )
    assert "all_done waits because b is still running; it starts when all tasks before it have ended" in await why(
        engine, run, "all_done"
    )
    assert "none_failed will not begin, because a failed" in await why(engine, run, "none_failed")
    assert engine.tasks(run).keys() == {"a", "b"}
    engine.report(run, "b", "FAILURE")
    assert await engine.end(run) == "FAILURE"
    assert engine.tasks(run) == {"a": "FAILURE", "b": "FAILURE", "all_done": "SUCCESS", "all_failed": "SUCCESS"}


async def test_always_starts_with_its_run(engine: Engine) -> None:
    run = await engine.begin(engine.define({"name": "a", **BY_HAND}, ruled("always", "a")))
    await engine.task_becomes(run, "last", "SUCCESS")
    await engine.claim(run, "a")
    engine.report(run, "a", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"


async def test_a_task_that_was_not_needed_is_skipped_and_the_run_succeeds(engine: Engine) -> None:
    undo = ruled("one_failed", "a", name="undo")
    run = await engine.run(engine.define({"name": "a"}, undo, {"name": "told", "after": ["undo"]}))
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "SUCCESS"}
    wanted = "starts only if a task before it fails (start_when: one_failed)"
    assert f"undo is skipped: it {wanted}." in await why(engine, run, "undo")
    assert f"told is skipped: undo {wanted}." in await why(engine, run, "told")
    shown = await shoal(engine)("show", str(run), "--json")
    assert {each["name"]: (each["state"], each["unmet"]) for each in shown.json["not_begun"]} == {
        "undo": ("SKIPPED", f"it {wanted}"),
        "told": ("SKIPPED", f"undo {wanted}"),
    }


@pytest.mark.parametrize("rule", ["all_done", "one_failed", "always"])
async def test_a_failure_that_conditions_take_up_starts_what_wants_one_too(engine: Engine, rule: str) -> None:
    conditions = {"name": "which", "type": "CONDITIONS", "after": ["a"], "params": {"when": {"a": "SUCCESS"}}}
    run = await engine.run(engine.define({"name": "a", **FAILS}, conditions, ruled(rule, "a"), failure_strategy="END"))
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "FAILURE", "which": "SUCCESS", "last": "SUCCESS"}


@pytest.mark.parametrize("rule", ["all_done", "one_failed", "all_failed"])
async def test_after_a_failure_that_ends_the_run_nothing_starts_whatever_its_rule(engine: Engine, rule: str) -> None:
    run = await engine.run(engine.define({"name": "a", **FAILS}, ruled(rule, "a"), failure_strategy="END"))
    assert (engine.state(run), engine.tasks(run)) == ("FAILURE", {"a": "FAILURE"})


async def test_a_pause_holds_back_what_a_rule_would_start_until_the_run_is_resumed(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND}, {"name": "b", **BY_HAND}, ruled("one_success", "a", "b"))
    run = await engine.begin(code)
    await engine.claim(run, "a")
    await engine.task_becomes(run, "b", "QUEUED")
    await engine.change("PAUSE", run)
    engine.report(run, "a", "SUCCESS")
    assert await engine.end(run) == "PAUSE"
    assert engine.tasks(run) == {"a": "SUCCESS", "b": "PAUSE"}
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.task_becomes(run, "last", "SUCCESS")
    await engine.claim(run, "b")
    engine.report(run, "b", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(run, "last") == [("SUCCESS", "YES")]


async def test_a_stop_starts_nothing_and_what_goes_on_decides_anew(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND}, ruled("all_done", "a"), ruled("one_failed", "a", name="undo"))
    run = await engine.begin(code)
    await engine.claim(run, "a")
    await engine.change("STOP", run)
    engine.report(run, "a", "KILL")
    assert await engine.end(run) == "STOP"
    assert engine.tasks(run) == {"a": "KILL"}
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.claim(run, "a")
    engine.report(run, "a", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "SUCCESS", "last": "SUCCESS"}


async def test_a_timeout_of_the_run_starts_nothing(engine: Engine) -> None:
    fields: dict[str, Any] = {"timeout_minutes": 1 / 60, "timeout_strategy": "FAILED"}
    run = await engine.run(engine.define({"name": "a", **UNTIL_STOPPED}, ruled("all_done", "a"), **fields))
    assert (engine.state(run), engine.tasks(run)) == ("FAILURE", {"a": "KILL"})


async def test_a_rerun_of_what_failed_forgets_what_the_failure_started(engine: Engine) -> None:
    code = engine.define(
        {"name": "a", "params": {"fail_attempts": 1}},
        ruled("one_failed", "a", name="undo"),
        ruled("all_done", "a", "undo", name="clean"),
    )
    run = await engine.run(code)
    assert engine.state(run) == "FAILURE"
    assert engine.tasks(run) == {"a": "FAILURE", "undo": "SUCCESS", "clean": "SUCCESS"}
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(run, "a") == [("FAILURE", "NO"), ("SUCCESS", "YES")]
    assert engine.attempts(run, "undo") == [("SUCCESS", "NO")]
    assert engine.attempts(run, "clean") == [("SUCCESS", "NO"), ("SUCCESS", "YES")]


@pytest.mark.parametrize("rule", StartWhen)
async def test_a_task_that_a_person_names_starts_though_those_before_it_are_left_out(
    engine: Engine, rule: StartWhen
) -> None:
    code = engine.define({"name": "a", **FAILS}, ruled(rule, "a"))
    alone = {"start_tasks": "last", "task_depend_type": "TASK_ONLY"}
    run = await engine.run(code, "START_CURRENT_TASK_PROCESS", **alone)
    assert (engine.state(run), engine.tasks(run)) == ("SUCCESS", {"last": "SUCCESS"})


async def test_another_master_neither_repeats_nor_forgets_what_rules_start(fresh: Engine) -> None:
    """The first owner dies when one task began early and others still wait for theirs."""
    master = await fresh.cluster.master()
    await fresh.cluster.worker()
    code = fresh.define(
        {"name": "a", **FAILS},
        {"name": "b", **BY_HAND},
        ruled("one_failed", "a", "b", name="undo"),
        ruled("one_success", "a", "b", name="early"),
        ruled("all_done", "a", "b", name="clean"),
        ruled("none_failed", "a", "b", name="report"),
        {"name": "told", "after": ["undo"]},
    )
    run = await fresh.begin(code)
    await fresh.claim(run, "b")
    await fresh.task_becomes(run, "told", "SUCCESS")
    master.signal(signal.SIGKILL)
    fresh.report(run, "b", "SUCCESS")
    await fresh.cluster.master()
    assert await fresh.end(run) == "FAILURE"
    done = ("b", "undo", "early", "clean", "told")
    assert fresh.tasks(run) == {"a": "FAILURE"} | dict.fromkeys(done, "SUCCESS")
    assert fresh.cluster.one("SELECT max(attempt) FROM task_instance WHERE workflow_instance_id = %s", run) == 1
