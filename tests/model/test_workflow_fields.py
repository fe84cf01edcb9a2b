"""Each field of a definition with whatever a person may write there: taken and kept, or refused with its name."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

from model.choices import Flag
from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import TaskSpec, WorkflowSpec
from tests.every import every
from tests.model.test_workflow import TASK, a_task, fault, nested

NUL = "must not contain a NUL or an unpaired surrogate"


@every(("field", "value"), [("description", "a\x00"), ("outputs", ["a", "\x00"])])
def test_a_text_that_no_database_takes_is_refused_before_it_is_saved(field: str, value: Any) -> None:
    assert fault({"tasks": [TASK], field: value}) == f'field "{field}": {NUL}'
    assert fault({"tasks": [a_task(type="a\x00")]}) == f'task "a": field "type": {NUL}'


def assert_can_be_saved(spec: WorkflowSpec) -> None:
    """A database takes neither a NUL nor an unpaired surrogate, and what it gives back is the same."""
    text = spec.model_dump_json()
    assert "\\u0000" not in text
    assert WorkflowSpec.parse(json.loads(text)) == spec


WRONG: list[Any] = [None, True, 5, 1.5, "", "x" * 1_000_001, [], [1], {}, {"a": 1}, "a\x00b", "\ud800", nested(60)]


@every("value", WRONG)
@every("field", TaskSpec.model_fields)
def test_a_field_of_a_task_takes_a_value_or_names_itself_and_its_task(field: str, value: Any) -> None:
    task = a_task(**{field: value})
    try:
        spec = WorkflowSpec.parse({"tasks": [task, a_task(name="other")]})
    except InvalidWorkflow as error:
        sentence = str(error)
        assert sentence.startswith("task ")
        assert field in sentence or (field == "tasks" and sentence.startswith("task 1: "))
        assert len(sentence) < 2_000
        sentence.encode()
    else:
        assert_can_be_saved(spec)


@every("value", WRONG)
@every("field", WorkflowSpec.model_fields)
def test_a_field_of_the_workflow_takes_a_value_or_names_itself(field: str, value: Any) -> None:
    try:
        spec = WorkflowSpec.parse({"tasks": [TASK], field: value})
    except InvalidWorkflow as error:
        sentence = str(error)
        assert field in sentence or (field == "tasks" and sentence.startswith("task 1: "))
        assert len(sentence) < 2_000
        sentence.encode()
    else:
        assert_can_be_saved(spec)


@every(("written", "flag"), [("NO", Flag.NO), (False, Flag.NO), (True, Flag.YES), ("YES", Flag.YES)])
def test_a_forbidden_task_is_written_as_yaml_reads_it(written: Any, flag: Flag) -> None:
    """YAML 1.1 takes a bare NO for false."""
    assert WorkflowSpec.parse({"tasks": [a_task(flag=written)]}).tasks[0].flag is flag


@every(
    ("type_", "params"),
    [
        ("SUB_PROCESS", {"workflow": "b"}),
        ("DYNAMIC", {"workflow": "b", "lists": {"day": [1]}}),
        ("SWITCH", {"default": "b"}),
        ("CONDITIONS", {}),
        ("DEPENDENT", {"groups": [{"items": [{"workflow": "b", "cycle": "today"}]}]}),
    ],
)
@every("field", [{"retry_times": 1}, {"delay_time": 1}, {"cache": True}, {"tenant": "etl"}, {"timeout": 1}])
def test_a_task_that_runs_in_the_master_has_nothing_that_is_a_workers(
    type_: str, params: dict[str, Any], field: dict[str, Any]
) -> None:
    [name] = field
    content = {"tasks": [TASK | {"type": type_, "params": params} | field]}
    sentence = f'task "a": a {type_} task runs in the master and has no {name}; remove it'
    if (type_, name) == ("DEPENDENT", "timeout"):
        assert WorkflowSpec.parse(content).tasks[0].timeout == 1
    else:
        assert fault(content).split("; task ")[0] == sentence


def test_what_is_wrong_with_the_parameters_of_a_logic_task_is_said_with_its_name() -> None:
    assert fault({"tasks": [a_task(type="SUB_PROCESS")]}) == 'task "a": the field "workflow" is missing; add it'


def test_10000_tasks_are_read_quickly() -> None:
    """100 layers of 100, each task after ten of the layer before; and their graph."""
    tasks = [
        a_task(
            name=f"t{layer}-{place}",
            after=[f"t{layer - 1}-{(place + step) % 100}" for step in range(10)] if layer else [],
            local_params={"day": "$[yyyy-MM-dd]"},
        )
        for layer in range(100)
        for place in range(100)
    ]
    began = process_time()
    graph = WorkflowSpec.parse({"tasks": tasks}).coded().graph()
    assert process_time() - began < 5
    assert max(graph.depth.values()) == 99
