"""Defaults of a project: which tasks get them, and that a file of a saved version says the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.choices import ReleaseState
from model.definitions.defaults import TaskDefaults
from model.definitions.problems import InvalidWorkflow
from model.definitions.project_defaults import (
    as_inherited,
    changed_defaults,
    read_defaults,
    with_project_defaults,
    written_defaults,
)
from model.definitions.workflow import WorkflowSpec
from model.errors import NotFound, Refused
from service.workflows.workflow_file import parse_workflows
from service.workflows.workflow_text import WorkflowContent, yaml_of
from tests.every import every

SUB = {"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": "x"}}


def defaults(**fields: Any) -> TaskDefaults:
    return TaskDefaults.model_validate(fields)


def spec(*tasks: dict[str, Any], **fields: Any) -> WorkflowSpec:
    return WorkflowSpec.parse({"tasks": [{"name": "a", "type": "SHELL", **task} for task in tasks], **fields})


def test_a_task_goes_before_its_workflow_and_that_before_its_project() -> None:
    said = spec({}, {"name": "b", "retry_times": 0}, defaults={"retry_times": 2, "priority": "LOW"})
    found = with_project_defaults(said, defaults(retry_times=5, timeout="30m", priority="HIGH"), "p")
    assert [(task.retry_times, task.timeout, str(task.priority)) for task in found.tasks] == [
        (2, 30, "LOW"),
        (0, 30, "LOW"),
    ]


def test_tasks_that_cannot_have_a_field_go_without() -> None:
    found = with_project_defaults(
        spec(SUB, {"stream": True}), defaults(retry_times=5, timeout="1m", restart="never"), "p"
    )
    assert (found.tasks[0].retry_times, found.tasks[1].retry_times, found.tasks[1].restart) == (0, 0, "never")
    assert with_project_defaults(said := spec({}), defaults(), "p") is said


def test_defaults_that_do_not_fit_a_task_are_said_to_be_the_projects() -> None:
    said = spec({"stream": True, "restart_pause_max": "1s"})
    with pytest.raises(InvalidWorkflow, match='with the defaults of project "sales": task "a"'):
        with_project_defaults(said, defaults(restart_pause="1h"), "sales")


def test_some_are_set_others_removed_and_the_rest_stays() -> None:
    before = defaults(retry_times=5, timeout="30m", priority="HIGH")
    after = changed_defaults(before, defaults(retry_times=0), ["timeout"], "p")
    assert written_defaults(after) == {"retry_times": 0, "priority": "HIGH"}
    with pytest.raises(NotFound, match='project "p" has no default "cache"; it has priority, retry_times'):
        changed_defaults(after, defaults(), ["cache"], "p")


@every("written", ['{"retries": 3}', '{"retry_times": -1}', "[]"])
def test_what_somebody_wrote_by_hand_is_refused_with_its_project(written: str) -> None:
    with pytest.raises(Refused, match='the defaults of project "p" cannot be read'):
        read_defaults(written, "p")


KINDS: list[dict[str, Any]] = [{}, {"type": "HTTP", "params": {"url": "http://x"}}, {"stream": True}, SUB]
GIVEN: dict[str, list[Any]] = {"retry_times": [0, 3], "priority": ["MEDIUM", "LOW"], "cache": [False, True]}
FIELDS = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in GIVEN.items()})


@given(st.sampled_from(KINDS), FIELDS, FIELDS, FIELDS)
def test_the_file_of_a_saved_version_says_the_same_and_its_own_text_too(
    kind: dict[str, Any], own: dict[str, Any], of_project: dict[str, Any], later: dict[str, Any]
) -> None:
    """Whatever the project has: a file made from a version names what its defaults would change."""
    if kind.get("stream") or kind is SUB:
        own = {name: value for name, value in own.items() if name == "priority"}
    said = spec({**kind, **own})
    saved = with_project_defaults(said, defaults(**of_project), "default")
    assert as_inherited(said, saved) == saved
    content = WorkflowContent("default", "w", ReleaseState.ONLINE, saved, project_defaults=defaults(**later))
    (again,) = parse_workflows(yaml_of(content).encode(), "", None)
    assert with_project_defaults(again.spec, defaults(**later), "default").coded() == saved.coded()


def test_another_definition_is_no_inherited_one() -> None:
    saved = with_project_defaults(spec({}), defaults(retry_times=3), "p")
    assert as_inherited(spec({"retry_times": 0}), saved) != saved, "its text says another number"
    assert as_inherited(spec({"params": {"script": "x"}}), saved) != saved
    assert as_inherited(spec({"name": "b"}), saved) != saved
