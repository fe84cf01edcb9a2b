"""Scenarios of SUB_PROCESS: another workflow as a child, which ends as the task ends."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, UNTIL_STOPPED, Engine
from tests.scenarios.keyed_runs import end_by_hand

DEEP = 10
MANY = 200


def sub(child: int | str, name: str = "sub", **fields: Any) -> dict[str, Any]:
    return {"name": name, "type": "SUB_PROCESS", "params": {"workflow": child}, **fields}


async def only_child(engine: Engine, run: int) -> int:
    (child,) = await eventually(lambda: engine.children(run), within_s=10)
    return int(child)


@pytest.mark.parametrize(
    ("how", "task", "state"),
    [("SUCCESS", "SUCCESS", "SUCCESS"), ("FAILURE", "FAILURE", "FAILURE"), ("STOP", "KILL", "FAILURE")],
)
async def test_sub_process_ends_as_its_child_ends(engine: Engine, how: str, task: str, state: str) -> None:
    below = engine.define({"name": "a", **BY_HAND})
    run = await engine.begin(engine.define(sub(below), {"name": "after", "after": ["sub"]}))
    child = await only_child(engine, run)
    assert engine.tasks(run) == {"sub": "RUNNING_EXECUTION"}
    if how == "STOP":
        await engine.change("STOP", child)
    else:
        await engine.claim(child, "a")
        engine.report(child, "a", how)
    assert await engine.end(run) == state
    assert engine.state(child) == how
    assert engine.tasks(run) == {"sub": task, **({"after": "SUCCESS"} if how == "SUCCESS" else {})}


async def test_a_pause_goes_down_and_comes_back_up_and_so_does_the_recovery(engine: Engine) -> None:
    below = engine.define({"name": "a", **BY_HAND}, {"name": "b", "after": ["a"]})
    middle = engine.define(sub(below))
    run = await engine.begin(engine.define(sub(middle), {"name": "after", "after": ["sub"]}))
    child = await only_child(engine, run)
    grandchild = await only_child(engine, child)
    await engine.claim(grandchild, "a")
    await engine.change("PAUSE", run)
    await engine.becomes(grandchild, "READY_PAUSE")
    assert [engine.state(each) for each in (run, child)] == ["READY_PAUSE", "READY_PAUSE"]
    engine.report(grandchild, "a", "SUCCESS")
    assert [await engine.end(each) for each in (grandchild, child, run)] == ["PAUSE"] * 3
    assert engine.tasks(run) == {"sub": "PAUSE"}
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert [engine.state(each) for each in (child, grandchild)] == ["SUCCESS", "SUCCESS"]
    assert engine.children(run) == [child], "the same child goes on"
    assert engine.attempts(grandchild, "a") == [("SUCCESS", "YES")]
    assert engine.tasks(run) == {"sub": "SUCCESS", "after": "SUCCESS"}


async def test_a_stop_goes_down_and_comes_back_up_and_so_does_the_recovery(engine: Engine) -> None:
    script = '[ "$SHOAL_ATTEMPT" -gt 1 ] || sleep 300'
    below = engine.define({"name": "done"}, {"name": "a", "type": "SHELL", "params": {"script": script}})
    middle = engine.define(sub(below))
    run = await engine.begin(engine.define(sub(middle)))
    child = await only_child(engine, run)
    grandchild = await only_child(engine, child)
    await engine.task_becomes(grandchild, "a", "RUNNING_EXECUTION")
    await engine.task_becomes(grandchild, "done", "SUCCESS")
    await engine.change("STOP", run)
    assert [await engine.end(each) for each in (run, child, grandchild)] == ["STOP"] * 3
    assert engine.tasks(grandchild) == {"done": "SUCCESS", "a": "KILL"}
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(grandchild, "done") == [("SUCCESS", "YES")]


async def test_a_failure_comes_up_and_the_failed_tasks_of_the_child_run_again(engine: Engine) -> None:
    below = engine.define({"name": "a"}, {"name": "b", "after": ["a"], "params": {"fail_attempts": 1}})
    run = await engine.run(engine.define(sub(below), {"name": "after", "after": ["sub"]}))
    assert engine.state(run) == "FAILURE"
    assert engine.why(run, "sub") == 'the workflow it stands for failed: task "b" failed'
    (child,) = engine.children(run)
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert engine.children(run) == [child]
    assert engine.attempts(child, "a") == [("SUCCESS", "YES")]
    assert len(engine.attempts(child, "b")) == 2
    assert engine.tasks(run) == {"sub": "SUCCESS", "after": "SUCCESS"}


async def test_a_repeated_run_has_a_new_child(engine: Engine) -> None:
    run = await engine.run(engine.define(sub(engine.define({"name": "a"}))))
    await engine.change("REPEAT_RUNNING", run)
    assert await engine.end(run) == "SUCCESS"
    children = engine.children(run)
    assert len(children) == 2
    assert [engine.state(child) for child in children] == ["SUCCESS", "SUCCESS"]


async def test_a_child_that_was_paused_by_itself_is_waited_for_until_somebody_resumes_it(engine: Engine) -> None:
    below = engine.define({"name": "a", **BY_HAND})
    run = await engine.begin(engine.define(sub(below)))
    child = await only_child(engine, run)
    await engine.task_becomes(child, "a", "QUEUED")
    await engine.change("PAUSE", child)
    assert await engine.end(child) == "PAUSE"
    assert engine.state(run) == "RUNNING_EXECUTION"
    await engine.change("RECOVER_SUSPENDED_PROCESS", child)
    await engine.claim(child, "a")
    engine.report(child, "a", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"


async def test_a_failure_elsewhere_with_end_stops_the_child(engine: Engine) -> None:
    below = engine.define({"name": "a", **UNTIL_STOPPED})
    run = await engine.begin(engine.define(sub(below), {"name": "fails", **BY_HAND}, failure_strategy="END"))
    child = await only_child(engine, run)
    await engine.task_becomes(child, "a", "RUNNING_EXECUTION")
    await engine.claim(run, "fails")
    engine.report(run, "fails", "FAILURE")
    assert await engine.end(run) == "FAILURE"
    assert engine.tasks(run) == {"fails": "FAILURE", "sub": "KILL"}
    assert await engine.end(child) == "STOP"


async def test_ten_levels_deep(engine: Engine) -> None:
    code = engine.define({"name": "a", "params": {"outputs": {"y": "${x}0"}}}, outputs=["y"])
    for _ in range(DEEP):
        code = engine.define(sub(code), outputs=["y"])
    run = await engine.run(code, params={"x": "1"})
    assert engine.state(run) == "SUCCESS"
    assert json.loads(engine.cluster.one("SELECT outputs FROM workflow_instance WHERE id = %s", run)) == {"y": "10"}
    depth = 0
    while children := engine.children(run):
        (run,) = children
        depth += 1
    assert depth == DEEP
    assert engine.printed(run, "a") == {"y": "10"}


async def test_many_children_at_once_do_not_stall(engine: Engine) -> None:
    below = engine.define({"name": "a"})
    run = await engine.run(engine.define(*(sub(below, f"sub {number}") for number in range(MANY))))
    assert engine.state(run) == "SUCCESS"
    assert len(engine.children(run)) == MANY


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"workflow": "nobody"}, 'there is no workflow "nobody" in project "default"'),
        ({"workflow": "nobody", "project": "nowhere"}, 'there is no workflow "nobody" in project "nowhere"'),
        ({"workflow": 987654321}, "there is no workflow with code 987654321"),
        ({"workflow": "resting"}, 'workflow "resting" is OFFLINE; put it ONLINE before starting it'),
        ({"workflow": "resting", "version": 7}, 'workflow "resting" is OFFLINE; put it ONLINE before starting it'),
    ],
)
async def test_a_child_that_cannot_be_started_fails_the_task_with_a_sentence(
    engine: Engine, params: dict[str, Any], sentence: str
) -> None:
    engine.cluster.rows(
        """INSERT INTO workflow_definition (code, name, release_state) VALUES (999999999, 'resting', 'OFFLINE')
           ON CONFLICT DO NOTHING"""
    )
    run = await engine.run(_above(engine, params))
    assert engine.state(run) == "FAILURE"
    assert engine.tasks(run) == {"sub": "FAILURE"}
    assert engine.why(run, "sub").startswith(f"the workflow it stands for failed: {sentence}")
    engine.cluster.rows("DELETE FROM workflow_definition WHERE code = 999999999")


async def test_a_workflow_that_contains_itself_ends(engine: Engine) -> None:
    code = engine.next_code()
    engine.cluster.define(code, "contains itself", tasks=[sub(code)])
    run = await engine.run(code)
    assert engine.state(run) == "FAILURE"
    depth = 1
    while children := engine.children(run):
        (run,) = children
        depth += 1
    assert depth == 31
    assert "one of them seems to contain itself" in engine.why(run, "sub")


async def test_a_child_that_is_let_go_on_waits_for_its_turn_in_its_line(engine: Engine) -> None:
    below = engine.define({"name": "a", "type": "FAKE", **BY_HAND}, execution_type="SERIAL_WAIT")
    run = await engine.begin(engine.define(sub(below)))
    child = await only_child(engine, run)
    await engine.claim(child, "a")
    engine.report(child, "a", "FAILURE")
    assert await engine.end(run) == "FAILURE"
    other = await engine.begin(below)
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    await engine.becomes(child, "SERIAL_WAIT")
    assert engine.state(run) == "RUNNING_EXECUTION"
    await engine.change("STOP", other)
    await engine.end(other)
    await engine.claim(child, "a")
    engine.report(child, "a", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.cluster.one("SELECT run_times FROM workflow_instance WHERE id = %s", child) == 1


@pytest.mark.parametrize("halt", ["STOP", "PAUSE"])
async def test_children_of_one_line_go_on_one_after_the_other(engine: Engine, halt: str) -> None:
    """What waited when the run above was halted had not begun; what ran continues."""
    below = engine.define({"name": "a", **BY_HAND}, {"name": "b", "after": ["a"]}, execution_type="SERIAL_WAIT")
    run = await engine.begin(engine.define(*[{**sub(below), "name": f"sub{number}"} for number in range(3)]))
    await eventually(lambda: len(engine.children(run)), until=3)
    first, *others = sorted(engine.children(run))
    await engine.claim(first, "a")
    await engine.change(halt, run)
    await engine.becomes(first, f"READY_{halt}")
    engine.report(first, "a", "SUCCESS" if halt == "PAUSE" else "KILL")
    assert await engine.end(run) == halt
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    waits = """SELECT i.id FROM task_instance t JOIN workflow_instance i ON i.id = t.workflow_instance_id
               WHERE i.workflow_code = %s AND t.task_name = 'a' AND t.state = 'QUEUED'"""
    for _ in others if halt == "PAUSE" else (first, *others):
        ((child,),) = await eventually(lambda: engine.cluster.rows(waits, below))
        await engine.claim(child, "a")
        begun = [each for each in (first, *others) if engine.state(each) == "RUNNING_EXECUTION"]
        assert begun == [child], "one at a time"
        engine.report(child, "a", "SUCCESS")
        assert await engine.end(child) == "SUCCESS"
    assert await engine.end(run) == "SUCCESS"
    assert len(engine.children(run)) == 3, "none was made twice"


@pytest.mark.parametrize("how", ["by its line", "by hand", "halted again"])
async def test_what_is_below_a_child_whose_turn_comes_later_goes_on_too(engine: Engine, how: str) -> None:
    """It is not begun from the start: it has done a part of its work."""
    lowest = engine.define({"name": "a", **BY_HAND}, {"name": "b", **BY_HAND, "after": ["a"]})
    below = engine.define(sub(lowest), execution_type="SERIAL_WAIT")
    run = await engine.begin(engine.define(sub(below)))
    child = await only_child(engine, run)
    grandchild = await only_child(engine, child)
    await engine.claim(grandchild, "a")
    engine.report(grandchild, "a", "SUCCESS")
    await engine.claim(grandchild, "b")
    await engine.change("STOP", run)
    await engine.becomes(grandchild, "READY_STOP")
    engine.report(grandchild, "b", "KILL")
    assert await engine.end(run) == "STOP"
    other = await engine.begin(below)
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.becomes(child, "SERIAL_WAIT")
    match how:
        case "by its line":
            await engine.change("STOP", other)
            await engine.end(other)
        case "by hand":
            with psycopg.connect(engine.cluster.psql_url) as session:  # it ends, and nobody calls its line
                end_by_hand(session, other)
            await engine.change("RECOVER_SERIAL_WAIT", child)
        case _:
            await engine.change("PAUSE", run)
            assert await engine.end(run) == "PAUSE"
            assert engine.state(child) == "PAUSE"
            await engine.change("STOP", other)
            await engine.end(other)
            await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.claim(grandchild, "b")
    engine.report(grandchild, "b", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.children(child) == [grandchild]
    ran = "SELECT task_name FROM task_instance WHERE workflow_instance_id = %s AND state = 'SUCCESS' ORDER BY 1"
    assert engine.cluster.rows(ran, grandchild) == [("a",), ("b",)]


async def test_a_child_that_was_halted_while_it_waited_to_go_on_is_run_again_with_all_its_retries(
    engine: Engine,
) -> None:
    task = {"name": "a", "params": {"fail_attempts": 9}, "retry_times": 2, "retry_interval": 60}
    below = engine.define(task, execution_type="SERIAL_WAIT")
    run = await engine.begin(engine.define(sub(below)))
    child = await only_child(engine, run)
    await engine.task_becomes(child, "a", "DELAY_EXECUTION")
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    other = await engine.begin(below)
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.becomes(child, "SERIAL_WAIT")
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    await engine.change("STOP", other)
    await engine.end(other)
    await engine.change("REPEAT_RUNNING", child)
    retries = "SELECT retries FROM task_instance WHERE workflow_instance_id = %s AND attempt = 3"
    assert await eventually(lambda: engine.cluster.rows(retries, child)) == [(0,)]
    await engine.change("STOP", child)


async def test_a_child_does_not_go_on_while_what_is_above_it_is_being_stopped(engine: Engine) -> None:
    below = engine.define({"name": "a", **BY_HAND})
    run = await engine.begin(engine.define(sub(below), {"name": "b", **BY_HAND}))
    child = await only_child(engine, run)
    await engine.claim(run, "b")
    await engine.change("STOP", child)
    await engine.task_becomes(run, "sub", "KILL")
    await engine.change("STOP", run)
    await engine.becomes(run, "READY_STOP")
    asked = engine.ask("RECOVER_SUSPENDED_PROCESS", run=child, from_above="true")  # as if it came late
    assert await engine.done(asked) is None
    assert engine.state(child) == "STOP"
    engine.report(run, "b", "KILL")
    assert await engine.end(run) == "STOP"


async def test_a_child_that_is_asked_for_twice_is_the_one_that_was_made(engine: Engine) -> None:
    """A master that fails over requests a child again that it does not find yet; the former command may be handled
    after all."""
    below = engine.define({"name": "a", **BY_HAND})
    run = await engine.begin(engine.define(sub(below)))
    child = await only_child(engine, run)
    await engine.claim(child, "a")

    async def asked_again() -> int | None:
        parent = {"parent": f"{run}/1/1/0", "created_by": "sub-workflow"}
        return await engine.done(engine.ask("START_PROCESS", below, **parent))

    assert await asked_again() == child
    await engine.change("PAUSE", run)
    await engine.becomes(child, "READY_PAUSE")
    assert await asked_again() == child, "and nothing is told of it: the child is not paused yet"
    engine.report(child, "a", "SUCCESS")
    await engine.end(run)
    assert engine.tasks(run) == {"sub": "SUCCESS"}
    assert await asked_again() == child
    assert engine.children(run) == [child]


async def test_a_child_for_which_its_task_waits_no_more_is_not_made_and_nothing_went_wrong(engine: Engine) -> None:
    below = engine.define({"name": "a", **BY_HAND})
    run = await engine.begin(engine.define(sub(below)))
    child = await only_child(engine, run)
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    left_behind = engine.ask("START_PROCESS", below, parent=f"{run}/1/2/0", from_above=True)
    assert await engine.done(left_behind) is None
    assert engine.children(run) == [child]


async def test_a_forged_parent_makes_no_child_and_no_other_run_hears_of_it(engine: Engine) -> None:
    below = engine.define({"name": "a", **BY_HAND})
    lists = [{"name": "x", "value": "1,2"}]
    dynamic = {"workflow": below, "lists": lists, "parallelism": 1}
    run = await engine.begin(engine.define({"name": "each", "type": "DYNAMIC", "params": dynamic}))
    child = await only_child(engine, run)
    other = engine.define({"name": "b"})
    forged = {"parent": f"{run}/1/1/1", "created_by": "sub-workflow"}
    assert "only a task that stands for another workflow" in await engine.refused(
        engine.ask("START_PROCESS", other, **forged)
    )
    for fields in ({"params": "no JSON"}, {"workflow_version": 77}, {"priority": "URGENT"}):
        await engine.refused(engine.ask("START_PROCESS", other, **forged, **fields))
    await engine.refused(engine.ask("START_PROCESS", 987_654_321, **forged))
    await engine.claim(child, "a")
    engine.report(child, "a", "SUCCESS")
    (second,) = await eventually(lambda: [each for each in engine.children(run) if each != child], within_s=10)
    await engine.claim(second, "a")
    engine.report(second, "a", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"


async def test_who_created_a_command_changes_nothing_about_it(engine: Engine) -> None:
    below = engine.define({"name": "a", **BY_HAND})
    run = await engine.begin(engine.define(sub(below), {"name": "b", **BY_HAND}))
    child = await only_child(engine, run)
    await engine.claim(run, "b")
    await engine.change("STOP", child)
    await engine.task_becomes(run, "sub", "KILL")
    await engine.change("STOP", run)
    await engine.becomes(run, "READY_STOP")
    asked = engine.ask("RECOVER_SUSPENDED_PROCESS", run=child, created_by="sub-workflow")
    assert await engine.done(asked) == child, "as for anybody else, it goes on"
    engine.report(run, "b", "KILL")
    assert await engine.end(run) == "STOP"
    await engine.change("STOP", child)
    assert await engine.end(child) == "STOP"


def _above(engine: Engine, params: dict[str, Any]) -> int:
    return engine.define({"name": "sub", "type": "SUB_PROCESS", "params": params})


async def test_sub_process_is_stopped_when_another_task_fails_and_the_strategy_is_end(engine: Engine) -> None:
    child = engine.define({"name": "a", **UNTIL_STOPPED})
    run = await engine.begin(
        engine.define(
            {"name": "below", "type": "SUB_PROCESS", "params": {"workflow": child}},
            {"name": "fails", "params": {"sleep_s": 0.5, "fail": True}},
            failure_strategy="END",
        )
    )
    assert await engine.end(run) == "FAILURE"
    assert engine.tasks(run) == {"below": "KILL", "fails": "FAILURE"}
    assert [engine.state(each) for each in engine.children(run)] == ["STOP"]
