"""Which tasks clean up, in which order, and what a run comes to (`model/runs/closing.py`); what may be one at all."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from model.definitions.plan import Plan
from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import WorkflowSpec
from model.ids import TaskCode
from model.runs.closing import Closing, closing_tasks
from model.runs.states import TaskState as T
from model.runs.states import WorkflowState as W
from tests.every import every
from tests.master.random_plans import plan_of

WORK = {"name": "work"}


def clean(name: str, *after: str, on_exit: bool = False, **fields: Any) -> dict[str, Any]:
    return {"name": name, "after": list(after), "on_exit" if on_exit else "teardown": True, **fields}


def names(plan: Plan, codes: Collection[TaskCode]) -> list[str]:
    return [plan.tasks[code].name for code in codes]


def own(plan: Plan, scope: Collection[str] | None = None, begun: Collection[str] = ()) -> list[str]:
    codes = None if scope is None else {plan.codes[name] for name in scope}
    found = closing_tasks(plan, codes, {plan.codes[name] for name in begun}.__contains__)
    return sorted(names(plan, found))


def closing(plan: Plan, *runs: str, state: W = W.SUCCESS, reason: str = "") -> Closing:
    return Closing(plan, frozenset(plan.codes[name] for name in runs), state, reason)


CLUSTER = plan_of(
    {"name": "start"},
    {"name": "load", "after": ["start"]},
    {"name": "off", "flag": "NO"},
    clean("stop", "start"),
    clean("delete", "load", "start"),
    clean("after off", "off"),
    clean("disabled", flag="NO"),
    clean("tell", on_exit=True),
)


@every(
    ("scope", "begun", "found"),
    [
        (None, (), ["after off", "tell"]),
        (None, ("start",), ["after off", "delete", "stop", "tell"]),
        (None, ("load",), ["after off", "delete", "tell"]),
        (("load",), ("load",), []),
        (("load", "delete"), ("start",), []),
        (("load", "delete"), ("load",), ["delete"]),
        (("stop",), (), ["stop"]),
        (("start", "stop"), (), []),
    ],
)
def test_what_cleans_up_after_which_tasks_have_begun(
    scope: Collection[str] | None, begun: Collection[str], found: list[str]
) -> None:
    assert own(CLUSTER, scope, begun) == found


def test_teardown_tasks_run_in_their_order_and_on_exit_tasks_when_all_are_over() -> None:
    plan = plan_of(
        WORK,
        clean("tell", "b", on_exit=True),
        clean("a"),
        clean("b", "a"),
        clean("c"),
        clean("archive", "tell", on_exit=True),
    )
    order = closing(plan, "a", "b", "c", "tell", "archive")
    code = plan.codes
    assert names(plan, order.begin()) == ["a", "c"]
    assert names(plan, order.over(code["a"])) == ["b"]
    assert order.over(code["b"]) == []
    assert names(plan, order.over(code["c"])) == ["tell"]
    assert names(plan, order.over(code["tell"])) == ["archive"]
    assert order.over(code["archive"]) == []


def test_what_does_not_run_is_passed_over_and_keeps_the_order() -> None:
    plan = plan_of(WORK, clean("a"), clean("b", "a"), clean("c", "b"), clean("tell", on_exit=True))
    order = closing(plan, "a", "c", "tell")
    assert names(plan, order.begin()) == ["a"]
    assert names(plan, order.over(plan.codes["a"])) == ["c"]
    assert names(plan, order.over(plan.codes["c"])) == ["tell"]
    assert names(plan, closing(plan, "tell").begin()) == ["tell"]
    assert names(plan, closing(plan, "c").begin()) == ["c"]


@every(
    ("state", "failed", "is_complete", "verdict"),
    [
        (W.RUNNING_EXECUTION, {}, True, (W.FAILURE, "it broke")),
        (W.RUNNING_EXECUTION, {"a": T.FAILURE}, True, (W.FAILURE, 'it broke; cleaning up failed: task "a"')),
        (
            W.RUNNING_EXECUTION,
            {"a": T.FAILURE, "b": T.KILL},
            True,
            (W.FAILURE, 'it broke; cleaning up failed: task "a" and 1 more'),
        ),
        (W.READY_PAUSE, {}, True, (W.FAILURE, "it broke")),
        (W.READY_PAUSE, {}, False, (W.PAUSE, "it was paused while it cleaned up")),
        (W.READY_STOP, {}, True, (W.FAILURE, "it broke")),
        (W.READY_STOP, {}, False, (W.STOP, "it broke; it was stopped while it cleaned up")),
        (W.READY_STOP, {"a": T.KILL}, True, (W.STOP, "it broke; it was stopped while it cleaned up")),
    ],
)
def test_a_run_comes_to_what_the_others_came_to_unless_it_is_halted(
    state: W, failed: dict[str, T], is_complete: bool, verdict: tuple[W, str]
) -> None:
    plan = plan_of(WORK, clean("a"), clean("b"))
    order = closing(plan, "a", "b", state=W.FAILURE, reason="it broke")
    order.failed |= {plan.codes[name]: end for name, end in failed.items()}
    assert order.verdict(state, is_complete=is_complete) == verdict


SHELL = {"type": "SHELL", "params": {"script": "true"}}


@every(
    ("fields", "sentence"),
    [
        ({"stream": True}, "a stream runs until it is stopped, so it cannot clean up; remove teardown"),
        ({"on_exit": True}, "on_exit tasks run after those with teardown; keep one of the two"),
        ({"cache": True}, "a task with teardown is to run each time; remove cache"),
        (
            {"start_when": "all_done", "after": ["work"]},
            "a task with teardown runs however the others ended; remove start_when: all_done",
        ),
        (
            {"type": "SUB_PROCESS", "params": {"workflow": 1}},
            "a SUB_PROCESS task runs in the master, so it cannot clean up; remove teardown",
        ),
        ({"after": ["tell"]}, 'it waits for "tell", which runs when all tasks with teardown are over'),
    ],
)
def test_what_cannot_clean_up_is_refused_in_one_sentence(fields: dict[str, Any], sentence: str) -> None:
    bad = {**SHELL, **clean("bad"), **fields}
    tasks = [{"name": "work", **SHELL}, bad, {**SHELL, **clean("tell", on_exit=True)}]
    with pytest.raises(InvalidWorkflow) as refused:
        WorkflowSpec.parse({"tasks": tasks})
    [problem] = refused.value.problems
    assert problem.sentence.startswith('task "bad": ')
    assert sentence in problem.sentence
    assert problem.where == ("tasks", 1)


def test_no_other_task_waits_for_one_that_cleans_up() -> None:
    tasks = [{"name": "a", **SHELL}, {**SHELL, **clean("b", "a")}, {"name": "c", **SHELL, "after": ["b"]}]
    with pytest.raises(InvalidWorkflow, match='task "c": it waits for "b", which runs when all tasks without teardown'):
        WorkflowSpec.parse({"tasks": tasks})
    with pytest.raises(InvalidWorkflow, match="a workflow needs a task without teardown and on_exit"):
        WorkflowSpec.parse({"tasks": [{**SHELL, **clean("b")}]})


def test_defaults_of_the_workflow_give_a_timeout_and_exit_codes_and_no_cache() -> None:
    defaults = {"timeout": 5, "cache": True, "skip_exit_codes": [99]}
    closing = {"name": "b", **SHELL, "teardown": True}
    tasks = [{"name": "a", **SHELL}, closing, closing | {"name": "c", "type": "FAKE", "params": {}}]
    read = WorkflowSpec.parse({"tasks": tasks, "defaults": defaults}).tasks
    assert [(task.timeout, task.cache) for task in read] == [(5, True), (5, False), (5, False)]
    assert [task.skip_exit_codes for task in read] == [(99,), (99,), ()]
