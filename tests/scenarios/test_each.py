"""Scenarios of tasks with `each`: elements run at once or some at a time, fail, stop, pause, go on, and are rerun."""

from __future__ import annotations

import json
from typing import Any

from tests.cluster.cluster import Node
from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, UNTIL_STOPPED, WITHIN_S, Engine

FILES = [{"name": "a.csv", "rows": 3}, {"name": "it's b.csv", "rows": 4}]


def mapped(over: Any, **task: Any) -> dict[str, Any]:
    """A task `load` with these elements."""
    each = over if isinstance(over, dict) else {"over": over}
    return {"name": "load", "each": each, **task}


def tells(**outputs: str) -> dict[str, Any]:
    return {"params": {"outputs": outputs}}


async def test_a_fake_task_runs_for_each_element_that_an_earlier_task_gave(engine: Engine) -> None:
    code = engine.define(
        {"name": "list", **tells(files=json.dumps(FILES))},
        mapped("${list.files}", after=["list"], **tells(said="${each_index}: ${each.name}", rows="${each.rows}")),
        {"name": "use", "after": ["load"], **tells(rows="${load.rows}", second="${load.said[1]}")},
    )
    run = await engine.run(code)
    assert engine.state(run) == "SUCCESS", engine.reason(run)
    assert engine.tasks(run) == dict.fromkeys(("list", "load", "load[0]", "load[1]", "use"), "SUCCESS")
    assert engine.printed(run, "use") == {"rows": "[3, 4]", "second": "1: it's b.csv"}
    assert engine.path(run, "load") == ["RUNNING_EXECUTION", "SUCCESS"]


async def test_a_shell_task_runs_for_each_element_of_a_literal_list(engine: Engine) -> None:
    script = """
        echo "${system.task.definition.name} ${system.task.definition.code}"
        echo "#{setValue(line=${each_index} ${each.name} $SHOAL_PARAM_each)}"
        test "${system.task.definition.name} ${system.task.definition.code}" = "load 1"
    """
    code = engine.define(mapped(FILES, type="SHELL", params={"script": script}))
    run = await engine.run(code)
    assert engine.state(run) == "SUCCESS", engine.why(run, "load[0]")
    assert json.loads(engine.printed(run, "load")["line"]) == [
        f"{index} {each['name']} {json.dumps(each)}" for index, each in enumerate(FILES)
    ]


async def test_no_more_elements_are_queued_than_may_run_at_once(engine: Engine) -> None:
    code = engine.define(mapped({"over": [1, 2, 3], "parallel": 2}, **BY_HAND))
    run = await engine.begin(code)
    await engine.task_becomes(run, "load[1]", "QUEUED")
    assert "load[2]" not in engine.tasks(run)
    await engine.claim(run, "load[1]")
    engine.report(run, "load[1]", "SUCCESS")
    for element in ("load[2]", "load[0]"):
        await engine.claim(run, element)
        engine.report(run, element, "SUCCESS")
    assert await engine.end(run) == "SUCCESS"


FAILS = {"fail": True}


async def test_one_failed_element_fails_the_task_when_all_have_ended(engine: Engine) -> None:
    code = engine.define(mapped([1, 2, 3], **BY_HAND), {"name": "after", "after": ["load"]})
    run = await engine.begin(code)
    for element, state in (("load[1]", "FAILURE"), ("load[0]", "SUCCESS"), ("load[2]", "SUCCESS")):
        await engine.claim(run, element)
        engine.report(run, element, state)
    assert await engine.end(run) == "FAILURE"
    assert engine.reason(run) == 'task "load" failed'
    assert engine.why(run, "load") == "1 of 3 elements failed, the first is load[1]"
    assert "after" not in engine.tasks(run)


