"""Values that are too large for rows: a text in their place names the file in the log store.

shoal-value:v1:KEY:BYTES:SHA-256:json:TASK:NAME;

The worker of the task that produced the value writes the file. The text travels like a value: into rows, other values
and other runs. Workers read the file for a task that names the value. Masters read it only for their own decisions,
such as `each`, SWITCH and paths into JSON (`master/drive/large_values.py`). The content never changes, since the text
has its hash, so this module caches what was read for all readers.

A list of the results of elements may be too large as well: then the master writes the file. Large elements of it stay
as such texts (`parts`), so only a reader of the whole list needs all of them at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

from model.errors import Refused, ShoalError
from model.parameters.json_values import Missing, NotJson, parse_json, part_of
from model.parameters.parameters import file_variable, parameter_variable

INLINE_BYTES_MAX = 65_536
"""A larger value goes into a file, if there is a log store."""
ELEMENT_BYTES_MAX = 4_096
"""For one element of `each`: its master holds the results of all elements."""
REMEMBERED_CHARACTERS_MAX = 64_000_000
WHOLE_BYTES_MAX = 16_777_216
"""The most bytes that a master assembles from parts, or reads at once."""
_MARK = "shoal-value:v1:"
_LOST = "lost"
_FORM = re.compile(
    _MARK + r"([0-9]{8}/[0-9]{1,18}/[0-9]{1,18}/(?:[0-9]{1,18}\.[0-9]{1,4}|[0-9a-f]{64})\.value|lost)"
    r":([0-9]{1,12}):([0-9a-f]{64}|):(json|text|parts):([A-Za-z0-9_.~%-]*):([A-Za-z0-9_.]+);",
    re.ASCII,
)
_PART = re.compile(f'"({_FORM.pattern})"', re.ASCII)


@dataclass(frozen=True, slots=True)
class LargeValue:
    """One value in a file, and the task that produced it. `is_json`: it is not text. `in_parts`: a JSON list with
    references to other large values. An empty `digest`: the content was not kept."""

    key: str
    size: int
    digest: str
    is_json: bool
    task: str
    name: str
    in_parts: bool = False

    @classmethod
    def lost(cls, size: int, task: str, name: str) -> LargeValue:
        """A value whose content was not kept."""
        return cls(_LOST, size, "", True, task, name)

    @property
    def written(self) -> str:
        kind = "parts" if self.in_parts else "json" if self.is_json else "text"
        return f"{_MARK}{self.key}:{self.size}:{self.digest}:{kind}:{quote(self.task, safe='')}:{self.name};"

    @property
    def is_lost(self) -> bool:
        return self.key == _LOST

    @property
    def said(self) -> str:
        return f'"{self.name}" of task "{self.task}" ({self.size:,} bytes)'


class ValuesMissing(ShoalError):
    """A decision needs large values that are not cached: read them, then decide again."""

    def __init__(self, values: Collection[LargeValue]) -> None:
        super().__init__(f"{len(values)} large values are to be read")
        self.values = values


class Content:
    """The content of a large value."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def json(self) -> Any:
        """The parsed content. Raises `NotJson`."""
        return parse_json(self.text)


class _Memory:
    def __init__(self) -> None:
        self.contents: dict[LargeValue, Content | Refused] = {}
        self._characters = 0

    def add(self, value: LargeValue, content: Content | Refused) -> None:
        self.drop(value)
        self.contents[value] = content
        self._characters += _length(content)
        while self._characters > REMEMBERED_CHARACTERS_MAX and len(self.contents) > 1:
            self.drop(next(iter(self.contents)))

    def drop(self, value: LargeValue) -> None:
        if (found := self.contents.pop(value, None)) is not None:
            self._characters -= _length(found)


def _length(content: Content | Refused) -> int:
    return len(content.text) if isinstance(content, Content) else 0


_memory = _Memory()


def remember(value: LargeValue, content: Content | Refused) -> None:
    """Cache the content, or the reason why nobody can read it. The oldest entries are dropped."""
    _memory.add(value, content)


def forget(value: LargeValue) -> None:
    """Drop a cached content, so that it is read again."""
    _memory.drop(value)


def large_value(text: str) -> LargeValue | None:
    """The large value that a text stands for; None for any other text."""
    found = _FORM.fullmatch(text) if text.startswith(_MARK) else None
    return None if found is None else _of(found)


