"""Scripts and texts of an import, read by Shoal's own readers: what they refuse at run time is said now.

Each parameter that a script names has the value that the definition gives it, or if that comes from elsewhere (a start,
an earlier task) one that fits its type. A place where such a value would be refused is reported, with its line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from model.choices import Direct, ParameterType
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.errors import Refused
from model.parameters.parameters import references, replace_references
from model.parameters.results import is_of_bash
from model.time.intervals import Interval
from model.time.time_expressions import replace_time_expressions
from worker.statements.binding import Bind, Binder, reference
from worker.statements.grammar import Grammar
from worker.tasks.bash_values import bash_script
from worker.tasks.inserted import mark
from worker.tasks.python_values import python_script

_SAMPLES: Mapping[ParameterType, str] = {
    ParameterType.INTEGER: "42",
    ParameterType.LONG: "42",
    ParameterType.FLOAT: "1.5",
    ParameterType.DOUBLE: "1.5",
    ParameterType.DATE: "2026-01-31",
    ParameterType.TIME: "05:00:00",
    ParameterType.TIMESTAMP: "2026-01-31 05:00:00",
    ParameterType.BOOLEAN: "true",
    ParameterType.LIST: '["a", "b"]',
    ParameterType.JSON: '{"a": 1}',
}
_UNTYPED = "text"
"""Of a parameter that says no type: a start or an earlier task gives it."""
_ANY_TIME = datetime(2026, 1, 31, 5, tzinfo=UTC)
_EXPRESSION = re.compile(r"(?<!\$)\$\[([^\[\]\n]{1,200})\]")
_LOOKS_LIKE_TIME = re.compile(r"yyyy|MM|dd|HH|[a-z]+_[a-z]+\(|timestamp")
_NAME_MEANT = re.compile(r"write !\{([\w.]+)\}")


def doubts(spec: WorkflowSpec) -> Iterator[tuple[str, str]]:
    """Tasks, and what Shoal's readers refuse or do not understand in them, each as a sentence."""
    for task in spec.tasks:
        values, types = _values(spec, task)
        for sentence in _refusals(task, values, types):
            yield task.name, sentence
        for text in _texts(task.params):
            for expression in unread_times(text):
                yield task.name, f"$[{expression}] is no time expression here, and stays as it is"
        for param in task.local_params:
            for expression in unread_times(param.value):
                yield task.name, f'"{param.name}": $[{expression}] is no time expression here, and stays as it is'


def faults(spec: WorkflowSpec) -> Iterator[tuple[str, str]]:
    """Tasks whose script python3 cannot read, each as a sentence."""
    for task in spec.tasks:
        script = task.params.get("script")
        if task.type == "PYTHON" and isinstance(script, str) and "interpreter" not in task.params:
            try:
                ast.parse(_marked(script, dict.fromkeys(references(script), "1"), lambda *_: "1"))
            except SyntaxError as error:
                yield (
                    task.name,
                    f"line {error.lineno}: it is no Python 3 ({error.msg}); write it so, or say interpreter",
                )


def unread_times(text: str) -> list[str]:
    """What looks like a time expression in a text and is none."""
    found = [expression for expression in _EXPRESSION.findall(text) if _LOOKS_LIKE_TIME.search(expression)]
    return [each for each in found if _in_time(f"$[{each}]") == f"$[{each}]"]


def names_meant(statement: str, grammar: Grammar) -> list[str]:
    """The parameters of a SQL text that stand where the name of a table or column does, in which no value is bound."""
    values = dict.fromkeys(references(statement), "x")
    given = _marked(statement, values, lambda name, _: reference(name))
    try:
        found = Binder(grammar, values, {}).statements(given)
    except Refused as error:
        return _NAME_MEANT.findall(str(error))
    parts = [part for each in found for part in each.parts if isinstance(part, Bind)]
    return [part.in_place_of for part in parts if part.in_place_of is not None]


def _values(spec: WorkflowSpec, task: TaskSpec) -> tuple[dict[str, str], dict[str, ParameterType]]:
    """A value for each parameter that a task may name. One that the definition writes is VARCHAR: any text will do."""
    values: dict[str, str] = {}
    types: dict[str, ParameterType] = {}
    named = {name for text in _texts(task.params) for name in references(text) if not is_of_bash(name)}
    for name in named:
        values[name] = _UNTYPED
    for name, value in spec.params.items():
        declared = spec.declared.get(name)
        _set(name, value, declared.type if declared else ParameterType.VARCHAR, values, types)
    for other in spec.tasks:
        for param in other.local_params:
            if param.direct is Direct.OUT and other.name != task.name and not values.get(param.name, _UNTYPED):
                values[param.name] = _SAMPLES.get(param.type, _UNTYPED)
    for param in task.local_params:
        if param.direct is Direct.IN:
            _set(param.name, param.value, param.type, values, types)
    own = {name for name in named if name in values}
    known = {*spec.params, *spec.secrets, *(param.name for each in spec.tasks for param in each.local_params)}
    for name in own - known:  # bash's own variable, or one of a start: it stays in the text
        values.pop(name)
    for name in spec.secrets:
        values[name], types[name] = _UNTYPED, ParameterType.SECRET
    return values, types


def _set(name: str, value: str, type_: ParameterType, values: dict[str, str], types: dict[str, ParameterType]) -> None:
    if value and "${" not in value:
        values[name], types[name] = _in_time(value), type_
    elif type_ is ParameterType.VARCHAR:
        values.setdefault(name, _UNTYPED)
    else:
        values[name], types[name] = _SAMPLES.get(type_, _UNTYPED), type_


def _refusals(task: TaskSpec, values: Mapping[str, str], types: Mapping[str, ParameterType]) -> Iterator[str]:
    script = task.params.get("script")
    if task.type not in ("SHELL", "PYTHON") or not isinstance(script, str):
        return
    for name in references(script):
        if name not in values:
            continue
        # One value at a time, so that each that is refused is told; the others are the author's.
        kinds = dict.fromkeys(values, ParameterType.VARCHAR)
        kinds.pop(name)
        if name in types:
            kinds[name] = types[name]
        given = {**dict.fromkeys(values, "1"), name: values[name]}
        marked = _marked(script, given, mark)
        try:
            if task.type == "SHELL":
                bash_script(marked, given, kinds)
            else:
                python_script(marked, kinds)
        except Refused as error:
            yield str(error)


def _marked(text: str, values: Mapping[str, str], insert: Any) -> str:
    found: str = replace_references(_in_time(text), values, insert)
    return found


def _in_time(text: str) -> str:
    return replace_time_expressions(text, _ANY_TIME, ZoneInfo("UTC"), Interval(_ANY_TIME, _ANY_TIME))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
