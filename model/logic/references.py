"""Which other workflows a workflow refers to: those that it runs, depends on, or is triggered by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from model.definitions.triggers import TriggerSpec
from model.definitions.workflow import TaskSpec
from model.errors import Refused
from model.logic.dependent import DependentParams
from model.logic.dynamic import DynamicParams
from model.logic.sub_process import SubProcessParams

TRIGGER = "TRIGGER"


@dataclass(frozen=True, slots=True)
class Reference:
    """A workflow that a task, or a trigger (`task` is empty), refers to: by its name, in `project` if that is given, or
    by its code. `runs` is False for one that it does not start."""

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
    """The workflows whose ends these triggers wait for."""
    for trigger in triggers:
        if trigger.workflow is not None:
            yield Reference("", trigger.workflow, trigger.project, False, TRIGGER)
