"""What a workflow declares about its parameters: the syntax, and the allowed values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.choices import ParameterType
from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import WorkflowSpec
from model.parameters.declared import Declaration, WrongParameters, check_declared, lacking, together
from tests.every import every

TASK = {"name": "a", "type": "FAKE"}
DAY = {"type": "DATE", "required": True, "description": "The day to load"}
SIZE = {"type": "INTEGER", "value": 10, "min": 1, "max": 100}
REGION = {"enum": ["eu", "us"], "value": "eu"}


def read(**params: Any) -> WorkflowSpec:
    return WorkflowSpec.parse({"params": params, "tasks": [TASK]})


def fault(**params: Any) -> str:
    with pytest.raises(InvalidWorkflow) as caught:
        read(**params)
    assert [problem.where[0] for problem in caught.value.problems] == ["params"]
    return str(caught.value)


def refused(spec: WorkflowSpec, *, given: bool = False, **values: str) -> str:
    with pytest.raises(WrongParameters) as caught:
        check_declared(spec.declared, {**spec.params, **values}, spec.secret_names(), given=given)
    return str(caught.value)


# ----------------------------------------------------------------------------------------------- how it is written


def test_a_declaration_leaves_a_plain_value() -> None:
    spec = read(day=DAY, size=SIZE, region=REGION, plain=1)
    assert spec.params == {"size": "10", "region": "eu", "plain": "1"}
    assert set(spec.declared) == {"day", "size", "region"}
    assert spec.declared["day"] == Declaration(type=ParameterType.DATE, required=True, description="The day to load")
    assert (spec.declared["region"].type, spec.declared["region"].enum) == (ParameterType.VARCHAR, ("eu", "us"))


def test_what_is_stored_and_what_is_written_again_say_the_same() -> None:
    token = {"type": "SECRET", "required": True, "description": "of the service"}
    spec = read(day=DAY, size=SIZE, region=REGION, token=token, pin={"type": "SECRET"}, plain="x")
    stored = json.loads(spec.model_dump_json(exclude_defaults=True))
    assert WorkflowSpec.parse(stored) == spec
    written = together(stored)
    assert "declared" not in written
    assert written["params"]["size"] == {"type": "INTEGER", "value": "10", "min": "1", "max": "100"}
    assert WorkflowSpec.parse(written) == spec


@every(
    "value",
    [{"a": 1}, {}, {"type": "table", "value": 1}, {"value": 1}, {"min": 1, "max": 2}, {"description": "x"}, [1], None],
)
def test_another_object_is_a_value_as_ever(value: Any) -> None:
    spec = read(x=value)
    assert spec.declared == {}
    assert spec.params["x"] == (json.dumps(value) if value is not None else "")


def test_a_workflow_without_declarations_is_stored_as_ever() -> None:
    spec = read(x=1, token={"type": "SECRET", "value": "open sesame"})
    assert spec.declared == {}
    assert json.loads(spec.model_dump_json(exclude_defaults=True)).keys() == {"params", "secrets", "tasks"}


@every(
    ("declared", "sentence"),
    [
        ({"type": "INTEGER", "vlaue": 1}, 'there is no field "vlaue" of the parameter "x", did you mean "value"?'),
        ({"type": "INTEGER", "required": "yes"}, 'field "params.x.required": '),
        ({"type": "INTEGER", "min": "a"}, 'field "params.x": min must be a whole number such as 42'),
        ({"type": "VARCHAR", "min": 1}, "min and max are for the types INTEGER, LONG, FLOAT"),
        ({"type": "INTEGER", "min": 2, "max": 1}, "min 2 is greater than max 1"),
        ({"type": "INTEGER", "enum": [1, "b"]}, 'enum has "b", which must be a whole number such as 42'),
        (
            {"type": "INTEGER", "enum": [1, 9], "max": 5},
            'enum has "9", which must be a whole number such as 42, at most',
        ),
        ({"enum": []}, 'field "params.x.enum": must not be empty'),
        ({"enum": ["a", ""]}, "enum must not have an empty text"),
        ({"type": "SECRET", "enum": ["open sesame"]}, "a SECRET has no enum, min or max"),
    ],
)
def test_a_declaration_that_cannot_be_says_where_and_why(declared: dict[str, Any], sentence: str) -> None:
    assert sentence in fault(x=declared)


@every(
    ("declared", "sentence"),
    [
        ({**SIZE, "value": 1000}, 'is INTEGER and must be a whole number such as 42, from 1 to 100; it is "1000"'),
        ({**REGION, "value": "asia"}, 'must be one of "eu", "us"; it is "asia"'),
        ({**DAY, "value": "31.1.2026"}, 'is DATE and must be a date such as 2026-01-31; it is "31.1.2026"'),
    ],
)
def test_a_default_must_be_as_declared(declared: dict[str, Any], sentence: str) -> None:
    assert fault(x=declared) == f'parameter "x" {sentence}'


def test_a_default_with_a_reference_is_left_to_the_run() -> None:
    assert (
        read(day={**DAY, "value": "$[yyyy-MM-dd-1]"}, size={**SIZE, "value": "${other}"}).params["size"] == "${other}"
    )


def test_a_secret_is_declared_in_both_places_or_in_none() -> None:
    content = {"tasks": [TASK], "secrets": ["x"], "declared": {"x": {"type": "INTEGER"}}}
    with pytest.raises(InvalidWorkflow, match='"x" is declared both as SECRET and as no SECRET'):
        WorkflowSpec.parse(content)


# --------------------------------------------------------------------------------------------- which values it allows


@every(
    ("declared", "right", "wrong"),
    [
        ({"type": "INTEGER", "min": 1, "max": 100}, ["1", "100", "+7"], ["0", "101", "1.5", "a", "1_0", "9" * 5000]),
        ({"type": "DOUBLE", "max": 1.5}, ["1.5", "-1e9"], ["1.50001", "nan", "inf", "1,5"]),
        ({"type": "DATE", "min": "2026-01-01"}, ["2026-01-01"], ["2025-12-31", "2026-02-30", "today"]),
        (
            {"type": "TIMESTAMP", "max": "2026-01-01 00:00:00"},
            ["2026-01-01 00:00:00", "2026-01-01T01:00:00+02:00"],
            ["2026-01-01 00:00:01", "2026-01-01T01:00:00+00:00"],
        ),
        ({"type": "BOOLEAN", "required": True}, ["true", "False"], ["yes", "1"]),
        ({"type": "LIST", "required": True}, ["[1, 2]"], ["1, 2", "{}"]),
        ({"type": "INTEGER", "enum": [1, 2]}, ["1"], ["3", "01"]),
        ({"enum": [True, 1.5]}, ["true", "1.5"], ["True", "1.50"]),
    ],
)
def test_a_value_is_of_its_type_and_within_its_bounds(
    declared: dict[str, Any], right: list[str], wrong: list[str]
) -> None:
    spec = read(x=declared)
    for value in right:
        check_declared(spec.declared, {"x": value})
    for value in wrong:
        assert 'parameter "x"' in refused(spec, x=value)


@given(low=st.integers(), high=st.integers(), value=st.integers())
def test_a_whole_number_is_allowed_exactly_within_its_bounds(low: int, high: int, value: int) -> None:
    low, high = sorted((low, high))
    declared = Declaration(type=ParameterType.INTEGER, min=str(low), max=str(high))
    assert declared.allows(str(value)) == (low <= value <= high)


@given(st.text(max_size=20))
def test_whatever_is_given_is_allowed_or_refused_in_a_sentence(value: str) -> None:
    spec = read(day=DAY, size=SIZE, region=REGION)
    for name in ("day", "size", "region"):
        try:
            check_declared(spec.declared, {"day": "2026-01-31", name: value})
        except WrongParameters as error:
            assert f'"{name}"' in str(error)


def test_an_empty_value_stands_for_none() -> None:
    spec = read(day=DAY, size=SIZE)
    check_declared(spec.declared, {"day": "2026-01-31", "size": ""})
    assert lacking(spec.declared, {"day": ""}) == ["day"]


def test_all_that_lacks_stands_in_one_sentence() -> None:
    spec = read(day=DAY, region={"enum": ["eu", "us"], "required": True}, size={"type": "INTEGER", "required": True})
    assert refused(spec, size="1") == (
        'the required parameters "day" (a date such as 2026-01-31), "region" (one of "eu", "us") have no values; '
        "give them with the start"
    )
    assert refused(spec, size="x", region="eu") == (
        'parameter "size" is INTEGER and must be a whole number such as 42; it is "x"; '
        'the required parameter "day" (a date such as 2026-01-31) has no value; give it one with the start'
    )


def test_a_value_is_shown_up_to_its_beginning_and_a_secret_never() -> None:
    spec = read(x={"enum": ["a"]})
    assert len(refused(spec, x="b" * 10_000)) < 150
    with pytest.raises(WrongParameters) as caught:
        check_declared(spec.declared, {"x": "hunter22"}, {"x"})
    assert str(caught.value) == 'parameter "x" must be one of "a"'
    token = read(x={"type": "SECRET", "required": True})
    check_declared(token.declared, {"x": "sealed:v2:whatever"}, {"x"})
    assert '"x" (a text) has no value' in refused(token)


def test_a_reference_is_open_as_given_and_data_in_a_run() -> None:
    spec = read(size=SIZE, id={"type": "LONG", "required": True})
    check_declared(spec.declared, {"size": "${other}", "id": "$[yyyyMMdd]"}, given=True)
    assert 'it is "${other}"' in refused(spec, size="${other}", id="1")
    check_declared(spec.declared, {"size": "1", "id": "${system.workflow.instance.id}"})
