"""Why a task of a run has no attempt (`service/explain/tasks_without_attempts.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from model.choices import StartWhen
from model.ids import TaskCode
from model.runs.states import NotBegun, TaskState
from service.explain.tasks_without_attempts import without_attempts
from tests.every import every
from tests.master.random_plans import plan_of

CASES = [{"when": "true", "then": ["no"]}]
PLAN = plan_of(
    {"name": "ask", "type": "SWITCH", "params": {"cases": CASES, "default": ["yes"]}},
    {"name": "yes", "after": ["ask"]},
    {"name": "no", "after": ["ask"]},
    {"name": "beside"},
)
ASK, YES, NO, BESIDE = map(TaskCode, range(1, 5))


def attempt(code: TaskCode, state: TaskState, branch: frozenset[TaskCode] | None = None) -> Any:
    return SimpleNamespace(code=code, valid=True, state=state, branch=branch)


def test_what_was_not_chosen_is_skipped_also_while_the_run_is_limited_to_another_task() -> None:
    """A rerun of one task chooses nothing again."""
    attempts = [attempt(ASK, TaskState.SUCCESS, frozenset([YES])), attempt(YES, TaskState.FAILURE)]
    for scope, beside in ((None, NotBegun.NOT_BEGUN), ({YES}, NotBegun.LEFT_OUT)):
        found = without_attempts(PLAN, scope, attempts, ended=True)
        assert {name: each.state for name, each in found.items()} == {"no": NotBegun.SKIPPED, "beside": beside}


@every(
    ("rule", "ends", "expected"),
    [
        ("one_failed", {"a": TaskState.SUCCESS}, (NotBegun.WAITING, ("b",), False, None)),
        (
            "one_failed",
            {"a": TaskState.SUCCESS, "b": TaskState.SUCCESS},
            (NotBegun.SKIPPED, (), False, "it starts only if a task before it fails (start_when: one_failed)"),
        ),
        (
            "all_failed",
            {"a": TaskState.SUCCESS},
            (NotBegun.SKIPPED, (), False, "it starts only if all tasks before it fail (start_when: all_failed)"),
        ),
        ("all_done", {"a": TaskState.KILL}, (NotBegun.WAITING, ("b",), False, None)),
        ("one_success", {"a": TaskState.FAILURE}, (NotBegun.WAITING, ("b",), False, None)),
        (
            "one_success",
            {"a": TaskState.FAILURE, "b": TaskState.NEED_FAULT_TOLERANCE},
            (NotBegun.WAITING, ("b",), False, None),
        ),
        (
            "one_success",
            {"a": TaskState.FAILURE, "b": TaskState.FAILURE},
            (NotBegun.WAITING, ("a", "b"), True, None),
        ),
        ("none_failed", {"a": TaskState.FAILURE}, (NotBegun.WAITING, ("a",), True, None)),
        ("always", {}, (NotBegun.WAITING, (), False, None)),
    ],
)
def test_what_a_task_with_a_start_rule_waits_for(
    rule: str, ends: Mapping[str, TaskState], expected: tuple[object, ...]
) -> None:
    plan = plan_of({"name": "a"}, {"name": "b"}, {"name": "t", "after": ["a", "b"], "start_when": rule})
    found = without_attempts(plan, None, [attempt(plan.codes[name], ends[name]) for name in ends], ended=False)["t"]
    assert (found.state, found.missing, found.never, found.unmet) == expected
    assert found.rule is StartWhen(rule)


def test_what_is_skipped_behind_a_task_with_a_start_rule_says_so() -> None:
    plan = plan_of(
        {"name": "a"}, {"name": "undo", "after": ["a"], "start_when": "one_failed"}, {"name": "t", "after": ["undo"]}
    )
    found = without_attempts(plan, None, [attempt(plan.codes["a"], TaskState.SUCCESS)], ended=True)["t"]
    assert (found.state, found.unmet) == (
        NotBegun.SKIPPED,
        "undo starts only if a task before it fails (start_when: one_failed)",
    )


def test_a_task_that_was_held_back_and_is_not_needed_now_has_its_attempt() -> None:
    """It is skipped like any other, and so is what comes after it."""
    plan = plan_of(
        {"name": "a"}, {"name": "undo", "after": ["a"], "start_when": "one_failed"}, {"name": "t", "after": ["undo"]}
    )
    attempts = [attempt(plan.codes["a"], TaskState.FORCED_SUCCESS), attempt(plan.codes["undo"], TaskState.PAUSE)]
    assert {name: each.state for name, each in without_attempts(plan, None, attempts, ended=True).items()} == {
        "t": NotBegun.SKIPPED
    }


def test_what_cleans_up_waits_for_the_others_and_then_for_its_turn() -> None:
    bound = {"timeout": 1}
    plan = plan_of(
        {"name": "a"},
        {"name": "b", "after": ["a"]},
        {"name": "stop", "teardown": True, **bound},
        {"name": "undo", "teardown": True, "after": ["b"], **bound},
        {"name": "tell", "on_exit": True, **bound},
    )
    attempts = [attempt(plan.codes["a"], TaskState.FAILURE)]
    for cleans_up, ended, undo, stop, tell in (
        (False, False, NotBegun.WAITING, (NotBegun.WAITING, ()), (NotBegun.WAITING, ())),
        (True, False, NotBegun.SKIPPED, (NotBegun.WAITING, ()), (NotBegun.WAITING, ("stop",))),
        (False, True, NotBegun.SKIPPED, (NotBegun.NOT_BEGUN, ()), (NotBegun.NOT_BEGUN, ())),
    ):
        found = without_attempts(plan, None, attempts, ended=ended, cleans_up=cleans_up)
        assert found["undo"].state is undo
        assert found["undo"].closes
        assert (found["stop"].state, found["stop"].missing) == stop
        assert (found["tell"].state, found["tell"].missing) == tell
    for end in (TaskState.FAILURE, TaskState.SKIPPED):
        over = [*attempts, attempt(plan.codes["stop"], end)]
        assert without_attempts(plan, None, over, ended=False, cleans_up=True)["tell"].missing == (), end
