"""Which other workflows a workflow refers to: those that it runs, depends on, or is triggered by."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from model.definitions.triggers import TriggerSpec
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.errors import Refused
from model.logic.dependent import DependentParams
from model.logic.dynamic import DynamicParams
from model.logic.sub_process import SubProcessParams

TRIGGER = "TRIGGER"
Path = tuple[str | int, ...]
"""Where a value stands in a definition."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference of a task or trigger (`task` is empty) to a workflow: by name, in `project` if given, or by code.
    `runs` is False if it does not start that workflow."""

    task: str
    workflow: str | int
    project: str | None
    runs: bool
    type: str


def references(tasks: Iterable[TaskSpec]) -> Iterator[Reference]:
    """The references of these tasks. Invalid parameters yield none; they are refused elsewhere."""
    for task in tasks:
        try:
            match task.type:
                case "SUB_PROCESS":
                    child = SubProcessParams.read(task.params)
                    yield Reference(task.name, child.workflow, child.project, True, task.type)
                case "DYNAMIC":
                    children = DynamicParams.read(task.params)
                    yield Reference(task.name, children.workflow, children.project, True, task.type)
                case "DEPENDENT":
                    for item in DependentParams.read(task.params).items():
                        yield Reference(task.name, item.workflow, item.project, False, task.type)
        except Refused:
            continue


def triggering(triggers: Iterable[TriggerSpec]) -> Iterator[Reference]:
    """The references to the workflows that fire these triggers."""
    for trigger in triggers:
        if trigger.workflow is not None:
            yield Reference("", trigger.workflow, trigger.project, False, TRIGGER)


def to_name(spec: WorkflowSpec, project_of: Callable[[str | None, str | None], str | None]) -> dict[Path, str]:
    """The places at which a definition must name another project.

    Args:
        project_of: (workflow name or None for a dataset, project beside it) -> the project to write there; None =
            unchanged.
    """
    found = {}
    for path, named in _naming_places(spec):
        workflow = named.get("workflow")
        if isinstance(workflow, int):
            continue  # a code is that of a workflow wherever it is
        project = project_of(workflow, named.get("project"))
        if project is not None:
            found[path] = project
    return found


def naming(spec: WorkflowSpec, projects: Mapping[Path, str]) -> WorkflowSpec:
    """The definition with these projects written in these places."""
    content = json.loads(spec.model_dump_json(exclude_defaults=True))
    for path, project in projects.items():
        place: Any = content
        for step in path:
            place = place[step]
        place["project"] = project
    return WorkflowSpec.parse(content)


def _naming_places(spec: WorkflowSpec) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The mappings that name a workflow or datasets, and may name their project."""
    for number, task in enumerate(spec.tasks):
        place: Path = ("tasks", number, "params")
        if not any(references([task])):
            continue
        if task.type != "DEPENDENT":
            yield place, task.params
            continue
        for group_number, group in enumerate(task.params["groups"]):
            for item_number, item in enumerate(group["items"]):
                yield (*place, "groups", group_number, "items", item_number), item
    for number, trigger in enumerate(spec.triggers):
        if trigger.webhook is None:
            yield ("triggers", number), trigger.model_dump(exclude_none=True)
