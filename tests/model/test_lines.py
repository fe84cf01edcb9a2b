"""`model/runs/serial_lines.py` and the field `serial_key`: what a key may be, and how a wrong one is said."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.runs.serial_lines import KEY_LENGTH_MAX, Line, called_by, value_of_key
from service.workflows.workflow_file import parse_workflows
from worker.tasks.catalog import TaskCatalog

AT, ZONE = datetime(2026, 5, 1, 22, 30, tzinfo=UTC), ZoneInfo("Europe/Berlin")
TASKS = [{"name": "a", "type": "FAKE"}]


def value(written: str, **known: str) -> str:
    return value_of_key(written, known, AT, ZONE)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("type_", ["SERIAL_WAIT", "SERIAL_DISCARD", "SERIAL_PRIORITY"])
def test_each_serial_workflow_may_have_a_key(type_: str) -> None:
    spec = WorkflowSpec.parse({"execution_type": type_, "serial_key": "${k}", "tasks": TASKS})
    assert spec.serial_key == "${k}"


@pytest.mark.parametrize(
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
