"""One scenario for each rule by which tasks run: failure strategies, retry, timeout, priority, dry run, cache."""

from __future__ import annotations

from typing import Any

import pytest

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, UNTIL_STOPPED, Engine

FAILS = {"params": {"fail": True}}


async def test_the_failure_strategy_continue_lets_independent_branches_run_to_their_end(engine: Engine) -> None:
    code = engine.define(
        {"name": "fails", **FAILS},
        {"name": "never", "after": ["fails"]},
        {"name": "slow", "params": {"sleep_s": 0.3}},
        {"name": "last", "after": ["slow"]},
    )
    run = await engine.run(code)
    assert engine.state(run) == "FAILURE"
    assert engine.tasks(run) == {"fails": "FAILURE", "slow": "SUCCESS", "last": "SUCCESS"}


@pytest.mark.parametrize("by", ["definition", "command"])
async def test_the_failure_strategy_end_starts_nothing_new_and_kills_what_runs(engine: Engine, by: str) -> None:
    code = engine.define(
        {"name": "fails", **BY_HAND},
        {"name": "runs", **UNTIL_STOPPED},
        {"name": "waits", "delay_time": 10},
        {"name": "never", "after": ["fails"]},
        failure_strategy="END" if by == "definition" else "CONTINUE",
    )
    run = await engine.begin(code, failure_strategy="END" if by == "command" else None)
    await engine.task_becomes(run, "runs", "RUNNING_EXECUTION")
    await engine.claim(run, "fails")
    engine.report(run, "fails", "FAILURE")
    assert await engine.end(run) == "FAILURE"
    assert engine.tasks(run) == {"fails": "FAILURE", "runs": "KILL", "waits": "KILL"}
    assert engine.reason(run) == 'task "fails" failed, 2 killed'


async def test_retry_follows_a_failure_as_often_as_it_says(engine: Engine) -> None:
    code = engine.define(
        {"name": "enough", "params": {"fail_attempts": 2}, "retry_times": 2},
        {"name": "too few", "params": {"fail_attempts": 3}, "retry_times": 2},
        {"name": "none", **FAILS},
    )
    run = await engine.run(code)
    states = {task: [state for state, _ in engine.attempts(run, task)] for task in ("enough", "too few", "none")}
    assert states == {
        "enough": ["FAILURE", "FAILURE", "SUCCESS"],
        "too few": ["FAILURE", "FAILURE", "FAILURE"],
        "none": ["FAILURE"],
    }
    query = """SELECT array_agg(retries ORDER BY attempt) FROM task_instance
               WHERE workflow_instance_id = %s AND task_name = 'enough'"""
    assert engine.cluster.one(query, run) == [0, 1, 2]


async def test_retry_waits_its_interval(engine: Engine) -> None:
    task = {"name": "a", "params": {"fail_attempts": 1}, "retry_times": 1, "retry_interval": 0.01}
    run = await engine.run(engine.define(task))
    assert engine.state(run) == "SUCCESS"
    waited = """SELECT extract(epoch FROM b.started_at - a.ended_at) FROM task_instance a JOIN task_instance b
                ON b.workflow_instance_id = a.workflow_instance_id AND b.attempt = 2
                WHERE a.workflow_instance_id = %s AND a.attempt = 1"""
    assert engine.cluster.one(waited, run) >= 0.6


@pytest.mark.parametrize("again", ["REPEAT_RUNNING", "EXECUTE_TASK"])
async def test_what_is_run_again_from_the_start_has_all_its_retries_also_after_a_stop_between_two(
    engine: Engine, again: str
) -> None:
    task = {"name": "a", "params": {"fail_attempts": 9}, "retry_times": 2, "retry_interval": 60}
    run = await engine.begin(engine.define(task))
    await engine.task_becomes(run, "a", "DELAY_EXECUTION")
    engine.cluster.rows("UPDATE task_instance SET due_at = now() WHERE state = 'DELAY_EXECUTION'")
    await eventually(lambda: len(engine.attempts(run, "a")), until=3)
    await engine.task_becomes(run, "a", "DELAY_EXECUTION")
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    await engine.change(again, run, **({"start_tasks": "a"} if again == "EXECUTE_TASK" else {}))
    retries = "SELECT retries FROM task_instance WHERE workflow_instance_id = %s AND attempt = %s"
    assert await eventually(lambda: engine.cluster.rows(retries, run, 4)) == [(0,)]
    await engine.task_becomes(run, "a", "DELAY_EXECUTION")
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    continued = await eventually(lambda: engine.cluster.rows(retries, run, 6))
    assert continued == [(1,)], "what only continues has used those that it has used"
    await engine.change("STOP", run)


