"""Parameters of one task: however they are written the same, and each value of the type that it says."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.choices import Direct, ParameterType
from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.parameters.local import LocalParam, misfit, typed
from tests.every import every

P = ParameterType


def read(local_params: Any) -> tuple[LocalParam, ...]:
    spec = WorkflowSpec.parse({"tasks": [{"name": "a", "type": "SHELL", "local_params": local_params}]})
    return spec.tasks[0].local_params


def fault(local_params: Any) -> str:
    with pytest.raises(InvalidWorkflow) as caught:
        read(local_params)
    return str(caught.value)


# ----------------------------------------------------------------------------------------------- how it is written


def test_a_mapping_and_the_list_of_dolphinscheduler_say_the_same() -> None:
    short = {"day": "$[yyyy-MM-dd-1]", "limit": {"type": "INTEGER", "value": 10}, "rows": {"direct": "OUT"}}
    long = [
        {"name": "day", "direct": "IN", "type": "VARCHAR", "value": "$[yyyy-MM-dd-1]"},
        {"name": "limit", "direct": "IN", "type": "INTEGER", "value": "10"},
        {"name": "rows", "direct": "OUT", "type": "VARCHAR", "value": ""},
    ]
    assert read(short) == read(long)
    assert [param.direct for param in read(short)] == [Direct.IN, Direct.IN, Direct.OUT]


@every(("written", "text"), [(5, "5"), (True, "true"), (None, ""), ([1, "a"], '[1, "a"]'), (1.5, "1.5"), ("x", "x")])
def test_a_value_is_taken_as_a_person_would_read_it(written: Any, text: str) -> None:
    assert read({"p": written})[0].value == text


@every(
    ("local_params", "sentence"),
    [
        (5, 'task "a": field "local_params": must be a list, such as [a, b]'),
        ("day", 'task "a": field "local_params": must be a list, such as [a, b]'),
        (["day"], 'task "a": field "local_params.0": must be a mapping of fields to values'),
        ([{}], 'task "a": the field "name" is missing'),
        ({"1a": "x"}, 'task "a": field "local_params.0.name": must be letters, digits and _ . only, and begin with a '
            "letter or _"),
        ({"p": {"direct": "BOTH"}}, "task \"a\": field \"local_params.0.direct\": input should be 'IN' or 'OUT'"),
        ({"p": "a\x00"}, 'task "a": field "local_params.0.value": must not contain a NUL or an '
            "unpaired surrogate"),
        ([{"name": "p"}, {"name": "p"}], 'task "a" has two local_params of one name; give each its own'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_the_task_and_the_field(local_params: Any, sentence: str) -> None:
    assert fault(local_params) == sentence


def test_an_unknown_type_is_met_with_those_that_there_are() -> None:
    said = fault({"p": {"type": "NUMBER"}})
    assert said.startswith('task "a": field "local_params.0.type": input should be ')
    assert all(repr(str(type_)) in said for type_ in P)


# ------------------------------------------------------------------------------------------------ what it stands for


@every(
    ("type_", "text", "value"),
    [
        (P.VARCHAR, "", ""),
        (P.VARCHAR, "5", "5"),
        (P.INTEGER, "-5", -5),
        (P.LONG, str(2**63), 2**63),
        (P.FLOAT, "1.5", 1.5),
        (P.DOUBLE, "1e3", 1000.0),
        (P.DATE, "2026-01-31", date(2026, 1, 31)),
        (P.TIME, "05:00:00", time(5)),
        (P.TIMESTAMP, "2026-01-31 05:00:00", datetime(2026, 1, 31, 5)),  # noqa: DTZ001 - as SQL has it, without a zone
        (P.BOOLEAN, "TRUE", True),
        (P.BOOLEAN, "false", False),
        (P.LIST, '[1, "a"]', [1, "a"]),
        (P.FILE, "a.txt", "a.txt"),
        (P.INTEGER, "", None),
        (P.LIST, "", None),
    ],
)
def test_a_text_stands_for_a_value_of_its_type(type_: ParameterType, text: str, value: object) -> None:
    found = typed(type_, "p", text)
    assert found == value
    assert type(found) is type(value)


@every(
    ("type_", "text", "form"),
    [
        (P.INTEGER, "1.5", "a whole number such as 42"),
        (P.LONG, "x", "a whole number such as 42"),
        (P.INTEGER, "9" * 5_000, "a whole number such as 42"),
        (P.INTEGER, " 5 ", "a whole number such as 42"),
        (P.INTEGER, "1_000", "a whole number such as 42"),
        (P.LONG, "٣", "a whole number such as 42"),
        (P.FLOAT, " 1.5", "a number such as 1.5"),
        (P.DOUBLE, "1_0.5", "a number such as 1.5"),
        (P.FLOAT, "one", "a number such as 1.5"),
        (P.DOUBLE, "1,5", "a number such as 1.5"),
        (P.DATE, "31.1.2026", "a date such as 2026-01-31"),
        (P.DATE, "2026-02-30", "a date such as 2026-01-31"),
        (P.TIME, "25:00:00", "a time such as 05:00:00"),
        (P.TIMESTAMP, "yesterday", "a time such as 2026-01-31 05:00:00"),
        (P.BOOLEAN, "yes", "true or false"),
        (P.LIST, "1, 2", "a JSON list such as [1, 2]"),
        (P.LIST, "{}", "a JSON list such as [1, 2]"),
        (P.LIST, "[" * 100_000, "a JSON list such as [1, 2]"),
    ],
)
def test_a_text_that_does_not_fit_is_refused_by_its_name_and_not_repeated(
    type_: ParameterType, text: str, form: str
) -> None:
    """Not repeated: it may be a secret, or long."""
    with pytest.raises(Refused) as caught:
        typed(type_, "p", text)
    assert str(caught.value) == f'parameter "p" is {type_} and must be {form}'
    if "$" not in text and len(text) < 100:
        assert fault({"p": {"type": type_, "value": text}}) == f'task "a": {caught.value}'


def test_what_waits_for_a_replacement_is_judged_when_it_has_come() -> None:
    assert misfit(LocalParam(name="p", type=P.INTEGER, value="${rows}")) is None
    assert misfit(LocalParam(name="p", type=P.DATE, value="$[yyyy-MM-dd]")) is None
    assert misfit(LocalParam(name="p", type=P.INTEGER, value="rows")) is not None


@given(st.sampled_from(ParameterType), st.text())
def test_whatever_stands_there_nothing_but_a_refusal_comes_of_it(type_: ParameterType, text: str) -> None:
    try:
        typed(type_, "p", text)
    except Refused as error:
        assert "must be" in str(error)
