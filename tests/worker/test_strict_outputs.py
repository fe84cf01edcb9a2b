"""An OUT parameter that a task gives no value of its type: its log names it, and `strict_outputs` fails the task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from model.definitions.plan import Plan
from model.definitions.workflow import WorkflowSpec
from model.ids import TaskCode, WorkflowCode
from model.parameters.outputs import OutParameters
from model.runs.states import TaskState
from tests.worker.errand import Errands, claimed
from tests.worker.test_recorded_ends import written

OUTS = {"rows": {"direct": "OUT"}, "usual": {"direct": "OUT", "value": "7"}}
GIVEN = "echo '#{setValue(rows=3)}'"
MISSING = 'it ended without a value for its OUT parameter "rows"'
STRICT = f"{MISSING}; return one, declare a default value, or set strict_outputs: false"


def recorded(outs: dict[str, Any] = OUTS, task: dict[str, Any] | None = None, **workflow: Any) -> str | None:
    """What an attempt of such a task carries."""
    content = {"tasks": [{"name": "a", "type": "SHELL", "local_params": outs, **(task or {})}], **workflow}
    return Plan.of(WorkflowCode(1), 1, WorkflowSpec.parse(content)).tasks[TaskCode(1)].parameter_types


@pytest.mark.parametrize(
    "script",
    [
        "true",
        "echo '#{setValue(other=1)}'",
        "echo 'done #{setValue(rows=3)}'",
        "printf '#{setValue(rows=3\\n4)}\\n'",
        "printf '#{setValue(rows=3'",
        "echo '#{setValue(Rows=3)}'",
    ],
)
async def test_a_task_that_leaves_an_out_parameter_without_a_value_fails(errands: Errands, script: str) -> None:
    end = await errands.shell(script, parameter_types=recorded())
    assert (end.state, end.reason, end.outputs) == (TaskState.FAILURE, STRICT, None)
    assert f"\n[shoal] {STRICT}\n" in errands.log


async def test_a_task_that_is_not_strict_succeeds_and_its_log_names_what_is_missing(errands: Errands) -> None:
    end = await errands.shell("echo '#{setValue(other=1)}'", parameter_types=recorded(strict_outputs=False))
    assert (end.state, end.outputs) == (TaskState.SUCCESS, '{"other": "1"}')
    assert f"\n[shoal] {MISSING}\n" in errands.log


@pytest.mark.parametrize("script", [GIVEN, "echo '#{setValue(rows=)}'", "printf '${setValue(rows=3)}'"])
async def test_a_value_that_was_given_is_enough_even_an_empty_one(errands: Errands, script: str) -> None:
    end = await errands.shell(script, parameter_types=recorded())
    assert (end.state, end.reason) == (TaskState.SUCCESS, "")
    assert "[shoal]" not in errands.log


async def test_every_type_of_task_is_checked_and_all_names_are_told(errands: Errands) -> None:
    outs = {name: {"direct": "OUT"} for name in ("x", "y", "z")}
    types = recorded({**outs, "n": {"type": "INTEGER", "value": 1}})
    end = await errands.run(claimed("FAKE", params={"outputs": {"y": "1"}}, parameter_types=types))
    assert end.state is TaskState.FAILURE
    assert end.reason.startswith('it ended without a value for its OUT parameters "x", "z"; ')


TYPED = {"rows": {"direct": "OUT", "type": "INTEGER"}, "on": {"direct": "OUT", "type": "DATE", "value": "2026-01-31"}}
NO_NUMBER = 'its OUT parameter "rows" is INTEGER and must be a whole number such as 42'
NO_DATE = 'its OUT parameter "on" is DATE and must be a date such as 2026-01-31'
CURE = "return such a value, declare another type, or set strict_outputs: false"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"rows": "42", "on": "2026-02-28"}, ""),
        ({"rows": "-7"}, ""),
        ({"rows": "", "on": ""}, ""),
        ({"rows": "abc"}, f"{NO_NUMBER}; {CURE}"),
        ({"rows": "1.5"}, f"{NO_NUMBER}; {CURE}"),
        ({"rows": "3", "on": "2026-02-30"}, f"{NO_DATE}; {CURE}"),
        ({"rows": "x", "on": "y"}, f"{NO_NUMBER}; {NO_DATE}; {CURE}"),
        ({"on": "y"}, STRICT),
    ],
)
async def test_a_value_must_be_of_the_type_that_its_out_parameter_declares(
    errands: Errands, given: dict[str, str], reason: str
) -> None:
    script = "\n".join(f"echo '#{{setValue({name}={value})}}'" for name, value in given.items())
    end = await errands.shell(script, parameter_types=recorded(TYPED))
    assert (end.state, end.reason) == (TaskState.FAILURE if reason else TaskState.SUCCESS, reason)


async def test_a_task_that_is_not_strict_passes_on_a_value_of_another_type(errands: Errands) -> None:
    end = await errands.shell("echo '#{setValue(rows=abc)}'", parameter_types=recorded(TYPED, strict_outputs=False))
    assert (end.state, end.outputs) == (TaskState.SUCCESS, '{"rows": "abc"}')
    assert f"\n[shoal] {NO_NUMBER}\n" in errands.log


async def test_a_script_that_failed_fails_for_its_own_reason(errands: Errands) -> None:
    end = await errands.shell("exit 3", parameter_types=recorded())
    assert (end.state, end.reason) == (TaskState.FAILURE, "exit code 3")


async def test_a_dry_run_gives_no_values_and_succeeds(errands: Errands) -> None:
    end = await errands.shell("true", parameter_types=recorded(), dry_run=True)
    assert end.state is TaskState.SUCCESS


def test_a_task_overrides_its_workflow() -> None:
    strict, logged = {"OUT rows": "strict"}, {"OUT rows": "logged"}
    for workflow, task, expected in (
        ({}, {}, strict),
        ({"strict_outputs": False}, {}, logged),
        ({"strict_outputs": False}, {"strict_outputs": True}, strict),
        ({}, {"strict_outputs": False}, logged),
    ):
        assert json.loads(recorded(task=task, **workflow) or "{}") == expected


def test_the_types_travel_with_the_attempt() -> None:
    said = json.loads(recorded(TYPED) or "{}")
    assert said == {"OUT rows": "strict INTEGER", "OUT on": "strict optional DATE"}
    assert OutParameters.recorded_in(json.dumps(said)).recorded() == said


def test_a_task_without_such_parameters_carries_nothing() -> None:
    assert recorded({"usual": {"direct": "OUT", "value": "7"}, "given": "1"}) is None


@pytest.mark.parametrize(
    ("log", "strict", "state", "reason"),
    [
        (b"#{setValue(rows=3)}\n", True, TaskState.SUCCESS, ""),
        (b"no #{setValue(rows=3)}\n", True, TaskState.FAILURE, STRICT),
        (b"no #{setValue(rows=3)}\n", False, TaskState.SUCCESS, ""),
        (b"#{setValue(rows=x)}\n", True, TaskState.FAILURE, f"{NO_NUMBER}; {CURE}"),
        (b"#{setValue(rows=x)}\n", False, TaskState.SUCCESS, ""),
    ],
)
def test_what_a_keeper_recorded_is_checked_the_same_way(
    tmp_path: Path, log: bytes, strict: bool, state: TaskState, reason: str
) -> None:
    task = claimed(params={}, parameter_types=recorded(TYPED, strict_outputs=strict))
    [end] = written(tmp_path, 0, log, task=task)
    assert (end.state, end.reason) == (state, reason)
    text = next((tmp_path / "logs").rglob("*.log")).read_text("utf-8")
    assert (MISSING in text) is log.startswith(b"no")
    assert (NO_NUMBER in text) is (b"rows=x" in log)
