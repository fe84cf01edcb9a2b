"""Defaults of a workflow's tasks: who gets them, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from model.definitions.defaults import WITHOUT_EXIT_CODES, TaskDefaults
from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.logic.catalog import LOGIC_TYPES
from tests.every import every

EVERY = {
    **{"priority": "HIGH", "on_worker_loss": "fail", "retry_times": 3, "retry_interval": "1m", "delay_time": 2},
    **{"timeout": "1h", "timeout_strategy": "WARN", "dispatch_timeout": "5m", "cache": True, "resources": {"gpu": 1}},
    "skip_exit_codes": [98, 99],
    **{"restart": "never", "restart_pause": "2s", "restart_pause_max": "1m", "healthy_after": "30s"},
}
PARAMS: dict[str, dict[str, Any]] = {
    "SUB_PROCESS": {"workflow": "x"},
    "DYNAMIC": {"workflow": "x", "lists": [{"name": "a", "value": "1,2"}]},
    "DEPENDENT": {"groups": [{"items": [{"workflow": "x", "cycle": "today"}]}]},
    "SWITCH": {"cases": [{"when": "true", "then": "end"}]},
    "CONDITIONS": {"when": {"begin": "SUCCESS"}, "on_success": "end"},
    "APPROVAL": {"text": "may it go on?"},
}


def read(task: dict[str, Any], **defaults: Any) -> TaskSpec:
    spec = WorkflowSpec.parse({"defaults": defaults, "tasks": [{"name": "a", "type": "SHELL", **task}]})
    assert spec.defaults is None
    return spec.tasks[0]


def test_a_default_is_a_field_of_a_task_with_the_same_meaning() -> None:
    assert EVERY.keys() == TaskDefaults.model_fields.keys()
    ours, theirs = (each.model_json_schema()["properties"] for each in (TaskDefaults, TaskSpec))
    for name, schema in ours.items():
        said = {key: value for key, value in theirs[name].items() if key not in ("default", "title")}
        assert schema["default"] is None
        assert schema["anyOf"] in ([said, {"type": "null"}], [*said.get("anyOf", ()), {"type": "null"}]), name


def test_a_task_without_a_value_gets_the_default_and_one_with_a_value_keeps_it() -> None:
    ends = {name: value for name, value in EVERY.items() if not name.startswith(("restart", "healthy"))}
    assert read({}, **EVERY) == read(ends)
    own = {"retry_times": 0, "timeout": 0, "cache": False, "resources": {}}
    assert read(own, **EVERY) == read({**ends, **own})
    assert WorkflowSpec.parse({"defaults": None, "tasks": [{"name": "a", "type": "SHELL"}]}).tasks[0] == read({})


def test_a_stream_gets_what_streams_have() -> None:
    its = {"stream": True, "priority": "HIGH", "on_worker_loss": "fail", "delay_time": 2, "timeout_strategy": "WARN"}
    restarts = {name: EVERY[name] for name in ("restart", "restart_pause", "restart_pause_max", "healthy_after")}
    assert read({"stream": True}, **EVERY) == read({**its, **restarts, "resources": {"gpu": 1}})


@every("type_", sorted(WITHOUT_EXIT_CODES))
def test_a_task_without_a_program_gets_no_exit_codes(type_: str) -> None:
    assert read({"type": type_}, skip_exit_codes=[99]) == read({"type": type_})


@every("type_", LOGIC_TYPES)
def test_a_task_in_the_master_gets_nothing_that_it_could_not_have(type_: str) -> None:
    tasks = [
        {"name": "begin", "type": "FAKE"},
        {"name": "logic", "type": type_, "params": PARAMS[type_], "after": ["begin"]},
        {"name": "end", "type": "FAKE", "after": ["logic"]},
    ]
    plain, given = (WorkflowSpec.parse({"tasks": tasks, **more}).tasks[1] for more in ({}, {"defaults": EVERY}))
    wanted = {"priority": "HIGH", "on_worker_loss": "fail", "retry_interval": 1.0, "timeout_strategy": "WARN"}
    assert given == TaskSpec.model_validate({**plain.model_dump(exclude_defaults=True), **wanted})


@every(
    ("defaults", "sentence"),
    [
        ({"retry_times": -1}, 'field "defaults.retry_times": input should be greater than or equal to 0'),
        ({"resources": {"gpu": 0}}, 'field "defaults.resources.gpu": input should be greater than or equal to 1'),
        ({"retries": 3}, 'there is no field "retries" in "defaults", did you mean "retry_times"?'),
        (
            {"worker_group": "big"},
            'there is no field "worker_group" in "defaults"; write it as a field of the workflow, which holds for its '
            "tasks",
        ),
        ({"name": "a"}, 'there is no field "name" in "defaults"; known are priority, on_worker_loss, '),
        ([3], 'field "defaults": must be a mapping of fields to values'),
    ],
)
def test_a_wrong_default_is_one_sentence_whatever_the_number_of_tasks(defaults: Any, sentence: str) -> None:
    tasks = [{"name": name, "type": "SHELL"} for name in "abc"]
    with pytest.raises(InvalidWorkflow) as found:
        WorkflowSpec.parse({"defaults": defaults, "tasks": tasks})
    assert len(found.value.problems) == 1
    assert str(found.value).startswith(sentence)


def test_the_field_of_others_for_defaults_is_known() -> None:
    with pytest.raises(InvalidWorkflow, match='there is no field "default_args", did you mean "defaults"'):
        WorkflowSpec.parse({"default_args": {"retry_times": 1}, "tasks": [{"name": "a", "type": "SHELL"}]})