async def test_retry_does_not_follow_a_kill(engine: Engine) -> None:
    run = await engine.begin(engine.define({"name": "a", **BY_HAND, "retry_times": 3}))
    await engine.claim(run, "a")
    engine.report(run, "a", "KILL")
    assert await engine.end(run) == "FAILURE"
    assert engine.attempts(run, "a") == [("KILL", "YES")]
    assert engine.reason(run) == 'task "a" was killed'


async def test_retry_begins_again_when_the_failed_run_goes_on(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a", "params": {"fail_attempts": 3}, "retry_times": 1}))
    assert len(engine.attempts(run, "a")) == 2
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert len(engine.attempts(run, "a")) == 4


async def test_of_all_attempts_of_a_task_the_last_counts(engine: Engine) -> None:
    """After a failure, a pause, a repetition, an execution."""
    run = await engine.begin(engine.define({"name": "a", **BY_HAND, "retry_times": 1}))

    async def follows(*states: str) -> None:
        wanted = [(state, "YES" if place == len(states) else "NO") for place, state in enumerate(states, 1)]
        await eventually(lambda: engine.attempts(run, "a"), until=wanted, within_s=20)

    await engine.claim(run, "a")
    engine.report(run, "a", "FAILURE")
    await follows("FAILURE", "QUEUED")
    await engine.change("PAUSE", run)
    assert await engine.end(run) == "PAUSE"
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await follows("FAILURE", "PAUSE", "QUEUED")
    await engine.claim(run, "a")
    engine.report(run, "a", "SUCCESS")
    await engine.end(run)
    await engine.change("REPEAT_RUNNING", run)
    await follows("FAILURE", "PAUSE", "SUCCESS", "QUEUED")
    await engine.change("STOP", run)
    await engine.end(run)
    await engine.change("EXECUTE_TASK", run, start_tasks=["a"])
    await follows("FAILURE", "PAUSE", "SUCCESS", "KILL", "QUEUED")
    await engine.change("STOP", run)


@pytest.mark.parametrize("strategy", ["FAILED", "WARNFAILED"])
async def test_timeout_fails_the_task_and_retry_applies(engine: Engine, strategy: str) -> None:
    script = '[ "$SHOAL_ATTEMPT" -gt 1 ] || sleep 300'
    task = {"name": "a", "type": "SHELL", "params": {"script": script}, "retry_times": 1}
    run = await engine.run(engine.define({**task, "timeout": 0.005, "timeout_strategy": strategy}))
    assert engine.state(run) == "SUCCESS"
    assert [state for state, _ in engine.attempts(run, "a")] == ["FAILURE", "SUCCESS"]
    query = "SELECT reason FROM task_instance WHERE workflow_instance_id = %s AND attempt = 1"
    assert engine.cluster.one(query, run) == "it took longer than its timeout of 0.3 s"


async def test_timeout_with_warn_lets_it_go_on(engine: Engine) -> None:
    task = {"name": "a", "params": {"sleep_s": 0.6}, "timeout": 0.005, "timeout_strategy": "WARN"}
    run = await engine.run(engine.define(task))
    assert engine.path(run, "a") == ["QUEUED", "RUNNING_EXECUTION", "SUCCESS"]


async def test_priority_orders_the_queue(engine: Engine) -> None:
    def tasks(*priorities: str) -> list[dict[str, Any]]:
        return [
            {"name": f"{place} {priority}", "worker_group": "late", "priority": priority}
            for place, priority in enumerate(priorities)
        ]

    usual = engine.define(*tasks("LOWEST", "MEDIUM", "HIGHEST", "MEDIUM"))
    hurried = engine.define(*tasks("LOW", "HIGH"), priority="HIGH")
    first, second = await engine.begin(usual), await engine.begin(usual)
    urgent, most_urgent = await engine.begin(hurried), await engine.begin(usual, priority="HIGHEST")
    queued = "SELECT count(*) FROM task_instance WHERE worker_group = 'late' AND state = 'QUEUED'"
    await eventually(lambda: engine.cluster.one(queued), until=14, within_s=10)
    await engine.cluster.worker(SHOAL_WORKER__GROUPS="late", SHOAL_WORKER__CAPACITY="1")
    for run in (first, second, urgent, most_urgent):
        assert await engine.end(run) == "SUCCESS"
    order = "SELECT workflow_instance_id, task_name FROM task_instance WHERE worker_group = 'late' ORDER BY started_at"
    one_run = ["2 HIGHEST", "1 MEDIUM", "3 MEDIUM", "0 LOWEST"]
    assert engine.cluster.rows(order) == [
        *((most_urgent, task) for task in one_run),
        *((urgent, task) for task in ("1 HIGH", "0 LOW")),
        *((first, task) for task in one_run),
        *((second, task) for task in one_run),
    ]


async def test_a_dry_run_does_everything_but_the_tasks_own_work(engine: Engine) -> None:
    task = {"name": "a", "type": "SHELL", "params": {"script": f"touch {engine.cluster.folder}/dry"}}
    below = engine.define(task, name="dry child")
    code = engine.define(
        {**task, "retry_times": 1},
        {"name": "child", "type": "SUB_PROCESS", "params": {"workflow": "dry child"}, "after": ["a"]},
        {"name": "fails", **FAILS, "after": ["child"]},
    )
    run = await engine.run(code, dry_run=True)
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "SUCCESS", "child": "SUCCESS", "fails": "SUCCESS"}
    (child,) = engine.children(run)
    query = "SELECT workflow_code, state, dry_run FROM workflow_instance WHERE id = %s"
    assert engine.cluster.rows(query, child) == [(below, "SUCCESS", True)]
    assert not (engine.cluster.folder / "dry").exists()


