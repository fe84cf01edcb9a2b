"""What a workflow definition says: tasks, their order, parameters and defaults.

One model for every way to write one: a YAML file, Python, REST, or a row of `workflow_version` inserted by SQL. All
are checked here, and each error names the task and the field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, time
from difflib import get_close_matches
from enum import StrEnum
from itertools import chain
from math import isfinite
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from model.errors import Refused
from model.graph import Graph, find_cycle
from model.ids import TaskCode
from model.parameters import is_storable

MINUTES_MAX = 366 * 24 * 60
RETRIES_MAX = 1_000
TASKS_MAX = 10_000
NAME_LENGTH_MAX = 200
NESTING_MAX = 50
TASK_CODE_MAX = 2**31 - 1
DEFAULT_WORKER_GROUP = "default"
GROUP_NAME = r"[\w.-]{1,100}"
_MISFIT = "misfit"


class Priority(StrEnum):
    """How urgent; of a workflow first, of a task within its workflow second."""

    HIGHEST = "HIGHEST"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"
    LOWEST = "LOWEST"


class FailureStrategy(StrEnum):
    """What a task's failure for good means to the rest of its workflow."""

    CONTINUE = "CONTINUE"
    """Independent branches run to their end, then FAILURE."""
    END = "END"
    """Nothing new starts, running tasks are killed, then FAILURE."""


class OnWorkerLoss(StrEnum):
    """What happens to a task whose worker vanished: it may have had side effects."""

    RETRY = "retry"
    FAIL = "fail"


class TimeoutStrategy(StrEnum):
    """What happens to an attempt that takes longer than its timeout."""

    WARN = "WARN"
    """It goes on; its worker logs a warning."""
    FAILED = "FAILED"
    """It is killed and has failed, so that a retry may follow."""
    WARNFAILED = "WARNFAILED"
    """Both."""


class ReleaseState(StrEnum):
    """Only ONLINE can be started."""

    ONLINE = "ONLINE"
    OFFLINE = "OFFLINE"


def _as_text(value: Any) -> Any:
    """Parameters are text; numbers, booleans and dates of YAML are taken as a person would read them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, (dict, list)):
        return json.dumps(_plain_data(value), ensure_ascii=False, default=str)
    return value if isinstance(value, str) else str(value)


def _plain_data(value: Any) -> Any:
    """`value`, if a database takes it as JSON: found here, with the task's name, and not when it is saved or run."""
    pending = [(value, 0)]
    while pending:
        part, depth = pending.pop()
        if depth > NESTING_MAX:
            raise ValueError(f"must not be nested deeper than {NESTING_MAX} levels")
        if isinstance(part, dict):
            pending += ((each, depth + 1) for each in chain(part, part.values()))
        elif isinstance(part, list | tuple):
            pending += ((each, depth + 1) for each in part)
        elif isinstance(part, str) and not is_storable(part):
            raise ValueError("must not hold a NUL or half a character, which no process takes")
        elif isinstance(part, float) and not isfinite(part):
            raise ValueError(f"must not hold the number {part}; write it in quotes")
        elif not isinstance(part, str | int | float | date | time | None):
            raise ValueError(f"must not hold a {type(part).__name__}; JSON has texts, numbers, lists and objects")
    return value


