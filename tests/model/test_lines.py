"""`model/runs/serial_lines.py`, and the fields `serial_key` and `max_active`: what they may be, how a fault is said."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.runs.serial_lines import KEY_LENGTH_MAX, Line, called_by, giving_way, value_of_key
from service.workflows.workflow_file import parse_workflows
from tests.every import every
from worker.tasks.catalog import TaskCatalog

AT, ZONE = datetime(2026, 5, 1, 22, 30, tzinfo=UTC), ZoneInfo("Europe/Berlin")
TASKS = [{"name": "a", "type": "FAKE"}]


def value(written: str, **known: str) -> str:
    return value_of_key(written, known, AT, ZONE)


@every(
    ("written", "key"),
    [
        ("${k}", "17"),
        ("a${k}/${k}", "a17/17"),
        ("fixed", "fixed"),
        ("$[yyyy-MM-dd]", "2026-05-02"),
        ("${spaced}", " x "),
        ("x" * KEY_LENGTH_MAX, "x" * KEY_LENGTH_MAX),
        ("${chinese}", "机位"),
        ("$${no}-${k}", "${no}-17"),
        ("$${k}", "${k}"),
        ("${literal}", "${k}"),
    ],
)
def test_a_key_is_made_of_the_values_of_its_names(written: str, key: str) -> None:
    assert value(written, k="17", spaced=" x ", chinese="机位", literal="${k}") == key


@every(
    ("written", "says"),
    [
        ("${other}", "needs a value of other; give it at the start, or a default in params"),
        ("${k}${other}", "needs a value of other"),
        ("${unresolved}", "needs a value of order"),
        ("${empty}", "is empty for this run"),
        ("  ${empty} ", "is empty for this run"),
        ("x" * (KEY_LENGTH_MAX + 1), "must be at most 200 printable characters"),
        ("a\nb", "must be at most 200 printable characters"),
    ],
)
def test_what_is_no_key_is_refused(written: str, says: str) -> None:
    with pytest.raises(Refused, match=f"(?s){says}"):
        value(written, k="17", empty="", unresolved="${order}")


def test_a_call_names_a_line_or_means_all() -> None:
    assert [called_by(params) for params in (None, "{}", '{"serial_key": "k"}', '{"serial_key" : ""}')] == [
        *((None, ""), (None, ""), ("k", ""), ("", ""))
    ]
    assert called_by('{"serial_from" : "k"}') == (None, "k"), "all lines from that one on"
    with pytest.raises(Refused, match="params is not valid JSON"):
        called_by("nonsense")


def test_lines_sort_by_workflow_and_key() -> None:
    lines = [Line(2, "a"), Line(1, "b"), Line(1)]  # type: ignore[arg-type]
    assert sorted(lines) == [(1, ""), (1, "b"), (2, "a")]


@every("type_", ["SERIAL_WAIT", "SERIAL_DISCARD", "SERIAL_PRIORITY"])
def test_each_serial_workflow_may_have_a_key(type_: str) -> None:
    spec = WorkflowSpec.parse({"execution_type": type_, "serial_key": "${k}", "tasks": TASKS})
    assert spec.serial_key == "${k}"


@every(
    ("fields", "says"),
    [
        ({"execution_type": "PARALLEL"}, "serial_key makes lines of runs, and PARALLEL runs wait for none; write"),
        ({}, "write execution_type: SERIAL_WAIT beside it, or remove it"),
        ({"serial_key": ""}, 'field "serial_key": string should have at least 1 character'),
        ({"serial_key": " "}, 'field "serial_key": must not be blank'),
        ({"serial_key": "a\nb"}, "must be at most 200 printable characters, since it has no parameter"),
        ({"serial_key": "x" * 201}, "must be at most 200 printable characters, since it has no parameter"),
        ({"serial_key": "${system.workflow.instance.id}"}, "which is known only when the run has begun"),
        ({"serial_key": 17}, 'field "serial_key": must be a text; write it in quotes'),
        ({"secrets": ["k"], "execution_type": "SERIAL_WAIT"}, "a key is stored in clear"),
    ],
)
def test_a_key_that_cannot_be_is_said_at_its_field(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidWorkflow, match=says) as raised:
        WorkflowSpec.parse({"serial_key": "${k}", "tasks": TASKS, **fields})
    assert raised.value.problems[0].where == ("serial_key",)


def test_a_file_says_in_which_line_it_is_wrong() -> None:
    text = b"name: x\nserial_key: ${k}\ntasks:\n  - {name: a, type: FAKE}\n"
    with pytest.raises(Refused, match=r"flow\.yaml:2: serial_key makes lines of runs"):
        parse_workflows(text, "flow.yaml", TaskCatalog())


@every(
    ("fields", "type_", "count"),
    [
        ({}, "PARALLEL", 1),
        ({"max_active": 3}, "SERIAL_WAIT", 3),
        ({"max_active": 1}, "SERIAL_WAIT", 1),
        ({"max_active": 1, "execution_type": "PARALLEL"}, "PARALLEL", 1),
        ({"max_active": 1000, "execution_type": "SERIAL_DISCARD"}, "SERIAL_DISCARD", 1000),
        ({"max_active": 2, "execution_type": "SERIAL_PRIORITY"}, "SERIAL_PRIORITY", 2),
        ({"max_active": 2, "serial_key": "${k}"}, "SERIAL_WAIT", 2),
    ],
)
def test_how_many_go_on_at_once_makes_the_others_wait(fields: dict[str, Any], type_: str, count: int) -> None:
    spec = WorkflowSpec.parse({"tasks": TASKS, **fields})
    assert (spec.execution_type, spec.max_active) == (type_, count)
    stored = spec.model_dump(mode="json", exclude_defaults=True)
    assert WorkflowSpec.parse(stored) == WorkflowSpec.parse(spec.model_dump(mode="json")) == spec


@every(
    ("fields", "says"),
    [
        (
            {"max_active": 2, "execution_type": "PARALLEL"},
            "max_active makes runs wait, and PARALLEL runs wait",
        ),
        ({"max_active": 0}, 'field "max_active": input should be greater than or equal to 1'),
        ({"max_active": 1001}, 'field "max_active": input should be less than or equal to 1000'),
        ({"max_active": "3"}, 'field "max_active": input should be a valid integer'),
        ({"max_active": True}, 'field "max_active": input should be a valid integer'),
        ({"max_active_runs": 3}, 'there is no field "max_active_runs", did you mean "max_active"?'),
    ],
)
def test_a_wrong_number_is_said_at_its_field(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidWorkflow) as raised:
        WorkflowSpec.parse({"tasks": TASKS, **fields})
    assert says in raised.value.problems[0].sentence
    assert raised.value.problems[0].where[0] in fields


@every(
    ("older", "max_active", "leave"), [("abc", 1, "abc"), ("abc", 2, "ab"), ("abc", 4, ""), ("", 1, ""), ("", 9, "")]
)
def test_the_newest_stay_beside_one_that_has_priority(older: str, max_active: int, leave: str) -> None:
    assert giving_way(older, max_active) == leave
