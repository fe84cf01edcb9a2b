"""How `each` tasks are shown: on the command line, in the lists, and what people may do with one element."""

from __future__ import annotations

import json

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, WITHIN_S, Engine
from tests.scenarios.test_each import a_run_of_which_one_element_failed, mapped


async def test_a_run_shows_counts_and_its_elements_on_demand(engine: Engine) -> None:
    run = await a_run_of_which_one_element_failed(engine)
    shoal = engine.cluster.shoal
    page = json.loads(shoal("show", str(run), "--json"))
    assert [task["name"] for task in page["tasks"]] == ["load"]
    assert page["tasks"][0]["elements"] == {
        "total": 3, "done": 2, "failed": 1, "killed": 0, "running": 0, "queued": 0, "first_failed": 1,
    }  # fmt: skip
    assert "2 of 3 elements, 1 failed" in shoal("show", str(run))
    found = json.loads(shoal("show", str(run), "--elements", "load", "--json"))
    assert [(each["name"], each["element"], each["state"]) for each in found] == [
        ("load[0]", 0, "SUCCESS"),
        ("load[1]", 1, "FAILURE"),
        ("load[2]", 2, "SUCCESS"),
    ]
    failed = json.loads(shoal("show", str(run), "--elements", "load", "--state", "failure", "--json"))
    assert [each["name"] for each in failed] == ["load[1]"]
    listed = json.loads(shoal("task", "list", "--name", "load[1]", "--json"))
    assert str(run) in [each["run_id"] for each in listed]
    assert json.loads(shoal("runs", "--json", "--limit", "1"))


async def test_elements_that_were_killed_have_not_failed(engine: Engine) -> None:
    run = await engine.begin(engine.define(mapped({"over": [1, 2]}, **BY_HAND)))
    await engine.claim(run, "load[0]")
    engine.report(run, "load[0]", "SUCCESS")
    await engine.task_becomes(run, "load[0]", "SUCCESS")
    engine.cluster.shoal("stop", str(run))
    assert await engine.end(run) == "STOP"
    page = json.loads(engine.cluster.shoal("show", str(run), "--json"))
    assert [page["tasks"][0]["elements"][each] for each in ("done", "failed", "killed")] == [1, 0, 1]
    assert "1 of 2 elements, 1 killed" in engine.cluster.shoal("show", str(run))


async def test_why_explains_a_task_by_its_elements_and_each_by_itself(engine: Engine) -> None:
    run = await engine.begin(engine.define(mapped({"over": [1, 2, 3], "parallel": 2}, **BY_HAND)))
    await engine.claim(run, "load[0]")
    shoal = engine.cluster.shoal
    said = shoal("why", f"{run}/load")
    assert "load ends when its 3 elements have: 0 are done, 1 run, 1 wait for a worker or a time." in said
    assert f"shoal show {run} --elements load" in said
    waits = shoal("why", f"{run}/load[1]")
    assert "load[1]" in waits and "by-hand" in waits
    engine.report(run, "load[0]", "FAILURE")
    await engine.task_becomes(run, "load[2]", "QUEUED")
    assert f"Why the first waits: shoal why '{run}/load[1]'" in shoal("why", str(run))
    for element in ("load[1]", "load[2]"):
        await engine.claim(run, element)
        engine.report(run, element, "SUCCESS")
    assert await engine.end(run) == "FAILURE"
    ended = shoal("why", str(run))
    assert "1 of 3 elements failed, the first is load[0]" in ended and f"shoal log '{run}/load[0]'" in ended


async def test_the_log_of_an_element_is_found_by_its_name(engine: Engine) -> None:
    script = {"script": "echo file ${each}"}
    run = await engine.run(engine.define(mapped(["a", "b"], type="SHELL", params=script)))
    assert "file b" in engine.cluster.shoal("log", f"{run}/load[1]")


async def test_an_element_that_is_declared_a_success_is_not_run_again(engine: Engine) -> None:
    run = await a_run_of_which_one_element_failed(engine)
    engine.cluster.shoal("task", "mark", f"{run}/load[1]", "--success")
    engine.cluster.shoal("rerun", str(run), "--failed")
    await eventually(lambda: engine.state(run), until="SUCCESS", within_s=WITHIN_S)
    assert engine.printed(run, "use") == {"all": "[0, null, 2]"}
    assert engine.attempts(run, "load[1]") == [("FORCED_SUCCESS", "YES")]
