"""What the definition of a waiting task may contain."""

from __future__ import annotations

from typing import Any

import pytest

from model.accounts.project_limits import Resource, used_by
from model.definitions.plan import Plan
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import TaskCode, WorkflowCode
from tests.every import every

FILE = {"for": {"file": "/a"}}


def parsed(params: dict[str, Any] | None = None, workflow: dict[str, Any] | None = None, **task: Any) -> WorkflowSpec:
    return WorkflowSpec.parse(
        {"tasks": [{"name": "a", "type": "WAIT", "params": params or FILE, **task}], **(workflow or {})}
    )


@every(
    ("task", "why"),
    [
        ({"stream": True}, "a WAIT task has no stream, since it ends when its thing is there; remove it"),
        ({"timeout": "1h"}, "since the timeout in its params is that of the whole wait"),
        ({"resources": {"gate": 1}}, "a WAIT task has no resources, since it holds nothing between two looks"),
        ({"cache": True}, "a WAIT task has no cache, since what was there once may be gone"),
        ({"teardown": True}, "a WAIT task has no teardown"),
        ({"on_exit": True}, "a WAIT task has no on_exit"),
    ],
)
def test_it_has_no_fields_that_make_no_sense(task: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused) as refused:
        parsed(**task)
    assert why in str(refused.value)


def test_defaults_of_the_workflow_leave_it_without_them() -> None:
    defaults = {"timeout": "1h", "resources": {"gate": 1}, "cache": True, "retry_times": 2}
    (task,) = parsed(workflow={"defaults": defaults}).tasks
    assert (task.timeout, task.resources, task.cache, task.retry_times) == (0, {}, False, 2)


def test_the_data_source_that_it_looks_into_counts_as_used() -> None:
    for thing in ({"sql": {"datasource": "shop", "sql": "SELECT 1"}}, {"s3": {"datasource": "shop", "key": "a"}}):
        assert (Resource.DATA_SOURCE, "shop") in used_by(parsed({"for": thing}))


def test_its_script_is_stored_with_plain_line_ends() -> None:
    (task,) = parsed({"for": {"script": "\ufefftrue\r\nfalse\r\n"}}).tasks
    assert task.params == {"for": {"script": "true\nfalse\n"}}


def test_a_value_that_its_script_would_run_is_refused_at_the_start() -> None:
    plan = Plan.of(WorkflowCode(1), 1, parsed({"for": {"script": "(( ${n} > 1 ))"}}))
    with pytest.raises(Refused, match='task "a"'):
        plan.check_given({"n": "a[$(touch b)]"}, None)
    assert plan.tasks[TaskCode(1)].waits