async def test_with_stop_the_others_do_not_begin(engine: Engine) -> None:
    code = engine.define(mapped({"over": [1, 2, 3], "parallel": 1, "on_failure": "stop"}, params=FAILS))
    run = await engine.run(code)
    assert engine.tasks(run) == {"load": "FAILURE", "load[0]": "FAILURE"}
    said = "1 of 3 elements failed, the first is load[0]; 2 did not begin, since on_failure is stop"
    assert engine.why(run, "load") == said


async def test_an_element_is_retried(engine: Engine) -> None:
    code = engine.define(mapped([1, 2], params={"fail_attempts": 1}, retry_times=1))
    run = await engine.run(code)
    assert engine.state(run) == "SUCCESS"
    assert engine.attempts(run, "load[1]") == [("FAILURE", "NO"), ("SUCCESS", "YES")]
    assert engine.attempts(run, "load") == [("SUCCESS", "YES")]


async def test_a_stop_kills_the_elements_and_a_resume_runs_those_that_had_not_succeeded(engine: Engine) -> None:
    code = engine.define(mapped({"over": [1, 2, 3], "parallel": 2}, **BY_HAND))
    run = await engine.begin(code)
    await engine.claim(run, "load[0]")
    engine.report(run, "load[0]", "SUCCESS", n="7")
    await engine.task_becomes(run, "load[2]", "QUEUED")
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    assert engine.tasks(run) == {"load": "KILL", "load[0]": "SUCCESS", "load[1]": "KILL", "load[2]": "KILL"}
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    for element in ("load[1]", "load[2]"):
        await engine.claim(run, element)
        engine.report(run, element, "SUCCESS", n="8")
    assert await engine.end(run) == "SUCCESS"
    assert engine.printed(run, "load") == {"n": "[7, 8, 8]"}
    assert engine.attempts(run, "load[0]") == [("SUCCESS", "YES")]


async def test_a_stop_kills_running_elements(engine: Engine) -> None:
    code = engine.define(mapped([1, 2], **UNTIL_STOPPED))
    run = await engine.begin(code)
    for element in ("load[0]", "load[1]"):
        await engine.task_becomes(run, element, "RUNNING_EXECUTION")
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    assert set(engine.tasks(run).values()) == {"KILL"}


