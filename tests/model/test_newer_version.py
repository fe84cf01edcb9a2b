"""What another version changes: the same work with the same values keeps its result."""

from __future__ import annotations

from typing import Any

from model.definitions.newer_version import changed_tasks
from model.definitions.workflow import WorkflowSpec
from tests.every import every

EXTRACT = {"name": "extract", "type": "SHELL", "params": {"script": "fetch ${source}"}}
LOAD = {"name": "load", "type": "SHELL", "params": {"script": "load ${day}"}, "after": ["extract"]}
BELOW = {"name": "below", "type": "SUB_PROCESS", "params": {"workflow": "other"}, "after": ["load"]}
PARAMS = {"source": "${base}/in", "base": "/data", "day": "$[yyyyMMdd]", "unused": "1"}


def version(tasks: list[dict[str, Any]] | None = None, **fields: Any) -> WorkflowSpec:
    return WorkflowSpec.parse({"params": PARAMS, **fields, "tasks": tasks or [EXTRACT, LOAD, BELOW]}).coded()


@every(
    ("new", "changed"),
    [
        (version(), []),
        (version(description="other words"), []),
        (version([{**EXTRACT, "group": "in", "description": "fetches"}, LOAD, BELOW]), []),
        (version([BELOW, LOAD, EXTRACT]), []),
        (version([EXTRACT, {**LOAD, "params": {"script": "load --all ${day}"}}, BELOW]), ["load"]),
        (version([EXTRACT, LOAD, {**BELOW, "after": ["load", "extract"]}]), ["below"]),
        (version([EXTRACT, LOAD, BELOW, {"name": "report", "type": "FAKE"}]), ["report"]),
        (version([EXTRACT, LOAD]), ["below"]),
        (version(params={**PARAMS, "unused": "2"}), ["below"]),
        (version(params={**PARAMS, "day": "$[yyyyMMdd-1]"}), ["load", "below"]),
        (version(params={**PARAMS, "base": "/other"}), ["extract", "below"]),
        (version(environment="production"), ["extract", "load", "below"]),
        (version([{**EXTRACT, "environment": "test"}, LOAD, BELOW]), ["extract"]),
    ],
)
def test_a_task_is_changed_if_its_work_or_a_value_that_it_uses_is(new: WorkflowSpec, changed: list[str]) -> None:
    assert changed_tasks(version(), new) == changed


def test_what_a_task_took_from_its_workflow_and_now_says_itself_changes_nothing() -> None:
    assert (
        changed_tasks(version([EXTRACT], environment="e"), version([{**EXTRACT, "environment": "e"}], environment="e"))
        == []
    )
