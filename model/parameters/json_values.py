"""JSON values, and the parts that a path names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from model.errors import Refused

JsonPath = tuple[str | int, ...]
"""Names of fields and indexes of lists, from the outside in."""

_SCALAR = re.compile(r"true|false|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Missing(Exception):
    """The JSON has nothing at that path."""


class NotJson(Refused):
    """The text is not JSON."""

    def __init__(self) -> None:
        super().__init__("it is not JSON")


def parse_json(text: str) -> Any:
    """Parse JSON; numbers with a point keep their spelling. Raises `NotJson`."""
    try:
        return json.loads(text, parse_float=WrittenFloat)
    except (ValueError, RecursionError):
        raise NotJson from None


def part_of(given: Any, path: Sequence[str | int]) -> Any:
    """The part at the path. Raises `Missing`."""
    for step in path:
        kind = dict if isinstance(step, str) else list
        if not isinstance(given, kind):  # a text also has indexes: its characters
            raise Missing
        within: Any = given
        try:
            given = within[step]
        except LookupError:
            raise Missing from None
    return given


def with_leaves(given: Any, change: Callable[[Any], Any]) -> Any:
    """Apply `change` to each value that is no list or object."""
    if isinstance(given, list):
        return [with_leaves(each, change) for each in given]
    if isinstance(given, dict):
        return {name: with_leaves(each, change) for name, each in given.items()}
    return change(given)


def with_texts(given: Any, change: Callable[[str], str]) -> Any:
    """Apply `change` to each text; field names stay."""
    return with_leaves(given, lambda each: change(each) if isinstance(each, str) else each)


def text_of(given: Any) -> str:
    """A JSON value as text: a text as is, null as an empty text, anything else as JSON."""
    if isinstance(given, str):
        return given
    if isinstance(given, WrittenFloat):
        return given.written
    return "" if given is None else json.dumps(given, ensure_ascii=False)


def is_container(text: str) -> bool:
    """Whether a text is a JSON list or object."""
    return text.lstrip(" \t\r\n").startswith(("[", "{")) and is_json(text)


def is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return False
    return True


def looks_like_json(text: str) -> bool:
    """Whether a text is a JSON list, object, number, true or false."""
    return _SCALAR.fullmatch(text) is not None or is_container(text)


def _refused(word: str) -> None:
    raise ValueError(word)  # NaN and Infinity, which Python reads and JSON has not


class WrittenFloat(float):
    """Keeps the original spelling: version 1.10 is not 1.1, and 1e999 is not infinite."""

    written: str

    def __new__(cls, written: str) -> WrittenFloat:
        made = super().__new__(cls, written)
        made.written = written
        return made
