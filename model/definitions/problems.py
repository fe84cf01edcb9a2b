"""The problems of a workflow definition or a pool: one sentence each, with its place.

The messages of pydantic are translated from Python's terms to those of a workflow's author.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from model.definitions.names import fault_of_task_name
from model.errors import Refused
from model.fields import NAME_LENGTH_MAX
from model.logic.fields import model_at
from model.near import nearest
from model.parameters.declared import LongForm

if TYPE_CHECKING:
    from model.definitions.workflow import WorkflowSpec

_WRONG = "wrong_here"


class Problem(BaseModel):
    """One problem in a definition: its place (a path of keys and indexes) and the sentence."""

    model_config = ConfigDict(frozen=True)

    where: tuple[str | int, ...]
    sentence: str


class Invalid(Refused):
    """Content that cannot be saved, with all its problems."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(problem.sentence for problem in problems[:20]))


class InvalidWorkflow(Invalid):
    """A definition that cannot be saved or run."""

    @classmethod
    def of(
        cls, error: ValidationError, model: type[BaseModel], content: Mapping[str, Any], beside: Sequence[str]
    ) -> InvalidWorkflow:
        """The problems that pydantic found in `content`; for `beside` see `WorkflowSpec.parse`."""
        return cls([_problem(model, content, part, beside) for part in error.errors()])


def faults_of_task_names(spec: WorkflowSpec) -> Iterator[Problem]:
    """The tasks that may not be saved under their names."""
    for place, task in enumerate(spec.tasks):
        if (fault := fault_of_task_name(task.name)) is not None:
            yield Problem(where=("tasks", place, "name"), sentence=f"task {place + 1}: {fault}")


def wrong(where: tuple[str | int, ...], sentence: str) -> PydanticCustomError:
    """Make the error that a validator raises for one place."""
    return PydanticCustomError(_WRONG, "{sentence}", {"where": where, "sentence": sentence})


def raised(part: Any) -> Problem | None:
    """The problem that a validator raised by `wrong`; None for an error of pydantic's own."""
    return Problem(**part["ctx"]) if part["type"] == _WRONG else None


def wrong_task(task: int, sentence: str) -> PydanticCustomError:
    """Make the error that a validator raises for the task with this index."""
    return wrong(("tasks", task), sentence)


def wrong_field(field: str, sentence: str) -> PydanticCustomError:
    """Make the error that a validator raises for a field of the workflow."""
    return wrong((field,), sentence)


_SAID = {
    "tuple_type": "must be a list, such as [a, b]",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields to values",
    "string_type": "must be a text; write it in quotes",
    "string_unicode": "must not contain an unpaired surrogate",
}

_ELSEWHERE = {
    **dict.fromkeys(
        ("depends_on", "upstream", "upstream_tasks", "dependencies", "depends", "needs", "pre_tasks"), "after"
    ),
    **dict.fromkeys(("retries", "max_retries", "fail_retry_times", "retry"), "retry_times"),
    **dict.fromkeys(("retry_delay", "retry_delay_seconds", "fail_retry_interval"), "retry_interval"),
    **dict.fromkeys(("execution_timeout", "timeout_seconds"), "timeout"),
    **dict.fromkeys(("dagrun_timeout",), "timeout_minutes"),
    **dict.fromkeys(("max_active_runs", "concurrency_limit", "max_runs"), "max_active"),
    **dict.fromkeys(("task_id", "dag_id", "id"), "name"),
    **dict.fromkeys(("operator", "task_type"), "type"),
    **dict.fromkeys(("bash_command", "command", "script", "task_params", "args"), "params"),
    **dict.fromkeys(("queue", "work_pool", "pool"), "worker_group"),
    **dict.fromkeys(("priority_weight", "task_priority"), "priority"),
    **dict.fromkeys(("global_params", "parameters"), "params"),
    **dict.fromkeys(("steps", "jobs", "task_definitions"), "tasks"),
    **dict.fromkeys(("timezone", "tz"), "time_zone"),
    **dict.fromkeys(("default_args", "task_defaults"), "defaults"),
    **dict.fromkeys(("trigger_rule", "join", "join_rule", "run_if", "run_when"), "start_when"),
}
"""Words of Airflow, Prefect and DolphinScheduler, and the field they correspond to."""

