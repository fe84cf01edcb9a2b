"""Rows of `command`, as anybody may insert them by hand: read, or refused in a sentence; never anything else."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.choices import FailureStrategy, Priority
from model.commands import CommandRow, CommandType, RecoverToleranceFault, Start, read_command
from model.errors import Refused
from model.ids import CommandId

ID = CommandId(7)
START = CommandRow(ID, "START_PROCESS", "1001", None, None, None, None, None, None, "2026-01-31", "ada")
RECOVER = replace(START, type="RECOVER_TOLERANCE_FAULT_PROCESS", workflow_code=None, workflow_instance_id="42")

optional_text = st.none() | st.text() | st.integers().map(str) | st.sampled_from([*Priority, *FailureStrategy, "{}"])
rows = st.builds(
    CommandRow,
    id=st.just(ID),
    type=st.text() | st.sampled_from(CommandType),
    **{
        field.name: optional_text
        for field in fields(CommandRow)
        if field.name not in ("id", "type", "created_at", "created_by")
    },
)


def fault(row: CommandRow, **changed: Any) -> str:
    with pytest.raises(Refused) as caught:
        read_command(replace(row, **changed))
    return str(caught.value)


def test_a_start_needs_its_type_and_the_workflow_and_nothing_else() -> None:
    assert read_command(START) == Start(ID, 1001, None, {}, None, None, None)  # type: ignore[arg-type]


def test_a_start_may_say_everything() -> None:
    row = CommandRow(
        ID, "START_PROCESS", "1001", "3", None, '{"day": 1}', "high", "end", "gpu", "2026-01-31", "ada"
    )  # fmt: skip
    assert read_command(row) == Start(
        ID, 1001, 3, {"day": "1"}, Priority.HIGH, FailureStrategy.END, "gpu"  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_take_over_names_its_instance() -> None:
    assert read_command(RECOVER) == RecoverToleranceFault(ID, 42)  # type: ignore[arg-type]


def test_an_empty_worker_group_is_none_of_its_own() -> None:
    command = read_command(replace(START, worker_group=""))
    assert isinstance(command, Start)
    assert command.worker_group is None


@given(rows)
def test_whatever_stands_in_a_row_nothing_but_a_refusal_comes_of_it(row: CommandRow) -> None:
    try:
        read_command(row)
    except Refused as error:
        assert 0 < len(str(error)) < 1000


@given(st.sampled_from([START, RECOVER]), st.sampled_from(["workflow_code", "workflow_instance_id"]), st.text())
def test_a_number_is_read_as_the_database_writes_it_or_refused(row: CommandRow, field: str, text: str) -> None:
    try:
        read_command(replace(row, **{field: text}))  # type: ignore[arg-type]
    except Refused as error:
        assert str(error) == f"{field} must be a positive number, not {text[:40]}"


# --------------------------------------------------------------------------------------------- the sentences


def test_an_unknown_type_is_met_with_the_one_that_was_meant() -> None:
    assert fault(START, type="start_proces") == ('there is no command type "start_proces"; did you mean START_PROCESS?')


def test_an_unknown_type_that_is_like_none_is_met_with_all_of_them() -> None:
    assert fault(START, type="zzz") == (
        'there is no command type "zzz"; known are START_PROCESS, RECOVER_TOLERANCE_FAULT_PROCESS'
    )
    assert len(fault(START, type="z" * 1_000_000)) < 300


@pytest.mark.parametrize(("row", "field"), [(START, "workflow_code"), (RECOVER, "workflow_instance_id")])
def test_what_is_meant_must_be_said(row: CommandRow, field: str) -> None:
    assert fault(row, **{field: None}) == f"{field} is missing; say which one is meant"


@pytest.mark.parametrize(
    "value", ["0", "-5", "", "abc", "1.5", "1_000", " 1", "٣", "²", "9" * 20, str(2**63), "9" * 5000]
)
@pytest.mark.parametrize(
    ("row", "field"),
    [(START, "workflow_code"), (START, "workflow_version"), (RECOVER, "workflow_instance_id")],
)
def test_a_number_must_be_a_positive_one_that_the_database_has_room_for(
    row: CommandRow, field: str, value: str
) -> None:
    assert fault(row, **{field: value}) == f"{field} must be a positive number, not {value[:40]}"


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("priority", "urgent", 'priority "urgent" is unknown; use one of HIGHEST, HIGH, MEDIUM, LOW, LOWEST'),
        ("priority", "", 'priority "" is unknown; use one of HIGHEST, HIGH, MEDIUM, LOW, LOWEST'),
        ("failure_strategy", "STOP", 'failure_strategy "STOP" is unknown; use one of CONTINUE, END'),
        ("worker_group", "a b", 'worker_group "a b" is no name of a group; use letters, digits and _ . - only'),
        ("worker_group", "a\n", 'worker_group "a\n" is no name of a group; use letters, digits and _ . - only'),
        ("params", "[1]", 'params must be a JSON object such as {"day": "2026-01-31"}, not a list'),
    ],
)
def test_a_wrong_value_is_met_with_what_it_may_be(field: str, value: str, sentence: str) -> None:
    assert fault(START, **{field: value}) == sentence
