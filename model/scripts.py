"""Scripts as interpreters read them: without what editors of Windows add.

A byte order mark makes the first command unknown, and a carriage return at the end of a line is for bash a part of the
last word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_FIELDS = ("script", "sql", "pre_statements", "post_statements", "command", "args")
_IS_SAVED = "is saved without its carriage returns and byte order mark, which no interpreter reads as meant"
_UNREADABLE = re.compile(r"^\ufeff|\r+$", re.MULTILINE)


def plain_script(text: str) -> str:
    """The text without these."""
    return _UNREADABLE.sub("", text)


def with_plain_scripts(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a task, its scripts and statements made plain."""
    return {**params, **{field: _each(params[field], plain_script) for field in _FIELDS if field in params}}


def changed_scripts(content: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each script in a definition that is not stored as it came."""
    tasks = content.get("tasks")
    for task in tasks if isinstance(tasks, list | tuple) else ():
        params = task.get("params") if isinstance(task, Mapping) else None
        for field in _FIELDS:
            given = params.get(field) if isinstance(params, Mapping) else None
            if _each(given, plain_script) != given:
                yield f'task "{task.get("name")}": its {field.replace("_", " ")} {_IS_SAVED}'


def _each(given: Any, change: Callable[[str], str]) -> Any:
    if isinstance(given, str):
        return change(given)
    return [_each(each, change) for each in given] if isinstance(given, list | tuple) else given


def changed_script(text: str, what: str) -> str | None:
    """The sentence for one script; None if it is stored as it came."""
    if plain_script(text) == text:
        return None
    return f"{what} {_IS_SAVED}"
