"""Scenarios of tasks with codes of 64 bits, such as those of DolphinScheduler, wherever a run is found by them."""

from __future__ import annotations

from tests.cluster.test_pools import make_pool
from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, Engine

LARGEST = 9223372036854775807
IMPORTED = 10873254534240
POOL = "large-codes"


async def test_a_run_with_the_largest_codes_chooses_waits_and_runs_again_from_a_task(engine: Engine) -> None:
    make_pool(engine.cluster, POOL, 1)
    below = engine.define({"name": "a", "code": LARGEST})
    cases = [{"when": "1 == 1", "then": "then"}]
    code = engine.define(
        {"name": "sub", "code": LARGEST, "type": "SUB_PROCESS", "params": {"workflow": below}},
        {"name": "which", "code": IMPORTED, "type": "SWITCH", "after": ["sub"], "params": {"cases": cases}},
        {"name": "then", "code": LARGEST - 1, "after": ["which"], "resources": {POOL: 1}},
        {"name": "beside", "code": 2**53 + 1, "resources": {POOL: 1}},
    )
    run = await engine.run(code)
    assert engine.tasks(run) == dict.fromkeys(("sub", "which", "then", "beside"), "SUCCESS")
    stored = (
        "SELECT task_code, branch::json ->> 0 FROM task_instance WHERE workflow_instance_id = %s AND branch IS NOT NULL"
    )
    assert engine.cluster.rows(stored, run) == [(IMPORTED, str(LARGEST - 1))]
    (child,) = engine.children(run)

    await engine.change("EXECUTE_TASK", run, start_tasks=str(LARGEST), task_depend_type="TASK_POST")
    assert await engine.end(run) == "SUCCESS"
    again = [("SUCCESS", "NO"), ("SUCCESS", "YES")]
    assert [engine.attempts(run, name) for name in ("sub", "which", "then")] == [again] * 3
    assert engine.attempts(run, "beside") == again[1:]
    assert engine.children(run)[0] == child
    of_child = "SELECT DISTINCT parent_task_code FROM workflow_instance WHERE parent_instance_id = %s"
    assert engine.cluster.rows(of_child, run) == [(LARGEST,)]

    part = await engine.run(code, "START_CURRENT_TASK_PROCESS", start_tasks=[str(IMPORTED), "beside"])
    assert set(engine.tasks(part)) == {"which", "then", "beside"}
    sentence = await engine.refused(engine.ask("START_CURRENT_TASK_PROCESS", code, start_tasks=str(LARGEST + 1)))
    assert f'has no task "{LARGEST + 1}"' in sentence


async def test_a_child_that_waits_in_line_keeps_the_largest_code_of_what_goes_on(engine: Engine) -> None:
    below = engine.define({"name": "a", "code": IMPORTED, **BY_HAND})
    sub = {"name": "sub", "code": LARGEST, "type": "SUB_PROCESS"}
    middle = engine.define({**sub, "params": {"workflow": below}}, execution_type="SERIAL_WAIT")

    async def child_of(run: int) -> int:
        (child,) = await eventually(lambda: engine.children(run), within_s=10)
        return child

    async def goes_on(run: int) -> None:
        child = await child_of(run)
        await engine.claim(child, "a")
        engine.report(child, "a", "SUCCESS")
        assert await engine.end(run) == "SUCCESS"

    top = await engine.begin(engine.define({**sub, "params": {"workflow": middle}}))
    paused = await child_of(top)
    await child_of(paused)
    await engine.change("PAUSE", top)
    assert await engine.end(top) == "PAUSE"
    other = await engine.begin(middle)
    await engine.change("RECOVER_SUSPENDED_PROCESS", top)
    await engine.becomes(paused, "SERIAL_WAIT")
    assert engine.cluster.one("SELECT resumes FROM workflow_instance WHERE id = %s", paused) == [LARGEST]
    await goes_on(other)
    await goes_on(paused)
    assert await engine.end(top) == "SUCCESS"
