"""Scripts as interpreters read them: without what editors of Windows add.

A byte order mark makes the first command unknown, and a carriage return at the end of a line is for bash a part of the
last word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_UNREADABLE = re.compile(r"^\ufeff|\r+$", re.MULTILINE)


def plain_script(text: str) -> str:
    """The text without these."""
    return _UNREADABLE.sub("", text)


def with_plain_script(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a task, its script made plain."""
    script = params.get("script")
    return {**params, "script": plain_script(script)} if isinstance(script, str) else params


def changed_scripts(content: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each script in a definition that is not stored as it came."""
    tasks = content.get("tasks")
    for task in tasks if isinstance(tasks, list | tuple) else ():
        params = task.get("params") if isinstance(task, Mapping) else None
        script = params.get("script") if isinstance(params, Mapping) else None
        if isinstance(script, str) and (sentence := changed_script(script, f'task "{task.get("name")}": its script')):
            yield sentence


def changed_script(text: str, what: str) -> str | None:
    """The sentence for one script; None if it is stored as it came."""
    if plain_script(text) == text:
        return None
    return f"{what} is saved without its carriage returns and byte order mark, which no interpreter reads as meant"
