"""What a row of `command` asks for, read from text and judged one by one.

Every column is fetched as text: one unreadable value (an infinite date, JSON nested 1,500 deep) would otherwise fail
the fetch of the whole batch. What is wrong with a row is said in a sentence and never stops the loop.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

from model.errors import Refused
from model.ids import CommandId, WorkflowCode, WorkflowInstanceId
from model.parameters import parse_parameters
from model.workflow import GROUP_NAME, FailureStrategy, Priority


class CommandType(StrEnum):
    """What a command asks for."""

    START_PROCESS = "START_PROCESS"
    RECOVER_TOLERANCE_FAULT_PROCESS = "RECOVER_TOLERANCE_FAULT_PROCESS"


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A command as it stands in the table, every field text or null."""

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


@dataclass(frozen=True, slots=True)
class StartProcess:
    """Start a new instance from the beginning. None means the definition's own value."""

    id: CommandId
    workflow_code: WorkflowCode
    workflow_version: int | None
    params: Mapping[str, str]
    priority: Priority | None
    failure_strategy: FailureStrategy | None
    worker_group: str | None


@dataclass(frozen=True, slots=True)
class RecoverToleranceFault:
    """Take over an instance whose master died or left."""

    id: CommandId
    workflow_instance_id: WorkflowInstanceId


Command = StartProcess | RecoverToleranceFault

E = TypeVar("E", bound=StrEnum)


def read_command(row: CommandRow) -> Command:
    """The command that a row asks for. Raises `Refused` with the sentence why it asks for nothing sensible."""
    if row.type == CommandType.START_PROCESS:
        return StartProcess(
            row.id,
            WorkflowCode(_number(row.workflow_code, "workflow_code")),
            None if row.workflow_version is None else _number(row.workflow_version, "workflow_version"),
            parse_parameters(row.params or "{}", "params"),
            _choice(Priority, row.priority, "priority"),
            _choice(FailureStrategy, row.failure_strategy, "failure_strategy"),
            _group(row.worker_group),
        )
    if row.type == CommandType.RECOVER_TOLERANCE_FAULT_PROCESS:
        return RecoverToleranceFault(
            row.id, WorkflowInstanceId(_number(row.workflow_instance_id, "workflow_instance_id"))
        )
    near = get_close_matches(row.type.upper(), list(CommandType), n=1)
    cure = f"did you mean {near[0]}?" if near else f"known are {', '.join(CommandType)}"
    raise Refused(f'there is no command type "{row.type[:100]}"; {cure}')


def _number(value: str | None, field: str) -> int:
    if value is None:
        raise Refused(f"{field} is missing; say which one is meant")
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else 0
    if not 0 < number < 2**63:
        raise Refused(f"{field} must be a positive number, not {value[:40]}")
    return number


def _group(value: str | None) -> str | None:
    if value and not re.fullmatch(GROUP_NAME, value):
        raise Refused(f'worker_group "{value[:100]}" is no name of a group; use letters, digits and _ . - only')
    return value or None


def _choice(kind: type[E], value: str | None, field: str) -> E | None:
    if value is None:
        return None
    try:
        return kind(value.upper())
    except ValueError:
        raise Refused(f'{field} "{value[:100]}" is unknown; use one of {", ".join(kind)}') from None
