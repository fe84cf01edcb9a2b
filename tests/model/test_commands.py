"""Rows of `command`, as anybody may insert them by hand: read, or refused in a sentence; never anything else."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.choices import FailureStrategy, Priority, TaskDependType, WarningType
from model.errors import Refused
from model.ids import CommandId, ScheduleId, TaskCode, WorkflowCode, WorkflowInstanceId
from model.parameters.parameters import is_storable
from model.runs.command_moves import COMMAND_MOVES, CommandType
from model.runs.commands import (
    Command,
    CommandRow,
    Move,
    RecoverSerialWait,
    RecoverToleranceFault,
    Start,
    read_command,
    read_parent,
)
from model.runs.instances import Parent
from tests.every import every

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
    assert read_command(START) == Start(ID, CommandType.START_PROCESS, WorkflowCode(1001))


def test_a_start_may_say_everything() -> None:
    row = CommandRow(
        *(ID, "START_PROCESS", "1001", "3", None, '{"day": 1}', "high", "end", "gpu", "2026-01-31", "ada"),
        *("failure", "ops", "etl", "true", "task_pre", '["a", 7]', "2026-03-29 03:30:00+02", "Europe/Berlin", "5"),
        "42/3/1/0",
    )
    assert read_command(row) == Start(
        ID,
        CommandType.START_PROCESS,
        WorkflowCode(1001),
        3,
        {"day": "1"},
        Priority.HIGH,
        FailureStrategy.END,
        "gpu",
        WarningType.FAILURE,
        "ops",
        "etl",
        True,
        TaskDependType.TASK_PRE,
        ("a", "7"),
        datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
        "Europe/Berlin",
        ScheduleId(5),
        Parent(WorkflowInstanceId(42), TaskCode(3), 1, 0),
    )


def test_a_run_that_a_task_does_not_wait_for_is_asked_for_apart() -> None:
    parent = Parent(WorkflowInstanceId(42), TaskCode(3), 1, 0, waits=False)
    assert (str(parent), parent.place) == ("42/3/1/0/apart", "42/3/1/0")
    assert read_parent(str(parent)) == parent
    assert read_parent(parent.place) == replace(parent, waits=True)
    for wrong in ("42/3/1/0/", "42/3/1/0/Apart", "42/3/1/apart", "apart", "42/3/1/0/apart/apart"):
        with pytest.raises(Refused, match="must be instance/task code/attempt/index"):
            read_parent(wrong)


MOVES = sorted(set(COMMAND_MOVES) - {CommandType.RECOVER_TOLERANCE_FAULT_PROCESS})


@every("type_", MOVES)
def test_a_change_of_a_run_names_the_run_and_what_goes_with_it(type_: CommandType) -> None:
    row = replace(RECOVER, type=type_, start_tasks=" a, b ,,c", parent="42/9223372036854775807/1/0")
    parent = Parent(WorkflowInstanceId(42), TaskCode(2**63 - 1), 1, 0)
    instance = WorkflowInstanceId(42)
    assert read_command(row) == Move(ID, type_, instance, TaskDependType.TASK_ONLY, ("a", "b", "c"), parent)
    post = read_command(replace(row, task_depend_type="TASK_POST"))
    assert isinstance(post, Move)
    assert post.depend_type is TaskDependType.TASK_POST


def test_the_next_in_line_is_asked_for_by_its_workflow() -> None:
    row = replace(START, type="RECOVER_SERIAL_WAIT")
    assert read_command(row) == RecoverSerialWait(ID, WorkflowCode(1001))


def test_a_backfill_keeps_its_dates_apart_from_the_parameters() -> None:
    row = replace(START, type="COMPLEMENT_DATA", params='{"backfill": {"dates": ["2026-01-01"]}, "a": 1}')
    command = read_command(row)
    assert isinstance(command, Start)
    assert (command.params, command.backfill) == ({"a": "1"}, '{"dates": ["2026-01-01"]}')


@every("text", ["", "  ", "[]", ",,", None])
def test_no_start_tasks_are_all_tasks(text: str | None) -> None:
    command = read_command(replace(START, start_tasks=text))
    assert isinstance(command, Start)
    assert command.start_tasks == ()


# --------------------------------------------------------------------------------------- every field, every type

ROWS = [
    replace(RECOVER, type=type_, workflow_code="1001", start_tasks="a", schedule_time="2026-01-31 05:00:00+00",
            params='{"backfill": {"dates": ["2026-01-01"]}}')
    for type_ in CommandType
]  # fmt: skip
BAD = [
    "", " ", "x" * 1_048_577, "[" * 3_000, r'["\u0000"]', r'["\ud800"]', r'{"a": "\ud800"}', r'{"\u0000": 1}', "-1",
    "null", "{}", "[1.5]", "infinity", "'", "1/2/3/4/5", "9" * 5_000,
]  # fmt: skip
FIELDS = sorted({field.name for field in fields(CommandRow)} - {"id", "created_at", "created_by"})


@every("value", BAD)
@every("name", FIELDS)
def test_no_value_of_any_field_does_more_than_be_refused_in_a_sentence(name: str, value: str) -> None:
    """For any type of command."""
    for row in ROWS:
        try:
            command = read_command(replace(row, **{name: value}))  # type: ignore[arg-type]
        except Refused as error:
            assert 0 < len(str(error)) < 1000
            assert name.replace("_", " ") in str(error).replace("_", " ") or name == "type" or "needs" in str(error)
        else:
            assert all(is_storable(each) for each in texts_of(command))


def texts_of(command: Command) -> list[str]:
    """The texts that may be written down again, or occur in a sentence, apart from what its row contained verbatim.

    A row cannot hold a NUL or an unpaired surrogate; JSON in it can.
    """
    read = [*command.start_tasks] if isinstance(command, Start | Move) else []
    if isinstance(command, Start):
        read += [*command.params, *command.params.values(), command.backfill or ""]
    return read


@every("type_", CommandType)
def test_each_type_needs_what_it_is_about(type_: CommandType) -> None:
    empty = replace(START, type=type_, workflow_code=None)
    about = "workflow_instance_id" if type_ in COMMAND_MOVES else "workflow_code"
    if type_ is CommandType.COMPLEMENT_DATA:
        empty = replace(empty, params='{"backfill": 1}')
    if type_ is CommandType.RECOVER_SERIAL_WAIT:
        about = "workflow_code"
    assert fault(empty) == f"{about} is missing; say which one is meant"


def test_a_claim_failover_names_its_instance() -> None:
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
        'there is no command type "zzz"; known are START_PROCESS, START_CURRENT_TASK_PROCESS, SCHEDULER, '
        "COMPLEMENT_DATA, RECOVER_TOLERANCE_FAULT_PROCESS, RECOVER_SUSPENDED_PROCESS, START_FAILURE_TASK_PROCESS, "
        "REPEAT_RUNNING, EXECUTE_TASK, PAUSE, STOP, RECOVER_SERIAL_WAIT"
    )
    assert len(fault(START, type="z" * 1_000_000)) < 500


@every(("row", "field"), [(START, "workflow_code"), (RECOVER, "workflow_instance_id")])
def test_what_is_meant_must_be_said(row: CommandRow, field: str) -> None:
    assert fault(row, **{field: None}) == f"{field} is missing; say which one is meant"


@every("value", ["0", "-5", "", "abc", "1.5", "1_000", " 1", "٣", "²", "9" * 20, str(2**63), "9" * 5000])
@every(
    ("row", "field"),
    [(START, "workflow_code"), (START, "workflow_version"), (RECOVER, "workflow_instance_id")],
)
def test_a_number_must_be_a_positive_one_that_the_database_has_room_for(
    row: CommandRow, field: str, value: str
) -> None:
    assert fault(row, **{field: value}) == f"{field} must be a positive number, not {value[:40]}"


@every(
    ("field", "value", "sentence"),
    [
        ("priority", "urgent", 'priority "urgent" is unknown; use one of HIGHEST, HIGH, MEDIUM, LOW, LOWEST'),
        ("priority", "", 'priority "" is unknown; use one of HIGHEST, HIGH, MEDIUM, LOW, LOWEST'),
        ("failure_strategy", "STOP", 'failure_strategy "STOP" is unknown; use one of CONTINUE, END'),
        ("worker_group", "a b", 'worker_group "a b" is not a name of a group; use letters, digits and _ . - only'),
        ("worker_group", "a\n", 'worker_group "a\n" is not a name of a group; use letters, digits and _ . - only'),
        ("warning_type", "MAYBE", 'warning_type "MAYBE" is unknown; use one of NONE, SUCCESS, FAILURE, ALL'),
        (
            "task_depend_type",
            "ALL",
            'task_depend_type "ALL" is unknown; use one of TASK_ONLY, TASK_PRE, TASK_POST',
        ),
        ("alert_group", "a\nb", "alert_group must be a name of at most 200 printable characters"),
        ("environment", "x" * 201, "environment must be a name of at most 200 printable characters"),
        (
            "schedule_time",
            "infinity",
            "schedule_time must be a time such as 2026-01-31 05:00:00+00, not infinity",
        ),
        (
            "time_zone",
            "Europe/Belrin",
            'there is no time zone "Europe/Belrin"; use a name such as Europe/Berlin or UTC',
        ),
        ("schedule_id", "0", "schedule_id must be a positive number, not 0"),
        ("start_tasks", "[1, {}]", "start_tasks must be a list of names or codes of tasks"),
        (
            "start_tasks",
            r'["\ud800"]',
            "start_tasks contains a NUL or an unpaired surrogate; remove it",
        ),
        ("start_tasks", "[true]", "start_tasks must be a list of names or codes of tasks"),
        ("start_tasks", "[1", 'start_tasks is not a valid JSON list; write one such as ["extract", "load"]'),
        ("start_tasks", "x" * 1_048_577, "start_tasks is longer than 1048576 characters; name fewer tasks"),
        ("parent", "1/2/3", 'parent "1/2/3" must be instance/task code/attempt/index; masters write it'),
        (
            "parent",
            "1/9223372036854775808/1/0",
            'parent "1/9223372036854775808/1/0" names a run, task, attempt or child that cannot be; masters write it',
        ),
        ("params", "[1]", 'params must be a JSON object such as {"day": "2026-01-31"}, not a list'),
    ],
)
def test_a_wrong_value_is_met_with_what_it_may_be(field: str, value: str, sentence: str) -> None:
    assert fault(START, **{field: value}) == sentence


@every(
    ("type_", "sentence"),
    [
        ("START_CURRENT_TASK_PROCESS", "START_CURRENT_TASK_PROCESS needs start_tasks; name the tasks to begin with"),
        ("EXECUTE_TASK", "EXECUTE_TASK needs start_tasks; name the tasks to run again"),
        ("SCHEDULER", "SCHEDULER needs schedule_time, the time that its run is for"),
        (
            "COMPLEMENT_DATA",
            "COMPLEMENT_DATA needs dates; write params such as "
            '{"backfill": {"from": "2026-01-01", "to": "2026-01-31"}}',
        ),
    ],
)
def test_what_a_type_cannot_do_without_is_named(type_: str, sentence: str) -> None:
    assert fault(START, type=type_, workflow_instance_id="42") == sentence
