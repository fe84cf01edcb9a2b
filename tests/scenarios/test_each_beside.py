"""Tasks with `each` beside all else that a task may have: pools, cache, waits, skips, start rules, dry runs."""

from __future__ import annotations

import json

from tests.scenarios.engine import BY_HAND, Engine
from tests.scenarios.test_each import a_run_of_which_one_element_failed, mapped, tells


async def test_all_skipped_elements_skip_their_task_and_some_do_not(engine: Engine) -> None:
    then = {"name": "then", "after": ["load"]}
    run = await engine.run(engine.define(mapped([1, 2], params={"skip": True}), then))
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == {"load": "SKIPPED", "load[0]": "SKIPPED", "load[1]": "SKIPPED"}
    run = await engine.begin(engine.define(mapped([1, 2], **BY_HAND), then))
    for element, state in (("load[0]", "SKIPPED"), ("load[1]", "SUCCESS")):
        await engine.claim(run, element)
        engine.report(run, element, state)
    assert await engine.end(run) == "SUCCESS" and engine.tasks(run)["then"] == "SUCCESS"


async def test_an_empty_list_is_a_success_whose_values_are_empty_lists(engine: Engine) -> None:
    use = {"name": "use", "after": ["load"], **tells(rows="${load.rows}")}
    run = await engine.run(engine.define(mapped([], **tells(rows="1")), use))
    assert engine.printed(run, "use") == {"rows": "[]"}


async def test_a_start_rule_sees_how_the_task_ended(engine: Engine) -> None:
    cure = {"name": "cure", "after": ["load"], "start_when": "one_failed"}
    run = await engine.run(engine.define(mapped([1, 2], params={"fail": True}), cure))
    assert engine.tasks(run)["cure"] == "SUCCESS" and engine.state(run) == "FAILURE"


async def test_elements_wait_for_things_and_hold_no_worker_meanwhile(engine: Engine) -> None:
    moments = ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"]
    run = await engine.begin(engine.define(mapped(moments, type="WAIT", params={"for": {"time": "${each}"}})))
    await engine.task_becomes(run, "load[0]", "SUCCESS")
    await engine.task_becomes(run, "load[1]", "DELAY_EXECUTION")
    held = "SELECT count(*) FROM task_instance WHERE workflow_instance_id = %s AND worker_id IS NOT NULL"
    assert engine.cluster.one(f"{held} AND state = 'DELAY_EXECUTION'", run) == 0
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"


async def test_a_cached_element_is_not_run_again_in_the_next_run(engine: Engine) -> None:
    code = engine.define(mapped(["a", "b"], cache=True, **tells(n="${each}")))
    first, second = await engine.run(code), await engine.run(code)
    assert engine.why(first, "load[0]") == ""
    assert engine.why(second, "load[0]") == "the outputs of an earlier success were used"
    assert engine.printed(second, "load") == engine.printed(first, "load") == {"n": '["a", "b"]'}


async def test_elements_take_turns_at_a_pool_and_the_task_holds_none_of_it(engine: Engine) -> None:
    run = await engine.begin(engine.define(mapped([1, 2], resources={"seats": 1})))
    await engine.task_becomes(run, "load[1]", "QUEUED")
    needs = "SELECT task_name FROM task_instance WHERE workflow_instance_id = %s AND resources IS NOT NULL ORDER BY 1"
    assert [name for (name,) in engine.cluster.rows(needs, run)] == ["load[0]", "load[1]"]
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"


async def test_a_dry_run_has_all_elements_and_gives_nothing(engine: Engine) -> None:
    run = await engine.run(engine.define(mapped([1, 2], params={"fail": True})), dry_run=True)
    assert engine.tasks(run) == {"load": "SUCCESS", "load[0]": "SUCCESS", "load[1]": "SUCCESS"}


async def test_a_rerun_of_the_task_alone_repeats_all_elements(engine: Engine) -> None:
    run = await a_run_of_which_one_element_failed(engine)
    await engine.change("EXECUTE_TASK", run, start_tasks="load", task_depend_type="TASK_ONLY")
    for index in range(3):
        await engine.claim(run, f"load[{index}]")
        engine.report(run, f"load[{index}]", "SUCCESS", n="z")
    await engine.end(run)
    assert engine.printed(run, "load") == {"n": '["z", "z", "z"]'}
    assert engine.attempts(run, "load[0]") == [("SUCCESS", "NO"), ("SUCCESS", "YES")]


async def test_a_rerun_with_a_list_that_has_changed_runs_what_is_new(engine: Engine) -> None:
    """The task before also failed, and gives another list the second time."""
    code = engine.define(
        {"name": "list", **BY_HAND},
        mapped("${list.all}", after=["list"], **tells(n="${each}!")),
        {"name": "check", "after": ["load"], **BY_HAND},
    )
    run = await engine.begin(code)
    await engine.claim(run, "list")
    engine.report(run, "list", "SUCCESS", all='["a", "b"]')
    await engine.claim(run, "check")
    engine.report(run, "check", "FAILURE")
    assert await engine.end(run) == "FAILURE"
    await engine.change("EXECUTE_TASK", run, start_tasks="list", task_depend_type="TASK_POST")
    await engine.claim(run, "list")
    engine.report(run, "list", "SUCCESS", all='["c"]')
    await engine.claim(run, "check")
    engine.report(run, "check", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert json.loads(engine.printed(run, "load")["n"]) == ["c!"]


async def test_a_master_kills_the_elements_of_a_run_that_takes_too_long(engine: Engine) -> None:
    code = engine.define(mapped([1, 2], params={"sleep_s": 300}), timeout_minutes=0.02, timeout_strategy="FAILED")
    run = await engine.run(code)
    assert engine.state(run) == "FAILURE" and "timeout" in (engine.reason(run) or "")
    assert set(engine.tasks(run).values()) == {"KILL"}
