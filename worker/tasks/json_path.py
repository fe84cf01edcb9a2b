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
from model.parameters.json_values import JsonPath, part_of, text_of

_STEP = re.compile(r'\.([A-Za-z0-9_-]+)|\[(-?[0-9]{1,9})\]|\[("(?:[^"\\\x00-\x1f]|\\.)*")\]')


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


def value_at(given: Any, path: JsonPath) -> str:
    """The value at the path: a text as it is, null as an empty text, anything else as JSON. Raises `Missing`."""
    return text_of(part_of(given, path))
