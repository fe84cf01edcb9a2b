"""What `${...}` names besides a parameter: a value of a task, or a part of a JSON value. Pure.

${load.rows}                     the value `rows` of the task `load`
${tasks["load files"].rows}      of a task whose name has other characters than letters, digits and _
${load.files[0].name}            a part of a JSON value
${files[0].name}, ${stats.rows}  a part of the parameter `files` or `stats`
${files[0]["a key"]}             a key with other characters than letters, digits and _

A parameter with the whole text as its name wins; then a task; then a part of a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from model.parameters.json_values import JsonPath, Missing, NotJson, looks_like_json, parse_json, part_of, text_of
from model.parameters.large_values import large_value, part_in

TASKS = "tasks"
SHORT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A task name that may begin a reference."""
_BUILT_IN = "system."
_QUOTED_TASK = re.compile(r"tasks\[(?:\"([^\"]*)\"|'([^']*)')\](?:\.(.+))?", re.DOTALL)
_HEAD = re.compile(r"[A-Za-z0-9_.]+")
_STEPS_MAX = 1_000
"""A text with more steps names nothing: each of its beginnings would be looked up."""
_STEP = re.compile(r"\.([A-Za-z0-9_]+)|\[(-?[0-9]+)\]|\[\"([^\"]*)\"\]|\['([^']*)'\]")
_BASH_ELEMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[[^\]]*\]")


def may_be_more(name: str) -> bool:
    """Whether a reference may name more than a parameter."""
    return ("." in name or "[" in name) and not name.startswith(_BUILT_IN)


def is_of_bash(name: str) -> bool:
    """Whether bash reads `${name}` as an element of an array; in a script that meaning wins."""
    return _BASH_ELEMENT.fullmatch(name) is not None


def named_task(name: str) -> tuple[str, str] | None:
    """The task that a reference may name, and the rest; None if its form names none."""
    if quoted := _QUOTED_TASK.fullmatch(name):
        return quoted[1] if quoted[1] is not None else quoted[2], quoted[3] or ""
    task, dot, rest = name.partition(".")
    return (task, rest) if dot and rest and SHORT_NAME.fullmatch(task) else None


def names_task_by_quotes(name: str) -> bool:
    """Whether the reference has the form that only tasks have."""
    return _QUOTED_TASK.fullmatch(name) is not None


def written(task: str, rest: str) -> str:
    """Write a reference to a value of a task."""
    return f"${{{task}.{rest}}}" if SHORT_NAME.fullmatch(task) and task != "system" else quoted(task, rest)


def quoted(task: str, rest: str) -> str:
    """Write it in the form that only tasks have."""
    return f"${{{TASKS}[{_in_quotes(task)}].{rest}}}"


def _in_quotes(text: str) -> str:
    quote = "'" if '"' in text else '"'
    return f"{quote}{text}{quote}"


def bases(name: str) -> Iterator[tuple[str, JsonPath]]:
    """The names of values that a reference may begin with, and the steps from there, longest name first."""
    head = _HEAD.match(name)
    if head is None or head[0].count(".") > _STEPS_MAX:
        return
    steps = tuple(_steps(name[head.end() :]))
    base = head[0]
    inner: JsonPath = ()
    while True:
        yield base, (*inner, *steps)
        base, dot, last = base.rpartition(".")
        if not dot:
            return
        inner = (last, *inner)


class Found(NamedTuple):
    """What a reference found: the name of the value, the steps into it, and the text there (None if nothing).
    `is_json`: that is not text, by the JSON type of a part, or by the look of a whole value."""

    base: str
    steps: JsonPath
    text: str | None
    is_json: bool = False


def find(values: Mapping[str, str], name: str) -> Found | None:
    """Look up a reference among these values; None if it begins with none of them.

    Raises `ValuesMissing` and `Refused` for a part of a large value, as `content_of` does.
    """
    for base, steps in bases(name):
        if base not in values:
            continue
        large = large_value(values[base])
        if not steps:
            is_json = looks_like_json(values[base]) if large is None else large.is_json
            return Found(base, steps, values[base], is_json)
        try:
            part = part_of(_parsed(values[base]), steps) if large is None else part_in(large, steps)
        except (NotJson, Missing):
            return Found(base, steps, None)
        inner = large_value(part) if isinstance(part, str) else None
        return Found(base, steps, text_of(part), not isinstance(part, str) if inner is None else inner.is_json)
    return None


def said_of(steps: JsonPath) -> str:
    """Write steps in the form of a reference."""
    return "".join(f"[{step if isinstance(step, int) else _in_quotes(step)}]" for step in steps)


_parsed = lru_cache(maxsize=8)(parse_json)
"""Cached because a task may name many parts of one value."""


def _steps(text: str) -> Iterator[str | int]:
    for field, place, quoted, in_single in _STEP.findall(text):
        yield int(place) if place else field or quoted or in_single