_NO_CONTROL = "must not contain control characters"
_PATTERNS = {
    "worker_group": "must be 1 to 100 letters, digits and _ . -",
    "tenant": "must be a user of the operating system: at most 32 small letters, digits and _ . -",
    "resources": "must name pools, which are 1 to 100 letters (a to z), digits and _ . -, a letter or digit first",
    "local_params": "must be letters, digits and _ . only, and begin with a letter or _",
}


def _problem(model: type[BaseModel], content: Mapping[str, Any], part: Any, beside: Sequence[str]) -> Problem:
    where = tuple(step for step in part["loc"] if step != "[key]")
    is_apart = where[:1] == ("declared",) and "declared" not in content
    written = ("params", *where[1:]) if is_apart else where
    if (problem := raised(part)) is not None:
        return problem
    message = _SAID.get(part["type"], str(part["msg"]).removeprefix("Value error, "))
    if part["type"] == "too_long":
        message = f"must not have more than {part['ctx']['max_length']} entries"
    elif part["type"] == "too_short":
        message = "must not be empty"
    is_length = part["type"] in ("string_too_short", "string_too_long")
    is_pool = where[2:3] == ("resources",)
    if part["type"] == "string_pattern_mismatch" or (is_length and (is_pool or where[-1] == "worker_group")):
        field = "resources" if is_pool else "local_params" if "local_params" in where else str(where[-1])
        message = _PATTERNS.get(field, _NO_CONTROL)
    if part["type"] == "extra_forbidden":
        message = f"there is no field {quoted(where[-1])}{_inside(where)}{_near(model, where, beside)}"
    elif part["type"] == "missing":
        message = f'the field "{where[-1]}"{_inside(where)} is missing'
    elif fields := _fields(written):
        message = f'field "{".".join(str(step) for step in fields)}": {message[:1].lower()}{message[1:]}'
    elif part["type"] == "model_type":
        message = message if where else f"a workflow {message}"
    return Problem(where=written, sentence=f"{_task_of(content, where)}{message}")


def _fields(where: tuple[str | int, ...]) -> tuple[str | int, ...]:
    return where[2:] if len(where) > 1 and where[0] == "tasks" else where


def _inside(where: tuple[str | int, ...]) -> str:
    if where[:-1] == ("defaults",):
        return ' in "defaults"'
    if len(where) == 3 and where[0] == "declared":
        return f" of the parameter {quoted(where[1])}"
    is_in_part = len(where) == 4 and where[0] == "tasks" and where[2] in ("each", "readiness")
    return f' in "{where[2]}"' if is_in_part else ""


def _near(whole: type[BaseModel], where: tuple[str | int, ...], beside: Sequence[str]) -> str:
    if where[0] == "defaults" and where[-1] in whole.model_fields:
        return "; write it as a field of the workflow, which holds for its tasks"
    model = LongForm if where[0] == "declared" else model_at(whole, where[:-1])
    fields = [*(beside if model is whole else ()), *model.model_fields]
    meant = _ELSEWHERE.get(str(where[-1]).lower())
    near = meant if meant in fields else nearest(str(where[-1]), list(fields))
    if not near and model is whole and str(where[-1]) in model_at(whole, ("tasks", 0)).model_fields:
        return "; it is a field of a task"
    return f', did you mean "{near}"?' if near else f"; known are {', '.join(fields)}"


def _task_of(content: Mapping[str, Any], where: tuple[str | int, ...]) -> str:
    if len(where) < 2 or where[0] != "tasks" or not isinstance(where[1], int):
        return ""
    try:
        return f"task {quoted(content['tasks'][where[1]]['name'])}: "
    except (KeyError, TypeError, IndexError):
        return f"task {where[1] + 1}: "


def quoted(name: object) -> str:
    """Quote a name in a sentence, cut to a bounded length."""
    shown = str(name)[:NAME_LENGTH_MAX]
    return f'"{shown}"' if shown.isprintable() else ascii(shown)
