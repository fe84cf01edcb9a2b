"""Finds where tasks name values of other tasks, and parts of JSON values. Pure.

A task may name only the tasks before it; the value of another might not exist yet. For tasks that clean up, all others
are before them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from model.choices import Direct, ParameterType
from model.definitions.each import is_of_element
from model.definitions.graph import Graph
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.ids import TaskCode
from model.parameters.parameters import IN_BRACES, references
from model.parameters.results import is_of_bash, may_be_more, named_task

Place = tuple[str | int, ...]
"""The keys and indexes that lead to a text in a task."""
_RAW = re.compile(rf"!\{{({IN_BRACES})\}}")


@dataclass(frozen=True, slots=True)
class ResultReference:
    """A reference that may name more than a parameter: `name` is the text in its braces.

    `rest` names a value of `task`, and perhaps a part of that; without a task `name` may be a part of a parameter.
    `of` is the local parameter that it stands in, `type` the one that its task declares for the value.
    """

    name: str
    task: TaskCode | None = None
    rest: str = ""
    of: str | None = None
    type: ParameterType | None = None


def names_in(task: TaskSpec) -> Iterator[tuple[Place, str, str | None]]:
    """References of a task that may name more than a parameter: place, name, and local parameter around it."""
    for place, text in _texts(task.params, ("params",)):
        for name in _names(task, text):
            yield place, name, None
    for name in references(task.each.written) if task.each is not None else ():
        if may_be_more(name):
            yield ("each",), name, None
    for param in task.local_params:
        if param.direct is Direct.IN and "${" in param.value:
            for name in references(param.value):
                if may_be_more(name):
                    yield ("local_params",), name, param.name


def texts_of(task: TaskSpec) -> Iterator[str]:
    """All texts of a task in which references are replaced."""
    yield from (text for _, text in _texts(task.params, ()))
    yield from (param.value for param in task.local_params)
    yield from () if task.each is None else (task.each.written,)


def _names(task: TaskSpec, text: str) -> list[str]:
    if "{" not in text:
        return []
    names = [name for name in references(text) if may_be_more(name)]
    if task.type == "SHELL":
        return [name for name in names if not is_of_bash(name)]
    if task.type == "SQL":
        names += filter(may_be_more, _RAW.findall(text))
    return names


def _texts(given: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(given, str):
        yield place, given
    elif isinstance(given, dict):
        for key, value in given.items():
            yield from _texts(value, (*place, key))
    elif isinstance(given, list | tuple):
        for index, value in enumerate(given):
            yield from _texts(value, (*place, index))


def result_references(spec: WorkflowSpec, codes: Mapping[str, TaskCode], graph: Graph) -> ResultReferences:
    """The references of each task that has any. A task that is not before another cannot be named by it."""
    named = {task.name: list(names_in(task)) for task in spec.tasks}
    mapped = {task.name for task in spec.tasks if task.each is not None}
    named = {task: names for task, names in named.items() if names}
    if not named:
        return {}
    is_before = before(spec, codes, graph, (name for found in named.values() for _, name, _ in found))
    types = {task.name: _out_types(task) for task in spec.tasks}

    def reference(task: str, name: str, of: str | None) -> ResultReference:
        giver, rest = named_task(name) or ("", "")
        of_element = task in mapped and is_of_element(name)
        if of_element or not rest or giver not in codes or not is_before(codes[giver], codes[task]):
            return ResultReference(name, of=of)
        return ResultReference(name, codes[giver], rest, of, types[giver].get(rest))

    return {
        codes[task]: tuple(dict.fromkeys(reference(task, name, of) for _, name, of in names))
        for task, names in named.items()
    }


ResultReferences = Mapping[TaskCode, tuple[ResultReference, ...]]


def _out_types(task: TaskSpec) -> dict[str, ParameterType]:
    if task.each is not None:
        return {}  # what it passes on are lists
    return {param.name: param.type for param in task.local_params if param.direct is Direct.OUT}


def before(
    spec: WorkflowSpec, codes: Mapping[str, TaskCode], graph: Graph, names: Iterable[str]
) -> Callable[[TaskCode, TaskCode], bool]:
    """Return a function that tells whether one task comes before another, for the tasks that these references name."""
    named = {codes[found[0]]: None for name in names if (found := named_task(name)) and found[0] in codes}
    marks = {code: 1 << place for place, code in enumerate(named)}
    before_each = graph.marked_before(marks)
    closing = {codes[task.name]: task.on_exit for task in spec.tasks if task.is_closing}

    def is_before(one: TaskCode, other: TaskCode) -> bool:
        if before_each[other] & marks[one]:
            return True
        if other not in closing:
            return False
        return one not in closing or (closing[other] and not closing[one])

    return is_before
