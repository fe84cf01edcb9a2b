"""One scenario for each arrow between the states of a workflow instance."""

from __future__ import annotations

import signal
from typing import Any

import psycopg
import pytest

from tests.scenarios.engine import BY_HAND, Engine

TWO_BY_HAND = ({"name": "a", **BY_HAND}, {"name": "b", **BY_HAND})
AND_ONE_MORE = {"name": "c", "after": ["a"]}


async def _under_way(engine: Engine, *tasks: dict[str, Any], **fields: Any) -> int:
    """A run whose tasks a and b are in hand."""
    run = await engine.begin(engine.define(*tasks, **fields))
    for task in "ab":
        await engine.claim(run, task)
    return run


async def test_running_execution_becomes_success_when_all_leaves_are(engine: Engine) -> None:
    run = await _under_way(engine, *TWO_BY_HAND, AND_ONE_MORE)
    engine.report(run, "a", "SUCCESS")
    await engine.task_becomes(run, "c", "SUCCESS")
    assert engine.state(run) == "RUNNING_EXECUTION"
    engine.report(run, "b", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.path(run) == ["RUNNING_EXECUTION", "SUCCESS"]
    assert engine.reason(run) is None


async def test_running_execution_becomes_failure_when_a_task_has_failed_for_good(engine: Engine) -> None:
    run = await _under_way(engine, *TWO_BY_HAND, AND_ONE_MORE)
    engine.report(run, "a", "FAILURE")
    engine.report(run, "b", "SUCCESS")
    assert await engine.end(run) == "FAILURE"
    assert engine.path(run) == ["RUNNING_EXECUTION", "FAILURE"]
    assert engine.reason(run) == 'task "a" failed'


async def test_ready_pause_becomes_pause_when_something_is_left_to_do(engine: Engine) -> None:
    run = await _under_way(engine, *TWO_BY_HAND, AND_ONE_MORE)
    await engine.change("PAUSE", run)
    await engine.becomes(run, "READY_PAUSE")
    engine.report(run, "a", "SUCCESS")
    engine.report(run, "b", "SUCCESS")
    assert await engine.end(run) == "PAUSE"
    assert engine.path(run) == ["RUNNING_EXECUTION", "READY_PAUSE", "PAUSE"]
    assert engine.tasks(run) == {"a": "SUCCESS", "b": "SUCCESS"}
    assert engine.reason(run) == "it was paused"


async def test_ready_pause_becomes_success_when_nothing_was_left_to_do(engine: Engine) -> None:
    run = await _under_way(engine, *TWO_BY_HAND)
    await engine.change("PAUSE", run)
    await engine.becomes(run, "READY_PAUSE")
    for task in "ab":
        engine.report(run, task, "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.path(run) == ["RUNNING_EXECUTION", "READY_PAUSE", "SUCCESS"]


async def test_ready_pause_becomes_failure_even_if_something_was_held_back(engine: Engine) -> None:
    run = await _under_way(engine, *TWO_BY_HAND, {"name": "later", "delay_time": 10})
    await engine.change("PAUSE", run)
    await engine.task_becomes(run, "later", "PAUSE")
    engine.report(run, "a", "FAILURE")
    engine.report(run, "b", "SUCCESS")
    assert await engine.end(run) == "FAILURE"
    assert engine.path(run) == ["RUNNING_EXECUTION", "READY_PAUSE", "FAILURE"]
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    await engine.task_becomes(run, "later", "DELAY_EXECUTION")
    await engine.claim(run, "a")
    assert engine.attempts(run, "b") == [("SUCCESS", "YES")]
    engine.report(run, "a", "SUCCESS")
    await engine.change("STOP", run)
    await engine.end(run)


async def test_a_failure_with_retries_left_is_held_back_by_a_pause_and_tried_again_afterwards(engine: Engine) -> None:
    run = await _under_way(engine, {"name": "a", **BY_HAND, "retry_times": 1}, {"name": "b", **BY_HAND})
    await engine.change("PAUSE", run)
    await engine.becomes(run, "READY_PAUSE")
    engine.report(run, "a", "FAILURE")
    engine.report(run, "b", "SUCCESS")
    assert await engine.end(run) == "PAUSE"
    assert [state for state, _ in engine.attempts(run, "a")] == ["FAILURE", "PAUSE"]
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.claim(run, "a")
    engine.report(run, "a", "FAILURE")
    assert await engine.end(run) == "FAILURE", "its one retry is used up"


async def test_ready_stop_becomes_stop_when_a_task_was_killed_even_if_another_failed(engine: Engine) -> None:
    run = await _under_way(engine, *TWO_BY_HAND)
    await engine.change("STOP", run)
    await engine.becomes(run, "READY_STOP")
    engine.report(run, "a", "FAILURE")
    engine.report(run, "b", "KILL")
    assert await engine.end(run) == "STOP"
    assert engine.path(run) == ["RUNNING_EXECUTION", "READY_STOP", "STOP"]


async def test_ready_stop_becomes_failure_when_a_task_failed_and_none_was_killed(engine: Engine) -> None:
    run = await _under_way(engine, *TWO_BY_HAND)
    await engine.change("STOP", run)
    await engine.becomes(run, "READY_STOP")
    engine.report(run, "a", "FAILURE")
    engine.report(run, "b", "SUCCESS")
    assert await engine.end(run) == "FAILURE"
    assert engine.path(run) == ["RUNNING_EXECUTION", "READY_STOP", "FAILURE"]


async def test_ready_stop_becomes_success_when_everything_had_succeeded_before_the_kill(engine: Engine) -> None:
    run = await _under_way(engine, *TWO_BY_HAND)
    await engine.change("STOP", run)
    await engine.becomes(run, "READY_STOP")
    for task in "ab":
        engine.report(run, task, "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.path(run) == ["RUNNING_EXECUTION", "READY_STOP", "SUCCESS"]


async def test_ready_stop_becomes_stop_when_something_was_left_to_do(engine: Engine) -> None:
    run = await _under_way(engine, *TWO_BY_HAND, AND_ONE_MORE)
    await engine.change("STOP", run)
    await engine.becomes(run, "READY_STOP")
    for task in "ab":
        engine.report(run, task, "SUCCESS")
    assert await engine.end(run) == "STOP"
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "SUCCESS", "b": "SUCCESS", "c": "SUCCESS"}


async def test_a_stop_overrules_a_pause(engine: Engine) -> None:
    run = await _under_way(engine, *TWO_BY_HAND)
    await engine.change("PAUSE", run)
    await engine.becomes(run, "READY_PAUSE")
    assert "it is being paused already" in await engine.refused(engine.ask("PAUSE", run=run))
    await engine.change("STOP", run)
    await engine.becomes(run, "READY_STOP")
    assert "it is being stopped already" in await engine.refused(engine.ask("STOP", run=run))
    assert "it is being stopped already" in await engine.refused(engine.ask("PAUSE", run=run))
    engine.report(run, "a", "SUCCESS")
    engine.report(run, "b", "KILL")
    assert await engine.end(run) == "STOP"
    assert engine.path(run) == ["RUNNING_EXECUTION", "READY_PAUSE", "READY_STOP", "STOP"]


@pytest.mark.parametrize("command", ["PAUSE", "STOP"])
async def test_what_waits_is_paused_and_stopped_at_once(engine: Engine, command: str) -> None:
    code = engine.define({"name": "a"})
    query = """WITH waiting AS (
                   INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id,
                                                  failure_strategy, priority, worker_group)
                   SELECT -nextval('command_id_seq'), %s, 1, 'SERIAL_WAIT', 0, 'CONTINUE', 'MEDIUM', 'default'
                   RETURNING id)
               INSERT INTO command (type, workflow_instance_id) SELECT %s, id FROM waiting
               RETURNING workflow_instance_id"""
    run = int(engine.cluster.one(query, code, command))
    assert await engine.end(run) == command
    assert engine.path(run) == ["SERIAL_WAIT", command]
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "SUCCESS"}


async def test_serial_wait_becomes_running_execution_when_its_turn_has_come(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND}, execution_type="SERIAL_WAIT")
    first, second = await engine.begin(code), await engine.begin(code)
    await engine.change("STOP", first)
    await engine.claim(second, "a")
    engine.report(second, "a", "SUCCESS")
    assert await engine.end(second) == "SUCCESS"
    assert engine.path(second) == ["SERIAL_WAIT", "RUNNING_EXECUTION", "SUCCESS"]


