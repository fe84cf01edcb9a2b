"""`$.a.b[0]`: a path to one value in a JSON text, the small part of JSONPath (RFC 9535) that names exactly one.

    $             the whole
    .name         a field: letters, digits, `_` and `-`
    ["a name"]    a field of any name, quoted as in JSON
    [0], [-1]     an element of a list, from its beginning or its end

There are no wildcards, filters or functions: one parameter cannot hold the many values that they may find.
"""

from __future__ import annotations

import json
import re
from typing import Any

from model.errors import Refused

JsonPath = tuple[str | int, ...]
"""Names of fields and indexes of lists, from the outside in."""

_STEP = re.compile(r'\.([A-Za-z0-9_-]+)|\[(-?[0-9]{1,9})\]|\[("(?:[^"\\\x00-\x1f]|\\.)*")\]')


class Missing(Exception):
    """The JSON has nothing at that path."""


def parse_path(text: str) -> JsonPath:
    """The steps of a path. Raises `Refused` for an invalid path."""
    steps: list[str | int] = []
    position = 1
    while position < len(text) and text.startswith("$"):
        match = _STEP.match(text, position)
        if match is None:
            break
        name, place, quoted = match.groups()
        try:
            steps.append(name if name is not None else int(place) if place is not None else json.loads(quoted))
        except ValueError:
            break
        position = match.end()
    if not text.startswith("$") or position < len(text):
        raise Refused(f'"{text}" is not a path; write one such as $.result.items[0].id')
    return tuple(steps)


def parse_json(text: str) -> Any:
    """The JSON of a text, numbers with a point as they were written. Raises `Refused` for invalid JSON."""
    try:
        return json.loads(text, parse_float=_WrittenFloat)
    except (ValueError, RecursionError):
        raise Refused("it is not JSON") from None


def value_at(given: Any, path: JsonPath) -> str:
    """The value at the path: a text as it is, null as an empty text, anything else as JSON. Raises `Missing`."""
    for step in path:
        kind = dict if isinstance(step, str) else list
        if not isinstance(given, kind):  # a text also has indexes: its characters
            raise Missing
        within: Any = given
        try:
            given = within[step]
        except LookupError:
            raise Missing from None
    if isinstance(given, str):
        return given
    if isinstance(given, _WrittenFloat):
        return given.written
    return "" if given is None else json.dumps(given, ensure_ascii=False)


class _WrittenFloat(float):
    """Retains how it was written: version 1.10 is not 1.1."""

    written: str

    def __new__(cls, written: str) -> _WrittenFloat:
        made = super().__new__(cls, written)
        made.written = written
        return made
