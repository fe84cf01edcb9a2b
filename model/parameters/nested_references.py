"""Resolution of parameters that refer to others: `${name}` and `$[time expression]` are replaced once, with bounds.

An inserted value is data and is not parsed again: a value that a task printed never becomes an expression.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from model.errors import Refused
from model.parameters.builtin import check_interval_names
from model.parameters.parameters import PARAMETERS_BYTES_MAX, Room, references, replace_references
from model.parameters.results import bases, find, may_be_more
from model.parameters.secret_values import sealed_value
from model.time.intervals import Interval
from model.time.time_expressions import replace_time_expressions

DEPTH_MAX = 50
"""The maximum length of a chain of values that refer to each other; references beyond it stay as written."""


def resolve(
    raw: Mapping[str, str],
    known: Mapping[str, str],
    at: datetime,
    zone: ZoneInfo,
    interval: Interval | None = None,
) -> dict[str, str]:
    """Replace the references in each value of `raw`: by other values of `raw`, else by those of `known`.

    A value that refers to its own name, directly or in a cycle, means the one in `known`. An unknown name stays as
    written, unless it names the interval. A name may continue into a JSON value: `${files[0].name}`.

    Args:
        raw: as written.
        known: already resolved.
        at: aware; the base of `$[...]`.
        zone: the calendar for that.
        interval: of the run; `known` has its parameters.
    Raises:
        Refused: the values are too large together, or one refers to a secret or to a missing interval.
    """
    resolver = _Resolver(raw, known, at, zone, interval)
    return {name: resolver.value(name, 0) for name in raw}


class _Resolver:
    def __init__(
        self,
        raw: Mapping[str, str],
        known: Mapping[str, str],
        at: datetime,
        zone: ZoneInfo,
        interval: Interval | None,
    ) -> None:
        self._raw = raw
        self._known = known
        self._at = at
        self._zone = zone
        self._interval = interval
        self._done: dict[str, str] = {}
        self._under_way: set[str] = set()
        self._room = Room("parameters that are made of each other", PARAMETERS_BYTES_MAX)

    def value(self, name: str, depth: int) -> str:
        if name in self._done:
            return self._done[name]
        text = self._raw[name]
        if "$" in text and depth < DEPTH_MAX:
            self._under_way.add(name)
            text = replace_time_expressions(text, self._at, self._zone, self._interval)
            named = self._named_in(text, depth + 1)
            check_interval_names(text, named)
            text = replace_references(text, named, self._insert)
            self._under_way.discard(name)
        self._done[name] = text
        return text

    def _named_in(self, text: str, depth: int) -> dict[str, str]:
        values = {}
        for name in references(text):
            if name in self._raw and name not in self._under_way:
                values[name] = self.value(name, depth)
            elif name in self._known:
                values[name] = self._known[name]
            elif may_be_more(name) and (part := self._part(name, depth)) is not None:
                values[name] = part
        return values

    def _part(self, name: str, depth: int) -> str | None:
        """A part of a JSON value, if the name denotes one."""
        for base, _ in bases(name):
            if base in self._raw and base not in self._under_way:
                found = find({base: self.value(base, depth)}, name)
            elif base in self._known:
                found = find({base: self._known[base]}, name)
            else:
                continue
            return None if found is None else found.text
        return None

    def _insert(self, name: str, value: str) -> str:
        if sealed_value(value) is not None:
            raise Refused(
                f"${{{name}}} is SECRET and cannot be part of another parameter; write it where the task uses it"
            )
        return self._room.take(name, value)