async def test_the_database_itself_refuses_what_is_no_arrow(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a"}))
    change = "UPDATE workflow_instance SET state = %s, ended_at = NULL WHERE id = %s"
    for state in ("READY_PAUSE", "READY_STOP", "FAILOVER", "SERIAL_WAIT"):
        with pytest.raises(psycopg.errors.RestrictViolation, match=f"cannot go from SUCCESS to {state}"):
            engine.cluster.rows(change, state, run)
    assert engine.state(run) == "SUCCESS"


async def test_failover_while_it_is_failed_over(fresh: Engine) -> None:
    master = await fresh.cluster.master()
    run = await _under_way(fresh, *TWO_BY_HAND, AND_ONE_MORE)
    master.signal(signal.SIGKILL)
    await fresh.cluster.master()
    fresh.report(run, "a", "SUCCESS")
    fresh.report(run, "b", "SUCCESS")
    await fresh.cluster.worker()
    assert await fresh.end(run) == "SUCCESS"
    assert fresh.path(run) == ["RUNNING_EXECUTION", "FAILOVER", "RUNNING_EXECUTION", "SUCCESS"]
    assert [len(fresh.attempts(run, task)) for task in "abc"] == [1, 1, 1]


@pytest.mark.parametrize(("command", "halting"), [("PAUSE", "READY_PAUSE"), ("STOP", "READY_STOP")])
async def test_a_halt_asked_for_before_a_masters_death_survives_it(fresh: Engine, command: str, halting: str) -> None:
    master = await fresh.cluster.master()
    run = await _under_way(fresh, *TWO_BY_HAND, AND_ONE_MORE)
    await fresh.change(command, run)
    await fresh.becomes(run, halting)
    master.signal(signal.SIGKILL)
    await fresh.cluster.master()
    fresh.report(run, "a", "SUCCESS")
    fresh.report(run, "b", "SUCCESS")
    assert await fresh.end(run) == command
    assert fresh.path(run) == ["RUNNING_EXECUTION", halting, "FAILOVER", halting, command]


@pytest.mark.parametrize(("command", "halting"), [("PAUSE", "READY_PAUSE"), ("STOP", "READY_STOP")])
async def test_a_halt_asked_for_while_no_master_lives_is_obeyed_by_the_next(
    fresh: Engine, command: str, halting: str
) -> None:
    master = await fresh.cluster.master()
    run = await _under_way(fresh, *TWO_BY_HAND, AND_ONE_MORE)
    master.signal(signal.SIGKILL)
    await master.ended()
    asked = fresh.ask(command, run=run)
    fresh.report(run, "a", "SUCCESS")
    await fresh.cluster.master()
    await fresh.done(asked)
    await fresh.becomes(run, halting)
    assert "c" not in fresh.tasks(run), "nothing new starts"
    fresh.report(run, "b", "SUCCESS")
    assert await fresh.end(run) == command
    assert fresh.path(run) == ["RUNNING_EXECUTION", "FAILOVER", halting, command]