async def test_a_dry_run_still_finds_wrong_parameters(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a", "type": "SHELL", "params": {"skript": "x"}}), dry_run=True)
    assert engine.state(run) == "FAILURE"
    assert "script: Field required" in engine.why(run, "a")


def _counting(engine: Engine, name: str) -> dict[str, Any]:
    """A task with cache that writes a line each time it runs, and gives the number of lines."""
    file = engine.cluster.folder / name
    script = f'echo ${{x}} >> {file}; echo "#{{setValue(n=$(wc -l < {file}))}}"'
    return {"name": "a", "type": "SHELL", "params": {"script": script}, "cache": True}


async def test_cache_reuses_the_outputs_of_an_earlier_success(engine: Engine) -> None:
    task = _counting(engine, "cached")
    code = engine.define(task, {"name": "b", "after": ["a"]}, params={"x": "1"})
    first, second = await engine.run(code), await engine.run(code)
    assert engine.values(first, "b")["n"] == engine.values(second, "b")["n"] == "1"
    assert engine.path(second, "a") == ["SUCCESS"]
    assert engine.why(second, "a") == "the outputs of an earlier success were used"
    other = await engine.run(code, params={"x": "2"})
    assert engine.values(other, "b")["n"] == "2", "other parameters are another task"
    engine.revise(code, task, {"name": "b", "after": ["a"]}, params={"x": "1"})
    again = await engine.run(code)
    assert engine.values(again, "b")["n"] == "3", "another version is another task"
    back = await engine.run(code, workflow_version=1)
    assert engine.values(back, "b")["n"] == "1"


async def test_cache_keeps_neither_failures_nor_dry_runs(engine: Engine) -> None:
    task = {"name": "a", "params": {"fail_attempts": 1, "outputs": {"n": "1"}}, "cache": True}
    code = engine.define(task)
    dry = await engine.run(code, dry_run=True)
    assert engine.state(dry) == "SUCCESS"
    failed = await engine.run(code)
    assert engine.state(failed) == "FAILURE"
    assert engine.state(await engine.run(code)) == "FAILURE"
