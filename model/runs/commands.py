"""Reads rows of `command`: each row is parsed and validated by itself.

Every column is fetched as text: one unreadable value (an infinite date, JSON nested 1,500 deep) would otherwise fail
the fetch of the whole batch. An error in a row is reported in a sentence and never stops the loop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from model.choices import FailureStrategy, Priority, TaskDependType, WarningType
from model.errors import Refused
from model.fields import GROUP_NAME, GROUP_NAME_LENGTH_MAX, NAME_LENGTH_MAX
from model.ids import CommandId, ScheduleId, TaskCode, WorkflowCode, WorkflowInstanceId
from model.near import nearest
from model.parameters.parameters import is_storable, parse_parameters
from model.parameters.secret_values import MASK, sealed_value
from model.runs.command_moves import RERUNNING, STARTING, CommandType
from model.runs.instances import APART, BY_EVENT, Parent, Source
from model.runs.serial_lines import called_by
from model.runs.traces import read_traceparent
from model.time.zones import zone

START_TASKS_BYTES_MAX = 1_048_576
BACKFILL = "backfill"
"""The key of a COMPLEMENT_DATA's parameters that holds its dates."""


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A command as it is stored in the table, every field text or null."""

    id: CommandId
    type: str
    workflow_code: str | None
    workflow_version: str | None
    workflow_instance_id: str | None
    params: str | None
    priority: str | None
    failure_strategy: str | None
    worker_group: str | None
    created_at: str
    created_by: str
    warning_type: str | None = None
    alert_group: str | None = None
    environment: str | None = None
    dry_run: str | None = None
    task_depend_type: str | None = None
    start_tasks: str | None = None
    schedule_time: str | None = None
    time_zone: str | None = None
    schedule_id: str | None = None
    parent: str | None = None
    from_above: str | None = None
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """Create a run. None means the definition's own value.

    `start_tasks` are names or codes; empty means all tasks. `schedule_time` is aware UTC. `backfill` is the JSON text
    of the dates of a COMPLEMENT_DATA. `source` is the event that requests it.
    """

    id: CommandId
    type: CommandType
    workflow_code: WorkflowCode
    workflow_version: int | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    priority: Priority | None = None
    failure_strategy: FailureStrategy | None = None
    worker_group: str | None = None
    warning_type: WarningType | None = None
    alert_group: str | None = None
    environment: str | None = None
    dry_run: bool = False
    depend_type: TaskDependType = TaskDependType.TASK_POST
    start_tasks: tuple[str, ...] = ()
    schedule_time: datetime | None = None
    time_zone: str | None = None
    schedule_id: ScheduleId | None = None
    parent: Parent | None = None
    backfill: str | None = None
    traceparent: str | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class RecoverToleranceFault:
    """Fail over a run whose master died or left."""

    id: CommandId
    workflow_instance_id: WorkflowInstanceId


@dataclass(frozen=True, slots=True)
class RecoverSerialWait:
    """Let the next run of a line start unless another is ahead; without `key`, in all lines from the key `first` on."""

    id: CommandId
    workflow_code: WorkflowCode
    key: str | None = None
    first: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """Change the state of a run according to `model/runs/command_moves.py`.

    `start_tasks` and `depend_type` belong to EXECUTE_TASK. `parent` is set when a task that represents the run
    continues in a new attempt. `version` is the one that a rerun continues with; None = the run's own.
    """

    id: CommandId
    type: CommandType
    workflow_instance_id: WorkflowInstanceId
    depend_type: TaskDependType = TaskDependType.TASK_POST
    start_tasks: tuple[str, ...] = ()
    parent: Parent | None = None
    version: int | None = None


Command = Start | RecoverToleranceFault | RecoverSerialWait | Move

E = TypeVar("E", bound=StrEnum)


def read_command(row: CommandRow) -> Command:
    """Parse the command in a row. Raises `Refused` with a sentence that states what is invalid."""
    try:
        type_ = CommandType(row.type)
    except ValueError:
        if row.type == "RECOVER_WAITING_THREAD":  # a DolphinScheduler type, present in older tables
            raise Refused(f"command type {row.type} is not supported: a waiting run takes up no room") from None
        near = nearest(row.type[:100].upper(), list(CommandType))
        cure = f"did you mean {near}?" if near else f"known are {', '.join(CommandType)}"
        raise Refused(f'there is no command type "{row.type[:100]}"; {cure}') from None
    if type_ in STARTING:
        return _start(row, type_)
    if type_ is CommandType.RECOVER_SERIAL_WAIT and row.workflow_instance_id is None:
        code = WorkflowCode(_number(row.workflow_code, "workflow_code"))
        return RecoverSerialWait(row.id, code, *called_by(row.params))
    instance = WorkflowInstanceId(_number(row.workflow_instance_id, "workflow_instance_id"))
    if type_ is CommandType.RECOVER_TOLERANCE_FAULT_PROCESS:
        return RecoverToleranceFault(row.id, instance)
    move = Move(
        row.id,
        type_,
        instance,
        _choice(TaskDependType, row.task_depend_type, "task_depend_type") or TaskDependType.TASK_ONLY,
        _start_tasks(row.start_tasks),
        read_parent(row.parent),
        None
        if row.workflow_version is None or type_ not in RERUNNING
        else _number(row.workflow_version, "workflow_version"),
    )
    if type_ is CommandType.EXECUTE_TASK and not move.start_tasks:
        raise Refused("EXECUTE_TASK needs start_tasks; name the tasks to run again")
    return move


def scrubbed(row: CommandRow, secrets: Collection[str]) -> CommandRow:
    """The command as it may be stored: secrets given in clear are replaced by asterisks."""
    if not secrets or not row.params:
        return row
    try:
        values = parse_parameters(row.params, "params")
    except Refused:
        return row
    clear = {name: MASK for name in secrets if values.get(name) and sealed_value(values[name]) is None}
    return replace(row, params=json.dumps({**values, **clear}, ensure_ascii=False)) if clear else row


def _start(row: CommandRow, type_: CommandType) -> Start:
    params = parse_parameters(row.params or "{}", "params")
    backfill = None
    if type_ is CommandType.COMPLEMENT_DATA:
        backfill = params.pop(BACKFILL, None)
        if backfill is None:
            raise Refused(
                "COMPLEMENT_DATA needs dates; write params such as "
                '{"backfill": {"from": "2026-01-01", "to": "2026-01-31"}}'
            )
    start = Start(
        row.id,
        type_,
        WorkflowCode(_number(row.workflow_code, "workflow_code")),
        None if row.workflow_version is None else _number(row.workflow_version, "workflow_version"),
        params,
        _choice(Priority, row.priority, "priority"),
        _choice(FailureStrategy, row.failure_strategy, "failure_strategy"),
        _group(row.worker_group),
        _choice(WarningType, row.warning_type, "warning_type"),
        _name(row.alert_group, "alert_group"),
        _name(row.environment, "environment"),
        row.dry_run == "true",
        _choice(TaskDependType, row.task_depend_type, "task_depend_type") or TaskDependType.TASK_POST,
        _start_tasks(row.start_tasks),
        _moment(row.schedule_time, "schedule_time"),
        zone(row.time_zone).key if row.time_zone else None,
        None if row.schedule_id is None else ScheduleId(_number(row.schedule_id, "schedule_id")),
        read_parent(row.parent),
        backfill,
        None if (trace := read_traceparent(row.traceparent)) is None else str(trace),
        read_source(row.parent),
    )
    if type_ is CommandType.START_CURRENT_TASK_PROCESS and not start.start_tasks:
        raise Refused("START_CURRENT_TASK_PROCESS needs start_tasks; name the tasks to begin with")
    if type_ is CommandType.SCHEDULER and start.schedule_time is None:
        raise Refused("SCHEDULER needs schedule_time, the time that its run is for")
    return start


def _number(value: str | None, field: str) -> int:
    if value is None:
        raise Refused(f"{field} is missing; say which one is meant")
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else 0
    if not 0 < number < 2**63:
        raise Refused(f"{field} must be a positive number, not {value[:40]}")
    return number


def _group(value: str | None) -> str | None:
    if value and (len(value) > GROUP_NAME_LENGTH_MAX or not re.fullmatch(GROUP_NAME, value)):
        raise Refused(f'worker_group "{value[:100]}" is not a name of a group; use letters, digits and _ . - only')
    return value or None


def _name(value: str | None, field: str) -> str | None:
    if value and (len(value) > NAME_LENGTH_MAX or not value.isprintable()):
        raise Refused(f"{field} must be a name of at most {NAME_LENGTH_MAX} printable characters")
    return value or None


def _choice(kind: type[E], value: str | None, field: str) -> E | None:
    if value is None:
        return None
    try:
        return kind(value.upper())
    except ValueError:
        raise Refused(f'{field} "{value[:100]}" is unknown; use one of {", ".join(kind)}') from None


def _moment(value: str | None, field: str) -> datetime | None:
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refused(f"{field} must be a time such as 2026-01-31 05:00:00+00, not {value[:40]}") from None


def _start_tasks(value: str | None) -> tuple[str, ...]:
    """Names or codes, from a JSON list or a comma-separated text."""
    text = (value or "").strip()
    if len(text) > START_TASKS_BYTES_MAX:
        raise Refused(f"start_tasks is longer than {START_TASKS_BYTES_MAX} characters; name fewer tasks")
    if not text.startswith("["):
        return tuple(name for part in text.split(",") if (name := part.strip()))
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused('start_tasks is not a valid JSON list; write one such as ["extract", "load"]') from None
    if not all(isinstance(each, str | int) and not isinstance(each, bool) for each in given):
        raise Refused("start_tasks must be a list of names or codes of tasks")
    names = tuple(str(each) for each in given)
    # A message with such a name could not be stored, and would block all the commands of its batch.
    if not all(map(is_storable, names)):
        raise Refused("start_tasks contains a NUL or an unpaired surrogate; remove it")
    return names


def read_parent(value: str | None) -> Parent | None:
    """The parent run and position of a child, from the text of its command. Raises `Refused`."""
    if value is None or _is_of_event(value):
        return None
    instance, code, attempt, index, *apart = _place(value, APART)
    return Parent(WorkflowInstanceId(instance), TaskCode(code), attempt, index, not apart)


def read_source(value: str | None) -> Source | None:
    """The event that requests a run, from the text of its command; None without one. Raises `Refused`."""
    if value is None or not _is_of_event(value):
        return None
    instance, code, attempt, chain, *_ = _place(value, BY_EVENT)
    return Source(WorkflowInstanceId(instance), TaskCode(code), attempt, chain)


def _is_of_event(value: str) -> bool:
    return value.endswith(f"/{BY_EVENT}")


def _place(value: str, ending: str) -> list[int]:
    """Its four numbers, and a fifth if it has this ending."""
    parts = value.split("/")
    ended = [1] if parts[4:] == [ending] else []
    parts = parts[:4] if ended else parts
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        raise Refused(f'parent "{value[:100]}" must be instance/task code/attempt/index; masters write it')
    instance, code, attempt, index = map(int, parts)
    if max(instance, code) >= 2**63 or index >= 2**31 or attempt >= 2**15:
        raise Refused(f'parent "{value[:100]}" names a run, task, attempt or child that cannot be; masters write it')
    return [instance, code, attempt, index, *ended]
