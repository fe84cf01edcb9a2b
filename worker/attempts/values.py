"""The values and types of one attempt's parameters, as its worker has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from dao.tasks.task_claims import ClaimedTask
from model.choices import ParameterType
from model.errors import Refused
from model.parameters.builtin import EXECUTE_PATH, task_parameters, with_task_parameters
from model.parameters.foreign_values import WRITTEN, types_in
from model.parameters.parameters import parameter_variable, parse_parameters
from model.parameters.secret_values import has_sealed, sealed_value
from model.runs.elements import name_of_task, task_of
from model.time.time_expressions import replace_time_expressions
from model.time.zones import zone


def values_of(task: ClaimedTask, make_folder: Callable[[], Path]) -> dict[str, str]:
    """The values from the master, and those that only the attempt's worker knows."""
    own = task_parameters(
        task_instance_id=task.id,
        attempt=task.attempt,
        task_name=name_of_task(task.code, task.name),
        task_code=task_of(task.code),
        workflow_instance_id=task.workflow_instance_id,
        workflow_code=task.workflow_code,
    )
    wanted = f"${{{EXECUTE_PATH}}}"
    if wanted in task.params or wanted in task.parameter_values:
        own[EXECUTE_PATH] = str(make_folder())
    return with_task_parameters(parse_parameters(task.parameter_values, "its parameters"), own)


def secrets_used(task: ClaimedTask, values: Mapping[str, str]) -> set[str]:
    """The secrets that a task receives: those it declares, or that its parameters name in any form."""
    declared = {name for name, type_ in types_of(task).items() if type_ is ParameterType.SECRET}
    named = {name for name in values if name in task.params or parameter_variable(name) in task.params}
    return declared | named


def secret_names(task: ClaimedTask) -> set[str]:
    """The parameters whose value or type is a secret."""
    values = parse_parameters(task.parameter_values, "its parameters")
    sealed = {name for name, value in values.items() if sealed_value(value) is not None}
    return sealed | {name for name, type_ in types_of(task).items() if type_ is ParameterType.SECRET}


def with_time_expressions(task: ClaimedTask, text: str) -> str:
    """Replace each `$[...]` by the run's schedule time, time zone and interval.

    Raises `NoInterval`.
    """
    if "$[" not in text:
        return text
    return replace_time_expressions(text, task.schedule_time, zone(task.time_zone), task.interval)


def local_time(task: ClaimedTask) -> datetime:
    """The run's schedule time, in its zone. Raises `Refused`."""
    return task.schedule_time.astimezone(zone(task.time_zone))


def types_of(task: ClaimedTask) -> dict[str, ParameterType]:
    """The declared type of each parameter; VARCHAR for a value that the author wrote. Raises `Refused`."""
    recorded = task.parameter_types
    if recorded is None:
        return {}
    values = parse_parameters(task.parameter_values, "its parameters") if WRITTEN in recorded else {}
    try:
        return types_in(json.loads(recorded), values)
    except (ValueError, AttributeError):
        raise Refused("the types of its parameters, as the database has them, are not a JSON object of types") from None


def types_of_values(task: ClaimedTask) -> dict[str, ParameterType]:
    """The types, with SECRET for each secret that is declared elsewhere."""
    if not has_sealed(task.parameter_values):
        return types_of(task)
    return {**types_of(task), **dict.fromkeys(secret_names(task), ParameterType.SECRET)}
