"""The ends of runs that are reported: one scenario for each warning type, as DolphinScheduler does."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.eventually import eventually
from tests.scenarios.engine import UNTIL_STOPPED, WITHIN_S, Engine

FAILS = {"name": "a", "params": {"fail": True}}
SUCCEEDS = {"name": "a"}

SLOW_COMMITS = """
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER history_waits AFTER INSERT ON command_history DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait();
"""
"""A transaction that handles a command takes a while to commit, as on a busy server."""


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


async def test_a_definition_says_which_ends_are_reported_unless_its_start_does(engine: Engine) -> None:
    code = engine.define(FAILS, warning_type="FAILURE", alert_group="data")
    assert _ends(engine, await engine.run(code)) == [("FAILURE", "CRITICAL", "data")]
    assert _ends(engine, await engine.run(code, alert_group="ops")) == [("FAILURE", "CRITICAL", "ops")]
    assert _ends(engine, await engine.run(code, warning_type="NONE")) == []


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


async def test_a_task_that_still_runs_is_warned_of_before_it_ends(engine: Engine) -> None:
    task = {"name": "a", **UNTIL_STOPPED, "timeout": 0.01, "timeout_strategy": "WARN"}
    run = await engine.begin(engine.define(task))
    await eventually(lambda: len(engine.cluster.rows(WARNED, run)), until=1, within_s=WITHIN_S)
    assert engine.state(run) == "RUNNING_EXECUTION"
    await engine.change("STOP", run)
    await engine.end(run)
    assert len(engine.cluster.rows(WARNED, run)) == 1


RUN_WARNED = "SELECT severity, alert_group FROM alert WHERE kind = 'RUN_TIMEOUT' AND workflow_instance_id = %s"


@pytest.mark.parametrize(
    ("strategy", "state", "warned"),
    [
        ("WARN", "SUCCESS", [("WARNING", "ops")]),
        ("WARNFAILED", "FAILURE", [("WARNING", "ops")]),
        ("FAILED", "FAILURE", []),
    ],
)
async def test_a_run_that_takes_too_long_is_warned_of_if_its_strategy_says_so(
    engine: Engine, strategy: str, state: str, warned: list[Any]
) -> None:
    task = {"name": "a", "params": {"sleep_s": 2}}
    code = engine.define(task, timeout_minutes=0.01, timeout_strategy=strategy)
    run = await engine.run(code, alert_group="ops")
    assert engine.state(run) == state
    assert engine.cluster.rows(RUN_WARNED, run) == warned


async def test_a_run_that_takes_too_long_is_warned_of_once_though_its_master_is_killed(fresh: Engine) -> None:
    """Its next master finds the time over before the transaction that takes the run has committed."""
    fresh.cluster.rows(SLOW_COMMITS)
    code = fresh.define({"name": "a", **UNTIL_STOPPED}, timeout_minutes=0.01)
    first = await fresh.cluster.master()
    await fresh.cluster.worker()
    run = await fresh.begin(code)
    await eventually(lambda: fresh.cluster.rows(RUN_WARNED, run), until=[("WARNING", "default")], within_s=WITHIN_S)
    first.kill()
    second = await fresh.cluster.master()
    await eventually(lambda: second.events("workflow_takes_too_long"), within_s=WITHIN_S)
    await fresh.change("STOP", run)
    assert await fresh.end(run) == "STOP"
    assert fresh.cluster.rows(RUN_WARNED, run) == [("WARNING", "default")]


async def test_a_run_that_takes_too_long_fails_though_its_time_was_over_before_its_next_master_had_it(
    fresh: Engine,
) -> None:
    fresh.cluster.rows(SLOW_COMMITS)
    code = fresh.define({"name": "a", **UNTIL_STOPPED}, timeout_minutes=0.05, timeout_strategy="FAILED")
    first = await fresh.cluster.master()
    await fresh.cluster.worker()
    run = await fresh.begin(code)
    first.kill()
    overdue = "SELECT clock_timestamp() > started_at + interval '3 s' FROM workflow_instance WHERE id = %s"
    await eventually(lambda: fresh.cluster.one(overdue, run))
    await fresh.cluster.master()
    assert await fresh.end(run) == "FAILURE"


# ---------------------------------------------------------------------------------------------- schedules, commands


def _schedule(engine: Engine, code: int, crontab: str, **columns: Any) -> int:
    names = "".join(f", {name}" for name in columns)
    query = f"INSERT INTO schedule (workflow_code, crontab{names}) VALUES (%s, %s{', %s' * len(columns)}) RETURNING id"
    return int(engine.cluster.one(query, code, crontab, *columns.values()))


def _of_schedule(engine: Engine, schedule: int) -> list[Any]:
    query = "SELECT kind, severity, alert_group, subject FROM alert WHERE facts ->> 'schedule' = %s::text ORDER BY id"
    return engine.cluster.rows(query, schedule)


@pytest.mark.parametrize(("given", "wanted"), [({"alert_group": "ops"}, "ops"), ({}, "data")])
async def test_a_schedule_that_missed_its_times_is_reported(engine: Engine, given: dict[str, str], wanted: str) -> None:
    code = engine.define(SUCCEEDS, alert_group="data")
    schedule = _schedule(engine, code, "0 0 * * *", misfire="SKIP", **given)
    computed = "SELECT next_fire_at IS NOT NULL FROM schedule WHERE id = %s"
    await eventually(lambda: engine.cluster.one(computed, schedule), within_s=WITHIN_S)
    engine.cluster.rows(
        "UPDATE schedule SET next_fire_at = date_trunc('day', now()) - interval '2 d', "
        "counts_from = now() - interval '9 d' WHERE id = %s",
        schedule,
    )
    ((kind, severity, group, subject),) = await eventually(lambda: _of_schedule(engine, schedule), within_s=WITHIN_S)
    assert (kind, severity, group) == ("SCHEDULE_MISSED", "WARNING", wanted)
    assert f"schedule {schedule} of workflow " in subject
    assert "missed its times since 20" in subject


async def test_a_schedule_that_cannot_fire_any_more_is_reported_once(engine: Engine) -> None:
    code = engine.define(SUCCEEDS)
    schedule = _schedule(engine, code, "every day")
    ((kind, severity, group, subject),) = await eventually(lambda: _of_schedule(engine, schedule), within_s=WITHIN_S)
    assert (kind, severity, group) == ("SCHEDULE_RESTS", "WARNING", "default")
    assert "no longer fires: " in subject
    engine.cluster.rows("UPDATE schedule SET crontab = 'never' WHERE id = %s", schedule)
    await eventually(lambda: len(_of_schedule(engine, schedule)), until=2, within_s=WITHIN_S)
    engine.cluster.rows("DELETE FROM schedule WHERE id = %s", schedule)


async def test_a_command_that_was_refused_is_reported(engine: Engine) -> None:
    code = engine.define(SUCCEEDS, name="alerts: refused")
    command = engine.ask("START_PROCESS", code, workflow_version=9, warning_type="FAILURE", alert_group="data")
    await engine.refused(command)
    query = "SELECT subject FROM alert WHERE kind = 'ERROR_COMMANDS' AND alert_group = 'data' AND workflow = %s"
    ((subject,),) = await eventually(lambda: engine.cluster.rows(query, "alerts: refused"), within_s=WITHIN_S)
    assert subject.startswith(f'command {command} of workflow "alerts: refused" was refused: ')


# ---------------------------------------------------------------------------------------------- the cluster, rules


async def test_a_lost_worker_is_reported_and_one_that_leaves_is_not(fresh: Engine) -> None:
    code = fresh.define({"name": "a", **UNTIL_STOPPED})
    await fresh.cluster.master()
    lost, left = await fresh.cluster.worker(), await fresh.cluster.worker()
    await fresh.begin(code)
    running = "SELECT worker_id FROM task_instance WHERE state = 'RUNNING_EXECUTION'"
    ((epoch,),) = await eventually(lambda: fresh.cluster.rows(running), within_s=WITHIN_S)
    if left.epoch == epoch:
        lost, left = left, lost
    left.signal(signal.SIGTERM)
    await left.ended()
    lost.kill()
    query = "SELECT facts ->> 'epoch', facts ->> 'node_kind', alert_group FROM alert WHERE kind = 'FAILOVER'"
    alerts = await eventually(lambda: fresh.cluster.rows(query), within_s=WITHIN_S)
    assert alerts == [(str(epoch), "WORKER", "default")]


async def test_a_group_without_workers_is_reported(engine: Engine) -> None:
    run = await engine.begin(engine.define({"name": "a"}), worker_group="nobody")
    await engine.task_becomes(run, "a", "QUEUED")
    # The duty that looks is done once a minute, and what it sees must last: the test has both come sooner.
    now_due = "UPDATE duty SET due_at = clock_timestamp() WHERE name = 'worker_groups'"
    seen = "UPDATE alert_condition SET since = since - interval '1 min' WHERE name = 'nobody' RETURNING name"
    engine.cluster.rows(now_due)
    await eventually(lambda: engine.cluster.rows(seen), within_s=WITHIN_S)
    engine.cluster.rows(now_due)
    query = "SELECT count(*) FROM alert WHERE kind = 'GROUP_WITHOUT_WORKERS' AND facts ->> 'name' = 'nobody'"
    await eventually(lambda: engine.cluster.one(query), until=1, within_s=WITHIN_S)
    await engine.change("STOP", run)


async def test_a_rule_in_words_raises_its_alert_once_though_masters_are_killed(fresh: Engine) -> None:
    """Five failures, each reported once, by whichever master lives."""
    code = fresh.define(FAILS, name="load")
    rule = "INSERT INTO alert_rule (project, name, text) VALUES ('default', %s, %s)"
    fresh.cluster.rows(rule, "each", "any run of load fails -> group data")
    fresh.cluster.rows(rule, "row", "any run of this project fails three times in a row -> group more")
    masters = [await fresh.cluster.master() for _ in range(2)]
    await fresh.cluster.worker()
    await fresh.cluster.slots_become(2)
    await eventually(lambda: fresh.cluster.one("SELECT count(*) FROM duty_done WHERE name = 'alert_rules'"))
    runs = [await fresh.run(code) for _ in range(3)]
    masters[0].kill()
    runs += [await fresh.run(code) for _ in range(2)]
    query = "SELECT workflow_instance_id FROM alert WHERE kind = 'RULE' AND alert_group = %s ORDER BY id"
    await eventually(lambda: len(fresh.cluster.rows(query, "data")), until=5, within_s=WITHIN_S)
    assert [run for (run,) in fresh.cluster.rows(query, "data")] == runs
    assert [run for (run,) in fresh.cluster.rows(query, "more")] == runs[2:3]
