"""Values that are too large for rows: where one would stand, a text names the file in the log store that has it.

    shoal-value:v1:KEY:BYTES:SHA-256:json:TASK:NAME;

The worker of the task that gave it writes the file, and the text goes wherever the value would: into rows, other values
and other runs. A worker reads the file for a task that names the value; a master only for what it decides itself, such
as `each`, SWITCH and paths into JSON (`master/drive/large_values.py`). What such a text stands for never changes, since
the text has its hash; so what was read is remembered here, whoever asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

from model.errors import Refused, ShoalError
from model.parameters.json_values import parse_json
from model.parameters.parameters import file_variable, parameter_variable

INLINE_BYTES_MAX = 65_536
"""A larger value goes into a file, where there is a log store."""
REMEMBERED_CHARACTERS_MAX = 64_000_000
_MARK = "shoal-value:v1:"
_LOST = "lost"
_FORM = re.compile(
    _MARK + r"([0-9]{8}/[0-9]{1,18}/[0-9]{1,18}/[0-9]{1,18}\.[0-9]{1,4}\.value|lost)"
    r":([0-9]{1,12}):([0-9a-f]{64}|):(json|text):([A-Za-z0-9_.~%-]*):([A-Za-z0-9_.]+);",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class LargeValue:
    """One value in a file, and who gave it. `is_json`: it is no text. An empty `digest`: nothing has kept it."""

    key: str
    size: int
    digest: str
    is_json: bool
    task: str
    name: str

    @classmethod
    def lost(cls, size: int, task: str, name: str) -> LargeValue:
        """One that nothing has kept."""
        return cls(_LOST, size, "", True, task, name)

    @property
    def written(self) -> str:
        """The text in its place."""
        kind = "json" if self.is_json else "text"
        return f"{_MARK}{self.key}:{self.size}:{self.digest}:{kind}:{quote(self.task, safe='')}:{self.name};"

    @property
    def said(self) -> str:
        """What it is, in a sentence."""
        return f'"{self.name}" of task "{self.task}" ({self.size:,} bytes)'


class ValuesMissing(ShoalError):
    """A decision needs large values that were not read yet: read them, and decide again."""

    def __init__(self, values: Collection[LargeValue]) -> None:
        super().__init__(f"{len(values)} large values are to be read")
        self.values = values


class Content:
    """What was read of a value."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def json(self) -> Any:
        """Its JSON. Raises `Refused` if it is none."""
        return parse_json(self.text)


_known: dict[LargeValue, Content | Refused] = {}


def remember(value: LargeValue, content: Content | Refused) -> None:
    """From now on it has this content, or none for that reason. The oldest are forgotten."""
    _known.pop(value, None)
    _known[value] = content
    left = REMEMBERED_CHARACTERS_MAX
    for each, known in list(_known.items())[::-1]:
        left -= len(known.text) if isinstance(known, Content) else 0
        if left < 0 and each != value:
            forget(each)


def forget(value: LargeValue) -> None:
    """It is to be read again."""
    _known.pop(value, None)


def large_value(text: str) -> LargeValue | None:
    """The value that a text stands for; None if it stands for itself."""
    found = _FORM.fullmatch(text) if text.startswith(_MARK) else None
    return None if found is None else _of(found)


def has_large(text: str) -> bool:
    """Whether a large value may be named in a text."""
    return _MARK in text


def large_in(text: str) -> list[LargeValue]:
    """Those that a text names, each once."""
    return list(dict.fromkeys(map(_of, _FORM.finditer(text)))) if has_large(text) else []


def content_of(value: LargeValue) -> Content:
    """What it is. Raises `ValuesMissing` if that must be read first, and `Refused` if nobody can."""
    if value.key == _LOST:
        raise Refused(
            f"{value.said} was too large to be passed on: a list of what elements or children give has at most 1 MiB; "
            f"have each give less, or write it into a file"
        )
    known = _known.get(value)
    if known is None:
        raise ValuesMissing([value])
    if isinstance(known, Refused):
        raise Refused(str(known))
    return known


def expanded(text: str, content: Callable[[LargeValue], str] = lambda value: content_of(value).text) -> str:
    """The text with each large value in its place. Raises as `content_of`."""
    return _FORM.sub(lambda found: content(_of(found)), text) if has_large(text) else text


def with_large(values: Mapping[str, str], params: str) -> dict[str, str]:
    """The values, those that the parameters of a task name as they are. Raises as `content_of`."""
    return {
        name: expanded(value) if has_large(value) and is_named(name, params) else value
        for name, value in values.items()
    }


def is_named(name: str, params: str) -> bool:
    """Whether the parameters of a task, as JSON text, may name a value, in any form."""
    forms = (json.dumps(name, ensure_ascii=False)[1:-1], parameter_variable(name), file_variable(name))
    return any(form in params for form in forms)


def joined(listed: str, room: int, task: str, name: str, *, in_quotes: bool = False) -> str:
    """A JSON text, with each large value in its place: as JSON, or within the quotes that are there. All of it is lost
    if there is no `room` for those.

    Raises as `content_of`.
    """

    def inserted(value: LargeValue) -> str:
        text = content_of(value).text
        quoted = text if value.is_json and not in_quotes else json.dumps(text, ensure_ascii=False)
        return quoted[1:-1] if in_quotes else quoted

    size = len(listed.encode()) + sum(each.size for each in large_in(listed))
    return LargeValue.lost(size, task, name).written if size > room else expanded(listed, inserted)


def _of(found: re.Match[str]) -> LargeValue:
    key, size, digest, kind, task, name = found.groups()
    return LargeValue(key, int(size), digest, kind == "json", unquote(task), name)
