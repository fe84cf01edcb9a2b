"""Defaults of a project: fields for tasks that neither the task nor its workflow sets.

They are written out when a file is saved, like the defaults of a workflow: a version contains all that its runs do, and
a change of the project changes no existing version.
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
    """Read the defaults from a project's row. Raises `Refused` if somebody wrote something else there."""
    try:
        return TaskDefaults.model_validate(json.loads(written))
    except ValidationError as error:
        part = error.errors(include_url=False)[0]
        field = ".".join(str(step) for step in part["loc"])
        said = str(part["msg"]).removeprefix("Value error, ")
        raise Refused(f'the defaults of project "{project}" cannot be read: "{field}": {said}; correct them') from None


def changed_defaults(before: TaskDefaults, given: TaskDefaults, without: Collection[str], project: str) -> TaskDefaults:
    """Change and remove defaults. Raises `NotFound` if `without` names one that does not exist."""
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
    """The definition with the project's defaults where the file sets nothing.

    Raises `InvalidWorkflow` if the defaults make it invalid.
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
    """Fill a definition's gaps with the project defaults under which it was saved."""
    if [task.name for task in said.tasks] != [task.name for task in saved.tasks]:
        return said
    tasks = [
        own.model_copy(update={name: getattr(other, name) for name in DEFAULTS - own.model_fields_set})
        for own, other in zip(said.tasks, saved.tasks, strict=True)
    ]
    return said.model_copy(update={"tasks": tuple(tasks)})


def kept_from(defaults: TaskDefaults, task: TaskSpec) -> Mapping[str, Any]:
    """The fields that a saved task leaves unset although the project has a default. A file must write them out, or it
    would be read as another definition."""
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