def has_large(text: str) -> bool:
    """Whether a text may name a large value."""
    return _MARK in text


def large_in(text: str) -> list[LargeValue]:
    """The large values that a text names, each once."""
    return list(dict.fromkeys(map(_of, _FORM.finditer(text)))) if has_large(text) else []


def content_of(value: LargeValue) -> Content:
    """The cached content. Raises `ValuesMissing` if it must be read first, and `Refused` if nobody can read it."""
    if value.is_lost:
        raise Refused(
            f"{value.said} was too large to be passed on: a list without a log store, or of what children give, has at "
            f"most 1 MiB; have each give less, or write it into a file"
        )
    known = _memory.contents.get(value)
    if known is None:
        raise ValuesMissing([value])
    if isinstance(known, Refused):
        raise Refused(str(known))
    return known


def is_known(value: LargeValue) -> bool:
    """Whether the content, or the reason why nobody can read it, is cached."""
    return value in _memory.contents or value.is_lost


def whole(value: LargeValue) -> str:
    """The whole text including its parts. Raises as `content_of`, and `Refused` if it exceeds `WHOLE_BYTES_MAX`."""
    content = content_of(value)
    if not value.in_parts:
        return content.text
    parts = parts_of(value, content.text, WHOLE_BYTES_MAX)
    if missing := [part for part in parts if not is_known(part)]:
        raise ValuesMissing(missing)
    return put_together(content.text, whole)


def parts_of(value: LargeValue, text: str, bytes_max: int) -> list[LargeValue]:
    """The values named in the text of a value `in_parts`. Raises `Refused` if they exceed `bytes_max` together."""
    parts = large_in(text)
    size = value.size + sum(part.size for part in parts)
    if size > bytes_max:
        raise Refused(
            f"{value.said} has {len(parts):,} large parts, together {size:,} bytes, and only {bytes_max:,} are put "
            f"together; take one by a path, or each of them by each"
        )
    return parts


def put_together(text: str, content: Callable[[LargeValue], str]) -> str:
    """The JSON of a value `in_parts`, with the parts' contents inserted."""

    def inserted(found: re.Match[str]) -> str:
        part = large_value(found[1])
        assert part is not None, "it has the form of one"
        return content(part) if part.is_json else json.dumps(content(part), ensure_ascii=False)

    return _PART.sub(inserted, text)


def part_in(value: LargeValue, path: Sequence[str | int]) -> Any:
    """The part at a path, or the reference text of a large value there. Raises as `content_of`, and `Missing`."""
    try:
        given = content_of(value).json
    except NotJson:
        raise Missing from None
    for place, step in enumerate(path):
        given = part_of(given, [step])
        part = large_value(given) if value.in_parts and isinstance(given, str) else None
        if part is not None and place + 1 < len(path):
            return part_in(part, path[place + 1 :])
    return given


def expanded(text: str, content: Callable[[LargeValue], str] = whole) -> str:
    """Insert the content of each large value into a text. Raises as `whole`."""
    return _FORM.sub(lambda found: content(_of(found)), text) if has_large(text) else text


def with_large(values: Mapping[str, str], params: str) -> dict[str, str]:
    """Insert the contents of those large values that a task's parameters name. Raises as `whole`."""
    return {
        name: expanded(value) if has_large(value) and is_named(name, params) else value
        for name, value in values.items()
    }


def is_named(name: str, params: str) -> bool:
    """Whether a task's parameters, as JSON text, may name a value in any form."""
    forms = (json.dumps(name, ensure_ascii=False)[1:-1], parameter_variable(name), file_variable(name))
    return any(form in params for form in forms)


def joined(listed: str, room: int, task: str, name: str) -> str:
    """Insert each large value into a JSON text, within the existing quotes. If there is no `room`, the whole value is
    lost.

    Raises as `whole`.
    """
    size = len(listed.encode()) + sum(each.size for each in large_in(listed))
    if size > room:
        return LargeValue.lost(size, task, name).written
    return expanded(listed, lambda value: json.dumps(whole(value), ensure_ascii=False)[1:-1])


def _of(found: re.Match[str]) -> LargeValue:
    key, size, digest, kind, task, name = found.groups()
    return LargeValue(key, int(size), digest, kind != "text", unquote(task), name, kind == "parts")
