"""Defaults of a project: fields for the tasks of its workflows that neither these nor their workflows give.

They are written out as a file is saved, like the defaults of a workflow: a version says all that its runs do, and a
change of the project changes none that is there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from model.definitions.defaults import TaskDefaults, given_to
from model.definitions.problems import InvalidWorkflow, Problem
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.errors import NotFound, Refused

DEFAULTS = frozenset(TaskDefaults.model_fields)


def read_defaults(written: str, project: str) -> TaskDefaults:
    """From the JSON in the row of a project. Raises `Refused`: somebody wrote there what is none."""
    try:
        return TaskDefaults.model_validate(json.loads(written))
    except ValidationError as error:
        part = error.errors(include_url=False)[0]
        field = ".".join(str(step) for step in part["loc"])
        said = str(part["msg"]).removeprefix("Value error, ")
        raise Refused(f'the defaults of project "{project}" cannot be read: "{field}": {said}; correct them') from None


def changed_defaults(before: TaskDefaults, given: TaskDefaults, without: Collection[str], project: str) -> TaskDefaults:
    """The defaults with those that are `given`, and without these. Raises `NotFound`: there is none of that name."""
    known = written_defaults(before)
    for name in without:
        if name not in known:
            there = ", ".join(known) or "none"
            raise NotFound(f'project "{project}" has no default "{name}"; it has {there}')
    set_ = {name: getattr(given, name) for name in written_defaults(given)}
    return before.model_copy(update={**dict.fromkeys(without), **set_})


def written_defaults(defaults: TaskDefaults) -> dict[str, Any]:
    return defaults.model_dump(mode="json", exclude_none=True)


def with_project_defaults(spec: WorkflowSpec, defaults: TaskDefaults, project: str) -> WorkflowSpec:
    """The definition that a file says, whose tasks have the project's defaults where it gives nothing.

    Raises `InvalidWorkflow`: with them it would not be right.
    """
    if not (written := written_defaults(defaults)):
        return spec
    said = spec.model_dump(mode="json", exclude_unset=True)
    try:
        return WorkflowSpec.parse({**said, "defaults": written})
    except InvalidWorkflow as error:
        raise InvalidWorkflow(
            [
                Problem(where=each.where, sentence=f'with the defaults of project "{project}": {each.sentence}')
                for each in error.problems
            ]
        ) from None


def as_inherited(said: WorkflowSpec, saved: WorkflowSpec) -> WorkflowSpec:
    """What a text says, with what it leaves to the defaults of its project as it was saved."""
    if [task.name for task in said.tasks] != [task.name for task in saved.tasks]:
        return said
    tasks = [
        own.model_copy(update={name: getattr(other, name) for name in DEFAULTS - own.model_fields_set})
        for own, other in zip(said.tasks, saved.tasks, strict=True)
    ]
    return said.model_copy(update={"tasks": tuple(tasks)})


def kept_from(defaults: TaskDefaults, task: TaskSpec) -> Mapping[str, Any]:
    """The fields in which a saved task is as if nothing was given, though the project has a default: a file must say
    them, or it would be read as another definition."""
    would_get = given_to(
        {"type": task.type, **{name: getattr(task, name) for name in _KINDS}}, written_defaults(defaults)
    )
    standard = TaskSpec.model_fields
    return {
        name: task.model_dump(mode="json", include={name})[name]
        for name in would_get
        if name in DEFAULTS and getattr(task, name) == standard[name].default
    }


_KINDS = ("stream", "teardown", "on_exit")
