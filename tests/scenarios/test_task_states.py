"""One scenario for each state of a task instance, and for what makes a task ready."""

from __future__ import annotations

import signal

import pytest

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, UNTIL_STOPPED, Engine

IN_TEN_MINUTES = {"delay_time": 10}
AGAIN_IN_TEN_MINUTES = {"params": {"fail": True}, "retry_times": 1, "retry_interval": 10}


async def test_queued_running_execution_success(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a"}))
    assert engine.path(run, "a") == ["QUEUED", "RUNNING_EXECUTION", "SUCCESS"]


async def test_dispatch_for_what_must_never_start_twice(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a", "on_worker_loss": "fail"}))
    assert engine.path(run, "a") == ["QUEUED", "DISPATCH", "RUNNING_EXECUTION", "SUCCESS"]


async def test_failure_with_the_reason(engine: Engine) -> None:
    code = engine.define({"name": "a", "type": "SHELL", "params": {"script": "echo no such order; exit 3"}})
    run = await engine.run(code)
    assert engine.path(run, "a") == ["QUEUED", "RUNNING_EXECUTION", "FAILURE"]
    assert engine.why(run, "a") == "exit code 3: no such order"


async def test_delay_execution_lasts_as_long_as_its_definition_says(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a"}, {"name": "b", "after": ["a"], "delay_time": 0.01}))
    assert engine.path(run, "b") == ["DELAY_EXECUTION", "QUEUED", "RUNNING_EXECUTION", "SUCCESS"]
    waited = """SELECT extract(epoch FROM b.started_at - a.ended_at) FROM task_instance a JOIN task_instance b
                ON b.workflow_instance_id = a.workflow_instance_id AND b.task_name = 'b'
                WHERE a.workflow_instance_id = %s AND a.task_name = 'a'"""
    assert engine.cluster.one(waited, run) >= 0.6


@pytest.mark.parametrize("wait", [IN_TEN_MINUTES, AGAIN_IN_TEN_MINUTES], ids=["DELAY", "RETRY"])
@pytest.mark.parametrize(("command", "becomes"), [("PAUSE", "PAUSE"), ("STOP", "KILL")])
async def test_delay_execution_is_paused_and_stopped_at_once(
    engine: Engine, wait: dict[str, object], command: str, becomes: str
) -> None:
    run = await engine.begin(engine.define({"name": "a", **wait}))
    await engine.task_becomes(run, "a", "DELAY_EXECUTION")
    reason = "SELECT wait_reason FROM task_instance WHERE workflow_instance_id = %s AND state = 'DELAY_EXECUTION'"
    assert engine.cluster.one(reason, run) == ("DELAY" if wait is IN_TEN_MINUTES else "RETRY")
    await engine.change(command, run)
    assert await engine.end(run) == command
    assert engine.tasks(run) == {"a": becomes}
    assert engine.why(run, "a") == ("it was held back by a pause" if becomes == "PAUSE" else "its workflow was stopped")


@pytest.mark.parametrize(("command", "becomes"), [("PAUSE", "PAUSE"), ("STOP", "KILL")])
async def test_queued_without_a_worker_is_paused_and_stopped_at_once(
    engine: Engine, command: str, becomes: str
) -> None:
    run = await engine.begin(engine.define({"name": "a", **BY_HAND}))
    await engine.task_becomes(run, "a", "QUEUED")
    await engine.change(command, run)
    assert await engine.end(run) == command
    assert engine.path(run, "a") == ["QUEUED", becomes]


async def test_kill_ends_all_processes_of_a_task(engine: Engine) -> None:
    pids = engine.cluster.folder / "pids"
    script = f"(setsid sleep 301 & echo $! > {pids}.part; mv {pids}.part {pids}); sleep 301"
    run = await engine.begin(engine.define({"name": "a", "type": "SHELL", "params": {"script": script}}))
    await eventually(pids.exists, within_s=10)
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    assert engine.path(run, "a") == ["QUEUED", "RUNNING_EXECUTION", "KILL"]
    assert not _runs(int(pids.read_text()))


async def test_need_fault_tolerance_when_its_worker_died_and_a_new_task_instance_follows(engine: Engine) -> None:
    frail = await engine.cluster.worker(SHOAL_WORKER__GROUPS="frail")
    code = engine.define({"name": "a", **UNTIL_STOPPED, "worker_group": "frail", "retry_times": 1})
    run = await engine.begin(code)
    await engine.task_becomes(run, "a", "RUNNING_EXECUTION")
    frail.signal(signal.SIGKILL)
    await eventually(lambda: len(engine.attempts(run, "a")), until=2, within_s=20)
    query = """SELECT state, retries, reason FROM task_instance WHERE workflow_instance_id = %s ORDER BY attempt"""
    assert engine.cluster.rows(query, run) == [
        ("NEED_FAULT_TOLERANCE", 0, "its worker was lost"),
        ("QUEUED", 0, None),
    ]
    await engine.change("STOP", run)
    await engine.end(run)


async def test_forced_success_counts_as_a_success_when_the_run_goes_on(engine: Engine) -> None:
    code = engine.define(
        {"name": "a", "params": {"fail": True}},
        {"name": "b", "after": ["a"]},
        {"name": "c", "params": {"fail_attempts": 1}},
    )
    run = await engine.run(code)
    assert engine.state(run) == "FAILURE"
    engine.cluster.rows(
        "UPDATE task_instance SET state = 'FORCED_SUCCESS' WHERE workflow_instance_id = %s AND task_name = 'a'", run
    )
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "FORCED_SUCCESS", "b": "SUCCESS", "c": "SUCCESS"}
    assert engine.attempts(run, "a") == [("FORCED_SUCCESS", "YES")]


async def test_forced_success_of_all_that_failed_makes_the_run_a_success(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a"}, {"name": "b", "after": ["a"], "params": {"fail": True}}))
    engine.cluster.rows(
        "UPDATE task_instance SET state = 'FORCED_SUCCESS' WHERE workflow_instance_id = %s AND task_name = 'b'", run
    )
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert [len(engine.attempts(run, task)) for task in "ab"] == [1, 1]


async def test_a_task_is_ready_when_every_predecessor_has_succeeded(engine: Engine) -> None:
    run = await engine.begin(
        engine.define({"name": "a", **BY_HAND}, {"name": "b", **BY_HAND}, {"name": "c", "after": ["a", "b"]})
    )
    for task in "ab":
        await engine.claim(run, task)
        assert "c" not in engine.tasks(run)
        engine.report(run, task, "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    began = (
        "SELECT task_name FROM seen WHERE workflow_instance_id = %s AND task_name IS NOT NULL ORDER BY id DESC LIMIT 1"
    )
    assert engine.cluster.one(began, run) == "c"


@pytest.mark.parametrize("flag", ["NO", False])
async def test_a_forbidden_task_is_passed_over_as_if_it_were_not_there(engine: Engine, flag: object) -> None:
    code = engine.define(
        {"name": "a"},
        {"name": "b", "after": ["a"], "flag": flag, "params": {"fail": True}},
        {"name": "c", "after": ["b"]},
        {"name": "d", "flag": flag},
    )
    run = await engine.run(code)
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "SUCCESS", "c": "SUCCESS"}


async def test_a_workflow_of_forbidden_tasks_only_succeeds(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a", "flag": "NO"}))
    assert engine.state(run) == "SUCCESS"


async def test_a_forbidden_task_stays_on_a_branch_that_was_not_chosen(engine: Engine) -> None:
    switch = {"cases": [{"when": "1 == 1", "then": ["yes"]}], "default": "no"}
    code = engine.define(
        {"name": "which", "type": "SWITCH", "params": switch},
        {"name": "yes", "after": ["which"]},
        {"name": "no", "after": ["which"], "flag": "NO"},
        {"name": "hangs on no", "after": ["no"]},
    )
    run = await engine.run(code)
    assert engine.tasks(run) == {"which": "SUCCESS", "yes": "SUCCESS"}


async def test_a_branch_that_was_not_chosen_is_skipped_and_what_hangs_only_on_it_too(engine: Engine) -> None:
    switch = {"cases": [{"when": "1 == 1", "then": ["yes"]}], "default": "no"}
    code = engine.define(
        {"name": "which", "type": "SWITCH", "params": switch},
        {"name": "yes", "after": ["which"]},
        {"name": "no", "after": ["which"]},
        {"name": "hangs on no", "after": ["no"]},
        {"name": "hangs on both", "after": ["hangs on no", "yes"]},
        {"name": "hangs on no and another", "after": ["no", "another"]},
        {"name": "another"},
    )
    run = await engine.run(code)
    assert engine.state(run) == "SUCCESS"
    ran = {"which", "yes", "another", "hangs on both", "hangs on no and another"}
    assert engine.tasks(run) == dict.fromkeys(ran, "SUCCESS")


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("asked", "ends"), [("PAUSE", "PAUSE"), ("STOP", "STOP")])
async def test_what_a_lost_worker_gives_back_does_not_begin_in_a_run_that_was_halted(
    engine: Engine, asked: str, ends: str
) -> None:
    """Claimed by a worker that dies before it starts it, while a pause or stop was accepted: the run ends so."""
    run = await engine.begin(engine.define({"name": "a", "worker_group": "nobody", "on_worker_loss": "fail"}))
    await engine.task_becomes(run, "a", "QUEUED")
    worker = engine.cluster.one(
        """INSERT INTO node (incarnation, kind, address, process_boot, process_id, process_started)
           VALUES (gen_random_uuid(), 'WORKER', 'by hand', 'no boot', 1, 1) RETURNING id"""
    )
    engine.cluster.rows(
        """UPDATE task_instance SET state = 'DISPATCH', worker_id = %s
           WHERE workflow_instance_id = %s AND state = 'QUEUED' RETURNING id""",
        worker, run,
    )  # fmt: skip
    await engine.change(asked, run)
    await engine.becomes(run, f"READY_{asked}")
    engine.cluster.rows("UPDATE node SET state = 'FENCED' WHERE id = %s RETURNING id", worker)
    assert await engine.end(run) == ends
    assert engine.path(run, "a") == ["QUEUED", "DISPATCH", {"PAUSE": "PAUSE", "STOP": "KILL"}[asked]]
    if asked == "PAUSE":
        await engine.change("RECOVER_SUSPENDED_PROCESS", run)
        await engine.task_becomes(run, "a", "QUEUED")
        await engine.change("STOP", run)
