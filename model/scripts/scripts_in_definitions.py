"""The bash scripts of definitions, in which each `${name}` is a parameter."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from model.parameters.parameters import references, replace_references
from model.parameters.results import is_of_bash
from model.scripts.shell_reader import read_script
from model.scripts.shell_script import FIRST, NamedScript
from model.time.intervals import Interval
from model.time.time_expressions import replace_time_expressions

_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def written_script(text: str) -> NamedScript:
    """The script of a definition; each `${name}` is a parameter."""
    text = replace_time_expressions(text, _ANY_TIME, ZoneInfo("UTC"), Interval(_ANY_TIME, _ANY_TIME))
    names: list[str] = []

    def insert(name: str, _: str) -> str:
        names.append(name)
        return chr(FIRST + len(names) - 1)

    named = [name for name in references(text) if not is_of_bash(name)]
    marked = replace_references(text, dict.fromkeys(named, ""), insert)
    return NamedScript.of(read_script(marked), names)