async def test_a_pause_lets_running_elements_end_and_a_resume_goes_on_with_the_rest(engine: Engine) -> None:
    code = engine.define(mapped({"over": [1, 2, 3], "parallel": 2}, **BY_HAND))
    run = await engine.begin(code)
    await engine.claim(run, "load[0]")
    await engine.change("PAUSE", run)
    await engine.task_becomes(run, "load[1]", "PAUSE")
    engine.report(run, "load[0]", "SUCCESS")
    assert await engine.end(run) == "PAUSE"
    assert engine.tasks(run) == {"load": "PAUSE", "load[0]": "SUCCESS", "load[1]": "PAUSE"}
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    for element in ("load[1]", "load[2]"):
        await engine.claim(run, element)
        engine.report(run, element, "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(run, "load[0]") == [("SUCCESS", "YES")]


async def a_run_of_which_one_element_failed(engine: Engine) -> int:
    code = engine.define(mapped([1, 2, 3], **BY_HAND), {"name": "use", "after": ["load"], **tells(all="${load.n}")})
    run = await engine.begin(code)
    for index, state in enumerate(("SUCCESS", "FAILURE", "SUCCESS")):
        await engine.claim(run, f"load[{index}]")
        engine.report(run, f"load[{index}]", state, **({"n": str(index)} if state == "SUCCESS" else {}))
    assert await engine.end(run) == "FAILURE"
    return run


async def test_a_rerun_of_what_failed_repeats_only_the_failed_elements(engine: Engine) -> None:
    run = await a_run_of_which_one_element_failed(engine)
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    await engine.claim(run, "load[1]")
    engine.report(run, "load[1]", "SUCCESS", n="x")
    assert await engine.end(run) == "SUCCESS"
    assert engine.printed(run, "use") == {"all": '[0, "x", 2]'}
    assert [engine.attempts(run, f"load[{index}]") for index in range(3)] == [
        [("SUCCESS", "YES")],
        [("FAILURE", "NO"), ("SUCCESS", "YES")],
        [("SUCCESS", "YES")],
    ]


async def test_a_rerun_from_the_start_repeats_all_elements(engine: Engine) -> None:
    run = await a_run_of_which_one_element_failed(engine)
    await engine.change("REPEAT_RUNNING", run)
    for index in range(3):
        await engine.claim(run, f"load[{index}]")
        engine.report(run, f"load[{index}]", "SUCCESS", n="y")
    assert await engine.end(run) == "SUCCESS"
    assert engine.printed(run, "use") == {"all": '["y", "y", "y"]'}


async def test_ten_thousand_elements_run_once_each(engine: Engine) -> None:
    code = engine.define(mapped(list(range(10_000)), **tells(n="${each}")))
    run = await engine.begin(code)
    await eventually(lambda: engine.state(run), until="SUCCESS", within_s=2 * WITHIN_S)
    assert json.loads(engine.printed(run, "load")["n"]) == list(range(10_000))
    states = "SELECT state, count(*), max(attempt) FROM task_instance WHERE workflow_instance_id = %s GROUP BY state"
    assert engine.cluster.rows(states, run) == [("SUCCESS", 10_001, 1)]


async def test_more_elements_than_possible_are_refused_in_a_sentence(engine: Engine) -> None:
    many = {"name": "list", **tells(all=json.dumps([0] * 16_385))}
    run = await engine.run(engine.define(many, mapped("${list.all}", after=["list"])))
    assert engine.state(run) == "FAILURE"
    said = "each has 16,385 elements, and at most 16,384 are possible; split the list, or group elements"
    assert engine.why(run, "load") == said


async def a_run_of_slow_elements(fresh: Engine) -> int:
    await fresh.start()
    task = {"params": {"sleep_s": 0.05, "outputs": {"n": "${each}"}}}
    run = await fresh.begin(fresh.define(mapped({"over": list(range(40)), "parallel": 4}, **task)))
    await fresh.task_becomes(run, "load[8]", "SUCCESS")
    return run


def node_of(fresh: Engine, epoch: int) -> Node:
    return next(node for node in fresh.cluster.nodes if node.epoch == epoch)


async def test_the_death_of_a_master_neither_loses_nor_repeats_an_element(fresh: Engine) -> None:
    run = await a_run_of_slow_elements(fresh)
    node_of(fresh, fresh.cluster.one("SELECT master_id FROM workflow_instance WHERE id = %s", run)).kill()
    assert await fresh.end(run) == "SUCCESS"
    assert json.loads(fresh.printed(run, "load")["n"]) == list(range(40))
    assert all(len(fresh.attempts(run, f"load[{index}]")) == 1 for index in range(40))


async def test_the_death_of_a_worker_repeats_only_what_it_ran(fresh: Engine) -> None:
    run = await a_run_of_slow_elements(fresh)
    lost = "SELECT id FROM node WHERE kind = 'WORKER'"
    node_of(fresh, fresh.cluster.one(lost)).kill()
    await fresh.cluster.worker()
    assert await fresh.end(run) == "SUCCESS"
    assert json.loads(fresh.printed(run, "load")["n"]) == list(range(40))
    repeated = """SELECT count(*) FROM task_instance WHERE workflow_instance_id = %s AND attempt > 1
                  AND NOT EXISTS (SELECT FROM task_instance b WHERE b.task_code = task_instance.task_code
                                  AND b.workflow_instance_id = task_instance.workflow_instance_id
                                  AND b.state = 'NEED_FAULT_TOLERANCE')"""
    assert fresh.cluster.one(repeated, run) == 0
    assert fresh.attempts(run, "load") == [("SUCCESS", "YES")]
