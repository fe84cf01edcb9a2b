"""Scenarios of limits: how long a task may wait for a worker, and how long a run may take."""

from __future__ import annotations

import signal

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, UNTIL_STOPPED, Engine

NOBODY = {"type": "FAKE", "worker_group": "nobody-is-there"}
NOT_TAKEN = (
    "no worker of group nobody-is-there took it within its dispatch_timeout of 1.2 s; start one there, or give it "
    "more time"
)
A_SECOND = 0.02
"""Somewhat more, in minutes."""
TOLD = "workflow_takes_too_long"
TOO_LONG = "it took longer than its timeout of 1.2 s"


async def test_a_task_that_no_worker_takes_in_time_fails_with_the_reason(engine: Engine) -> None:
    code = engine.define({"name": "a", **NOBODY, "dispatch_timeout": A_SECOND}, {"name": "b", "after": ["a"]})
    run = await engine.run(code)
    assert engine.state(run) == "FAILURE"
    assert engine.reason(run) == 'task "a" failed'
    assert engine.why(run, "a") == NOT_TAKEN
    assert engine.tasks(run) == {"a": "FAILURE"}


async def test_it_is_a_failure_like_any_other_so_a_retry_waits_once_more(engine: Engine) -> None:
    task = {"name": "a", **NOBODY, "dispatch_timeout": A_SECOND, "retry_times": 1, "retry_interval": 0.01}
    run = await engine.run(engine.define(task))
    assert engine.attempts(run, "a")[-1][0] == "FAILURE"
    assert [state for state, _ in engine.attempts(run, "a")] == ["FAILURE", "FAILURE"]


async def test_the_wait_counts_from_the_queue_and_not_from_a_delay_before(engine: Engine) -> None:
    task = {"name": "a", **NOBODY, "dispatch_timeout": A_SECOND, "delay_time": A_SECOND}
    run = await engine.run(engine.define(task))
    assert engine.path(run, "a") == ["DELAY_EXECUTION", "QUEUED", "FAILURE"]
    took = "SELECT extract(epoch FROM ended_at - queued_at) FROM task_instance WHERE workflow_instance_id = %s"
    assert engine.cluster.one(took, run) >= 60 * A_SECOND


async def test_one_that_is_taken_in_time_may_run_for_longer(engine: Engine) -> None:
    params = {"sleep_s": 2.5}
    run = await engine.run(engine.define({"name": "a", "params": params, "dispatch_timeout": A_SECOND}))
    assert engine.state(run) == "SUCCESS"


async def test_the_limit_on_waiting_survives_the_master(fresh: Engine) -> None:
    master = await fresh.cluster.master()
    run = await fresh.begin(fresh.define({"name": "a", **NOBODY, "dispatch_timeout": 0.1}))
    master.signal(signal.SIGKILL)
    await fresh.cluster.master()
    assert await fresh.end(run) == "FAILURE"
    assert "took it within its dispatch_timeout of 6 s" in fresh.why(run, "a")


async def test_a_run_that_takes_too_long_is_killed_and_fails_with_the_reason(engine: Engine) -> None:
    fields = {"timeout_minutes": A_SECOND, "timeout_strategy": "FAILED"}
    code = engine.define({"name": "a", **UNTIL_STOPPED}, {"name": "b", "after": ["a"]}, **fields)
    run = await engine.run(code)
    assert (engine.state(run), engine.reason(run)) == ("FAILURE", TOO_LONG)
    assert engine.tasks(run) == {"a": "KILL"}


async def test_so_does_one_whose_tasks_wait_and_all_that_is_below_it_is_stopped(engine: Engine) -> None:
    below = engine.define({"name": "a", **NOBODY})
    task = {"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": below}}
    run = await engine.run(engine.define(task, timeout_minutes=A_SECOND, timeout_strategy="FAILED"))
    assert (engine.state(run), engine.reason(run)) == ("FAILURE", TOO_LONG)
    assert [engine.state(child) for child in engine.children(run)] == ["STOP"]


async def test_with_warn_it_goes_on_and_its_master_says_so(engine: Engine) -> None:
    run = await engine.begin(engine.define({"name": "a", **BY_HAND}, timeout_minutes=A_SECOND))
    await engine.claim(run, "a")

    def said() -> bool:
        return any(
            event.get("workflow_instance") == run for node in engine.cluster.nodes for event in node.events(TOLD)
        )

    await eventually(said, within_s=10)
    engine.report(run, "a", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"


async def test_its_length_counts_from_its_start_whoever_drives_it(fresh: Engine) -> None:
    master = await fresh.cluster.master()
    fields = {"timeout_minutes": 60, "timeout_strategy": "FAILED"}
    run = await fresh.begin(fresh.define({"name": "a", **NOBODY}, **fields))
    fresh.cluster.rows("UPDATE workflow_instance SET running_since = running_since - interval '59 min 55 s'")
    master.signal(signal.SIGKILL)
    await fresh.cluster.master()
    assert await fresh.end(run) == "FAILURE"
    assert fresh.reason(run) == "it took longer than its timeout of 60 min"


async def test_what_goes_on_after_a_pause_has_its_whole_time_once_more(engine: Engine) -> None:
    fields = {"timeout_minutes": 60, "timeout_strategy": "FAILED"}
    run = await engine.begin(engine.define({"name": "a", **BY_HAND}, {"name": "b", "after": ["a"]}, **fields))
    await engine.claim(run, "a")
    await engine.change("PAUSE", run)
    engine.report(run, "a", "SUCCESS")
    assert await engine.end(run) == "PAUSE"
    engine.cluster.rows(
        """UPDATE workflow_instance SET started_at = started_at - interval '2 h',
                                        running_since = running_since - interval '2 h' WHERE id = %s""",
        run,
    )
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"


async def test_no_run_takes_longer_than_the_setting_of_the_masters_allows(fresh: Engine) -> None:
    await fresh.cluster.master(SHOAL_MASTER__LONGEST_RUN="1.5")
    run = await fresh.run(fresh.define({"name": "a", **NOBODY}))
    assert fresh.state(run) == "FAILURE"
    assert fresh.reason(run) == "it took longer than any run may, 1.5 s (master.longest_run)"
