"""Removes from scripts what Windows editors add.

A byte order mark makes the first command unknown, and bash takes a carriage return at the end of a line for a part of
the last word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_FIELDS = ("script", "sql", "pre_statements", "post_statements", "command", "args")
_IS_SAVED = "is saved with plain line ends and without a byte order mark: no interpreter reads others as meant"
_UNREADABLE = re.compile(r"^\ufeff|\r+$", re.MULTILINE)
_LINE_END = re.compile(r"\r+")


def plain_script(text: str) -> str:
    """Remove byte order mark and carriage returns; in a text with only carriage returns they become line ends."""
    plain = _plain(text)
    return plain if "\n" in plain else _LINE_END.sub("\n", plain)


def _plain(text: str) -> str:
    """The same for a statement or an argument, which may contain carriage returns."""
    return _UNREADABLE.sub("", text)


def with_plain_scripts(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a task with normalized scripts and statements; a WAIT task has them in its `for`."""
    plain = {field: _each(params[field], _change_of(field)) for field in _FIELDS if field in params}
    if isinstance(thing := params.get("for"), dict):
        plain["for"] = with_plain_scripts(thing)
    return {**params, **plain}


def changed_scripts(content: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each script in a definition that is not stored as written."""
    tasks = content.get("tasks")
    for task in tasks if isinstance(tasks, list | tuple) else ():
        params = task.get("params") if isinstance(task, Mapping) else None
        for field in _FIELDS:
            given = params.get(field) if isinstance(params, Mapping) else None
            if _each(given, _change_of(field)) != given:
                yield f'task "{task.get("name")}": its {field.replace("_", " ")} {_IS_SAVED}'


def _change_of(field: str) -> Callable[[str], str]:
    return plain_script if field == "script" else _plain


def _each(given: Any, change: Callable[[str], str]) -> Any:
    if isinstance(given, str):
        return change(given)
    return [_each(each, change) for each in given] if isinstance(given, list | tuple) else given


def changed_script(text: str, what: str) -> str | None:
    """The sentence for one script; None if it is stored as written."""
    if plain_script(text) == text:
        return None
    return f"{what} {_IS_SAVED}"