Name = Annotated[str, Field(min_length=1, max_length=NAME_LENGTH_MAX, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
ParameterValue = Annotated[str, BeforeValidator(_as_text), AfterValidator(_plain_data)]
GroupName = Annotated[str, Field(pattern=f"^{GROUP_NAME}$")]


Minutes = Annotated[float, Field(ge=0, le=MINUTES_MAX, allow_inf_nan=False)]
"""A time span in minutes, fractions allowed, as in DolphinScheduler; 0 = none."""


class TaskSpec(BaseModel):
    """One task of a workflow. `after` names the tasks that must have succeeded before it.

    `retry_times` attempts follow a FAILURE, each `retry_interval` after the one before. `delay_time` passes between
    the moment it is ready and the queue. `timeout` counts from its start on the worker.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    type: str = Field(min_length=1, max_length=100)
    params: Annotated[dict[str, Any], AfterValidator(_plain_data)] = {}
    after: tuple[str, ...] = ()
    priority: Priority = Priority.MEDIUM
    worker_group: GroupName | None = None
    on_worker_loss: OnWorkerLoss = OnWorkerLoss.RETRY
    retry_times: int = Field(0, ge=0, le=RETRIES_MAX)
    retry_interval: Minutes = 0
    delay_time: Minutes = 0
    timeout: Minutes = 0
    timeout_strategy: TimeoutStrategy = TimeoutStrategy.FAILED
    code: Annotated[int, Field(gt=0, le=TASK_CODE_MAX)] | None = None


class WorkflowSpec(BaseModel):
    """The content of one version of a workflow. Make one with `WorkflowSpec.parse`, which words the errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str = Field("", max_length=10_000)
    priority: Priority = Priority.MEDIUM
    failure_strategy: FailureStrategy = FailureStrategy.CONTINUE
    worker_group: GroupName = DEFAULT_WORKER_GROUP
    params: Annotated[dict[str, ParameterValue], AfterValidator(_plain_data)] = {}
    tasks: tuple[TaskSpec, ...] = Field(max_length=TASKS_MAX)

    @model_validator(mode="after")
    def _names_fit_together(self) -> Self:
        if not self.tasks:
            raise ValueError('a workflow needs at least one task; add one under "tasks"')
        names = [task.name for task in self.tasks]
        places = {name: place for place, name in reversed(list(enumerate(names)))}
        codes = [task.code for task in self.tasks if task.code is not None]
        if len(set(codes)) < len(codes) or (codes and len(codes) < len(names)):
            raise ValueError("task codes must be given to all tasks or to none, each its own; leave them out")
        for place, task in enumerate(self.tasks):
            if places[task.name] != place:
                raise _misfit(place, f'task "{task.name}" stands there twice; give each task a name of its own')
            for before in task.after:
                if before == task.name:
                    raise _misfit(place, f'task "{task.name}" waits for itself; remove it from its "after"')
                if before not in places:
                    near = get_close_matches(before, names, n=1)
                    cure = f'did you mean "{near[0]}"?' if near else "add that task or remove it"
                    raise _misfit(place, f'task "{task.name}" waits for "{before}", which does not exist; {cure}')
            if len(set(task.after)) < len(task.after):
                raise _misfit(place, f'task "{task.name}" names the same task twice in its "after"; once is enough')
        cycle = find_cycle({task.name: task.after for task in self.tasks})
        if cycle:
            raise _misfit(
                places[cycle[0]],
                f"tasks wait for each other in a circle: {' -> '.join(cycle)}; remove one of these arrows",
            )
        return self

    @classmethod
    def parse(cls, content: Mapping[str, Any]) -> WorkflowSpec:
        """Check and build. Raises `InvalidWorkflow` with one sentence for each thing that is wrong."""
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise InvalidWorkflow([_problem(content, part) for part in error.errors()]) from None

    def coded(self, known: Mapping[str, int] | None = None) -> WorkflowSpec:
        """The same with a code for every task: its own, else that of `known` (name -> code), else a new one."""
        given = {task.name: task.code for task in self.tasks if task.code is not None}
        given = {**(known or {}), **given}
        taken = set(given.values())
        highest = max(taken, default=0)
        beyond, gaps = range(highest + 1, TASK_CODE_MAX + 1), range(1, highest)
        free = (code for code in chain(beyond, gaps) if code not in taken)
        tasks = []
        for task in self.tasks:
            if task.name not in given:
                given[task.name] = next(free)
            tasks.append(task.model_copy(update={"code": given[task.name]}))
        return self.model_copy(update={"tasks": tuple(tasks)})

    def graph(self) -> Graph:
        """Who waits for whom, by code. Needs `coded`."""
        codes = {task.name: TaskCode(task.code or 0) for task in self.tasks}
        return Graph.of({codes[task.name]: [codes[before] for before in task.after] for task in self.tasks})


class Problem(BaseModel):
    """One thing that is wrong in a definition: where (a path of keys and positions) and the sentence."""

    model_config = ConfigDict(frozen=True)

    where: tuple[str | int, ...]
    sentence: str


class InvalidWorkflow(Refused):
    """A definition that cannot be saved or run."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(problem.sentence for problem in problems[:20]))


def _misfit(task: int, sentence: str) -> PydanticCustomError:
    """What is wrong between tasks: where (the position of one of them) and the sentence."""
    return PydanticCustomError(_MISFIT, "{sentence}", {"task": task, "sentence": sentence})


# What pydantic says in words of Python, in words of whoever writes a workflow.
_SAID = {
    "tuple_type": "must be a list, such as [a, b]",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields to values",
    "string_type": "must be a text; write it in quotes",
    "string_unicode": "must not hold half a character",
    "too_long": f"must not have more than {TASKS_MAX} entries",
}


def _problem(content: Mapping[str, Any], part: Any) -> Problem:
    where = tuple(part["loc"])
    if part["type"] == _MISFIT:
        return Problem(where=("tasks", part["ctx"]["task"]), sentence=part["ctx"]["sentence"])
    message = _SAID.get(part["type"], str(part["msg"]).removeprefix("Value error, "))
    if part["type"] == "string_pattern_mismatch":
        in_group = where[-1] == "worker_group"
        message = "must be 1 to 100 letters, digits and _ . -" if in_group else "must not hold control characters"
    if part["type"] == "extra_forbidden":
        message = f"there is no field {_quoted(where[-1])}{_near(where)}"
    elif part["type"] == "missing":
        message = f'the field "{where[-1]}" is missing'
    elif fields := _fields(where):
        message = f'field "{".".join(str(step) for step in fields)}": {message[:1].lower()}{message[1:]}'
    elif part["type"] == "model_type":
        message = message if where else f"a workflow {message}"
    return Problem(where=where, sentence=f"{_task_of(content, where)}{message}")


def _fields(where: tuple[str | int, ...]) -> tuple[str | int, ...]:
    return where[2:] if len(where) > 1 and where[0] == "tasks" else where


def _near(where: tuple[str | int, ...]) -> str:
    fields = TaskSpec.model_fields if where[0] == "tasks" else WorkflowSpec.model_fields
    near = get_close_matches(str(where[-1]), list(fields), n=1)
    return f', did you mean "{near[0]}"?' if near else f"; known are {', '.join(fields)}"


def _task_of(content: Mapping[str, Any], where: tuple[str | int, ...]) -> str:
    if len(where) < 2 or where[0] != "tasks" or not isinstance(where[1], int):
        return ""
    try:
        return f"task {_quoted(content['tasks'][where[1]]['name'])}: "
    except (KeyError, TypeError, IndexError):
        return f"task {where[1] + 1}: "


def _quoted(name: object) -> str:
    shown = str(name)[:NAME_LENGTH_MAX]
    return f'"{shown}"' if shown.isprintable() else ascii(shown)
