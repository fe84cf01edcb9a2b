"""Scenarios of DYNAMIC: a child for each tuple of lists."""

from __future__ import annotations

import json
from typing import Any

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, Engine

MANY = 200


def dynamic(child: int, **params: Any) -> dict[str, Any]:
    return {"name": "each", "type": "DYNAMIC", "params": {"workflow": child, **params}}


def _joiner(engine: Engine) -> int:
    """A workflow that gives what it was started with."""
    return engine.define({"name": "a", "params": {"outputs": {"both": "${x}${y}"}}}, outputs=["both"])


async def test_dynamic_starts_a_child_for_each_tuple_and_collects_their_outputs(engine: Engine) -> None:
    lists = [{"name": "x", "value": "a,b"}, {"name": "y", "value": "${numbers}"}]
    code = engine.define(
        {"name": "before", "params": {"outputs": {"numbers": '["1", "2", "3"]'}}},
        {**dynamic(_joiner(engine), lists=lists, parallelism=4), "after": ["before"]},
        {"name": "after", "after": ["each"]},
    )
    run = await engine.run(code)
    assert engine.state(run) == "SUCCESS"
    wanted = [{"both": x + y} for x in "ab" for y in "123"]
    assert json.loads(engine.values(run, "after")["dynamic.out"]) == wanted


async def test_dynamic_leaves_out_what_the_filter_names_and_what_is_beyond_the_maximum(engine: Engine) -> None:
    lists = [{"name": "x", "value": "a|b|c", "separator": "|"}, {"name": "y", "value": "1,2,3"}]
    each = dynamic(_joiner(engine), lists=lists, filter="b,2", max_instances=3, parallelism=10)
    run = await engine.run(engine.define(each, {"name": "after", "after": ["each"]}))
    assert json.loads(engine.values(run, "after")["dynamic.out"]) == [{"both": "a1"}, {"both": "a3"}, {"both": "c1"}]
    assert len(engine.children(run)) == 3


async def test_dynamic_runs_as_many_side_by_side_as_it_says(engine: Engine) -> None:
    below = engine.define({"name": "a", **BY_HAND})
    lists = [{"name": "x", "value": "1,2,3,4,5"}]
    run = await engine.begin(engine.define(dynamic(below, lists=lists, parallelism=2)))
    for number in range(5):
        children = await _children_become(engine, run, min(5, number + 2))
        await engine.claim(children[number], "a")
        assert len(engine.children(run)) == min(5, number + 2)
        engine.report(children[number], "a", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"


async def test_two_dynamic_tasks_do_not_hide_each_others_results(engine: Engine) -> None:
    below = _joiner(engine)
    one = {**dynamic(below, lists=[{"name": "x", "value": "1"}, {"name": "y", "value": "a"}]), "name": "each-city"}
    two = {**dynamic(below, lists=[{"name": "x", "value": "2"}, {"name": "y", "value": "b"}]), "name": "each year"}
    run = await engine.run(engine.define(one, two, {"name": "join", "after": ["each-city", "each year"]}))
    values = engine.values(run, "join")
    assert json.loads(values["dynamic.out.each_city"]) == [{"both": "1a"}]
    assert json.loads(values["dynamic.out.each_year"]) == [{"both": "2b"}]


async def test_dynamic_without_any_tuple_succeeds(engine: Engine) -> None:
    run = await engine.run(
        engine.define(dynamic(_joiner(engine), lists=[{"name": "x", "value": "${x}"}]), params={"x": ""})
    )
    assert engine.state(run) == "SUCCESS"
    assert engine.printed(run, "each") == {"dynamic.out": "[]", "dynamic.out.each": "[]"}


async def test_dynamic_fails_when_one_child_does_and_goes_on_with_that_one(engine: Engine) -> None:
    below = engine.define({"name": "a", **BY_HAND})
    lists = [{"name": "x", "value": "1,2,3,4"}]
    run = await engine.begin(engine.define(dynamic(below, lists=lists, parallelism=2)))
    first, second = await _children_become(engine, run, 2)
    for child in (first, second):
        await engine.claim(child, "a")
    engine.report(first, "a", "FAILURE")
    assert await engine.end(first) == "FAILURE"
    engine.report(second, "a", "SUCCESS")
    assert await engine.end(run) == "FAILURE"
    assert engine.children(run) == [first, second], "none begins after a failure"
    assert engine.why(run, "each") == '1 of 4 children failed: task "a" failed'
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    for place in (0, 2, 3):
        children = await _children_become_more(engine, run, place)
        await engine.claim(children[place], "a")
        engine.report(children[place], "a", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert len(engine.children(run)) == 4
    assert engine.attempts(second, "a") == [("SUCCESS", "YES")]


async def test_dynamic_is_paused_and_resumed_in_the_middle(engine: Engine) -> None:
    below = engine.define({"name": "a", **BY_HAND}, {"name": "b", "after": ["a"]})
    lists = [{"name": "x", "value": "1,2,3"}]
    run = await engine.begin(engine.define(dynamic(below, lists=lists)))
    (first,) = await _children_become(engine, run, 1)
    await engine.claim(first, "a")
    engine.report(first, "a", "SUCCESS")
    second = (await _children_become(engine, run, 2))[1]
    await engine.claim(second, "a")
    await engine.change("PAUSE", run)
    await engine.becomes(second, "READY_PAUSE")
    engine.report(second, "a", "SUCCESS")
    assert await engine.end(run) == "PAUSE"
    assert [engine.state(child) for child in engine.children(run)] == ["SUCCESS", "PAUSE"]
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    third = (await _children_become(engine, run, 3))[2]
    await engine.claim(third, "a")
    engine.report(third, "a", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(first, "a") == [("SUCCESS", "YES")]
    assert engine.attempts(second, "a") == [("SUCCESS", "YES")]


async def test_dynamic_with_many_children_does_not_stall(engine: Engine) -> None:
    numbers = json.dumps([str(number) for number in range(MANY)])
    each = dynamic(engine.define({"name": "a"}), lists=[{"name": "x", "value": numbers}], parallelism=MANY)
    run = await engine.run(engine.define(each))
    assert engine.state(run) == "SUCCESS"
    assert len(engine.children(run)) == MANY


async def _children_become(engine: Engine, run: int, count: int) -> list[int]:
    await eventually(lambda: len(engine.children(run)), until=count, within_s=10)
    return engine.children(run)


async def _children_become_more(engine: Engine, run: int, count: int) -> list[int]:
    await eventually(lambda: len(engine.children(run)) > count, within_s=10)
    return engine.children(run)
