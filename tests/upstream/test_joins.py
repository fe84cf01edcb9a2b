"""A task begins when all that it waits for have succeeded: whatever else they are, it is not yet its turn."""

from __future__ import annotations

from typing import Any

from master.drive.events import Finish, Restored
from model.ids import TaskCode
from model.runs.instances import TaskAttempt
from model.runs.states import TaskState
from tests.eventually import eventually
from tests.every import every
from tests.master.plans import a_plan, a_runnable
from tests.scenarios.engine import BY_HAND, Engine

DIAMOND = {"a": [], "b": ["a"], "c": [], "d": ["b", "c"]}
A, B, C, D = (TaskCode(number) for number in range(1, 5))
ENDED_WELL = (TaskState.SUCCESS, TaskState.SKIPPED, TaskState.FORCED_SUCCESS)
END_OF_WAIT = """UPDATE task_instance SET due_at = clock_timestamp()
                 WHERE workflow_instance_id = %s AND state = 'DELAY_EXECUTION'"""


@every("state", [None, *TaskState])
def test_16990_no_state_but_an_end_without_failure_lets_a_join_begin(state: TaskState | None) -> None:
    """Upstream: a -> b -> d and c -> d: `d` began when `c` had ended, though `b` had never begun: what was in none of
    the lists of the active, failed, paused and killed was taken for finished.
    Here: of all states that there are, and of none, only a success counts, or that it skipped itself.
    """
    ended = [TaskAttempt(A, 1, TaskState.SUCCESS, 0), TaskAttempt(C, 1, TaskState.SUCCESS, 0)]
    known = [] if state is None else [TaskAttempt(B, 1, state, 0)]
    effects = a_runnable(a_plan(DIAMOND)).handle(Restored((*ended, *known)))
    begun = [effect.code for effect in effects if isinstance(effect, TaskAttempt)]
    assert (D in begun) == (state in ENDED_WELL)
    assert not any(isinstance(effect, Finish) and effect.reason == "" for effect in effects)


async def test_16990_a_join_waits_for_each_of_those_that_wait_themselves(engine: Engine) -> None:
    """Upstream: as above.
    Here: those before the join are delayed, wait for a retry, are queued, run, stand for another workflow or have not
    begun. They come to their ends one by one, and the join begins after the last.
    """
    below = engine.define({"name": "a", **BY_HAND})
    befores: dict[str, dict[str, Any]] = {
        "delayed": {"delay_time": 10},
        "retried": {"params": {"fail_attempts": 1}, "retry_times": 1, "retry_interval": 10},
        "queued": BY_HAND,
        "running": BY_HAND,
        "never begun": {"after": ["running"]},
        "nested": {"type": "SUB_PROCESS", "params": {"workflow": below}},
        "done": {},
    }
    tasks = [{"name": name, **fields} for name, fields in befores.items()]
    witness = {"name": "witness", "after": ["done"]}
    run = await engine.begin(engine.define(*tasks, witness, {"name": "join", "after": list(befores)}))
    await engine.claim(run, "running")
    for task, state in {
        "delayed": "DELAY_EXECUTION",
        "retried": "DELAY_EXECUTION",
        "queued": "QUEUED",
        "nested": "RUNNING_EXECUTION",
        "witness": "SUCCESS",
    }.items():
        await engine.task_becomes(run, task, state)
        assert "join" not in engine.tasks(run)
    assert "never begun" not in engine.tasks(run)
    engine.cluster.rows(END_OF_WAIT, run)
    for task in ("delayed", "retried"):
        await engine.task_becomes(run, task, "SUCCESS")
        assert "join" not in engine.tasks(run)
    (child,) = await eventually(lambda: engine.children(run), within_s=20)
    await engine.claim(child, "a")
    engine.report(child, "a", "SUCCESS")
    await engine.task_becomes(run, "nested", "SUCCESS")
    engine.report(run, "running", "SUCCESS")
    await engine.task_becomes(run, "never begun", "SUCCESS")
    assert "join" not in engine.tasks(run)
    await engine.claim(run, "queued")
    engine.report(run, "queued", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(run, "join") == [("SUCCESS", "YES")]
