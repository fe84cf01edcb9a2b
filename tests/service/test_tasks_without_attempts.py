"""Why a task of a run has no attempt (`service/explain/tasks_without_attempts.py`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from model.ids import TaskCode
from model.runs.states import NotBegun, TaskState
from service.explain.tasks_without_attempts import without_attempts
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
