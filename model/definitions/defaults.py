"""Defaults of a workflow's tasks: written once, as a field of the workflow.

They are shorthand: reading a definition gives each task its own values, which are stored and shown. The text of a file
stays as written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from model.choices import OnWorkerLoss, Priority, Restart, TimeoutStrategy
from model.definitions.closing import NOT_OF_CLOSING
from model.fields import Minutes, PoolName
from model.logic.catalog import LOGIC_TYPES, NOT_OF_LOGIC
from model.parameters.text import plain_data
from model.pools.variables import without_one_variable
from model.runs.looks import NOT_OF_WAITS, WAIT
from model.streams.streams import NOT_OF_STREAMS, OF_STREAMS

RETRIES_MAX = 1_000
WITHOUT_EXIT_CODES = frozenset({"FAKE", "HTTP", "PROCEDURE", "SQL"})
"""Worker types that run no program of the task. A plug-in's type may."""
RESOURCES_MAX = 10_000
"""How many resources of one pool a task may need."""

Retries = Annotated[int, Field(ge=0, le=RETRIES_MAX)]
SkipExitCodes = Annotated[tuple[Annotated[int, Field(ge=1, le=255)], ...], Field(max_length=255)]
Resources = Annotated[
    dict[PoolName, Annotated[int, Field(strict=True, ge=1, le=RESOURCES_MAX)]],
    AfterValidator(plain_data),
    AfterValidator(without_one_variable),
]


class TaskDefaults(BaseModel):
    """Fields of `TaskSpec` for the tasks that do not set them. A task ignores defaults that its type cannot have;
    streams have other fields than tasks that end."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    priority: Priority | None = None
    on_worker_loss: OnWorkerLoss | None = None
    retry_times: Retries | None = None
    retry_interval: Minutes | None = None
    delay_time: Minutes | None = None
    timeout: Minutes | None = None
    timeout_strategy: TimeoutStrategy | None = None
    dispatch_timeout: Minutes | None = None
    cache: bool | None = None
    skip_exit_codes: SkipExitCodes | None = None
    resources: Resources | None = None
    restart: Restart | None = None
    restart_pause: Minutes | None = None
    restart_pause_max: Minutes | None = None
    healthy_after: Minutes | None = None


def with_defaults(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Copy a definition's `defaults` into its tasks. The models report what is wrong with either."""
    tasks, given = content.get("tasks"), content.get("defaults")
    if not isinstance(tasks, list | tuple) or not isinstance(given, Mapping):
        return content
    try:
        written = TaskDefaults.model_validate(given).model_dump(exclude_none=True)
    except ValidationError:
        return content
    rest = {name: value for name, value in content.items() if name != "defaults"}
    return {**rest, "tasks": [given_to(task, written) if isinstance(task, Mapping) else task for task in tasks]}


def given_to(task: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """A task with the applicable defaults that it does not set itself."""
    unfit = _unfit(task)
    return {**{name: value for name, value in written.items() if name not in unfit}, **task}


def _unfit(task: Mapping[str, Any]) -> Collection[str]:
    """The fields that defaults do not set in this task."""
    if task.get("type") in LOGIC_TYPES:
        return {*NOT_OF_LOGIC, *OF_STREAMS}
    unfit = set(NOT_OF_STREAMS if task.get("stream") is True else OF_STREAMS)
    if task.get("teardown") is True or task.get("on_exit") is True:
        unfit.update(NOT_OF_CLOSING)
    if task.get("type") == WAIT:
        unfit.update(NOT_OF_WAITS)
    if task.get("type") in WITHOUT_EXIT_CODES:
        unfit.add("skip_exit_codes")
    return unfit
