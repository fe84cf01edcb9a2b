"""Which fields of an input were read: so that none is lost in silence.

Each mapping of an input is read through `Fields`, which marks what is asked for. At the end every leaf of the input is
mapped, known to be irrelevant, or reported; one that nobody asked for is reported as lost. What is empty (null, "", [],
{}) says nothing that could be lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from math import isfinite
from types import MappingProxyType
from typing import Any

Path = tuple[str | int, ...]
SHOWN_MAX = 200
_CAPITAL = re.compile("(?<=[a-z0-9])([A-Z])")


class Mark(Enum):
    """What became of a field."""

    MAPPED = "mapped"
    IRRELEVANT = "irrelevant"
    """It says nothing about what the workflow does: ids of rows, dates of changes, copies of other fields."""
    REPORTED = "reported"


@dataclass(frozen=True)
class Counts:
    """How many leaves an input has, and what became of them."""

    fields: int = 0
    mapped: int = 0
    irrelevant: int = 0
    reported: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Those of two inputs."""
        return Counts(
            self.fields + other.fields,
            self.mapped + other.mapped,
            self.irrelevant + other.irrelevant,
            self.reported + other.reported,
        )


class Ledger:
    """The marks of one input.

    Args:
        tree: plain data.
        root: where it stands, if it stands for a part of another input.
    """

    def __init__(self, tree: Any, root: Path = ()) -> None:
        self._tree = tree
        self._root = root
        self._derived: list[Ledger] = []
        self._marks: dict[Path, Mark] = {}
        self._begun: set[Path] = set()
        """The marked fields, and all that have one below them."""

    def mark(self, path: Path, mark: Mark) -> None:
        """What became of a field, with all below it that has no mark of its own. What was read stays mapped, unless it
        is reported."""
        if mark is Mark.REPORTED or self._marks.get(path, Mark.IRRELEVANT) is Mark.IRRELEVANT:
            self._marks[path] = mark
            self._begun.update(path[:length] for length in range(len(path) + 1))

    def is_marked(self, path: Path) -> bool:
        """Whether this very field, or one below it, was asked for."""
        return path in self._begun

    def unread(self) -> Iterator[tuple[Path, Any]]:
        """The leaves that nobody asked for, and their values; also of what stands for parts of this input."""
        yield from (
            (path, value) for path, value in _leaves(self._tree, self._root) if self._mark_of(path, value) is None
        )
        for each in self._derived:
            yield from each.unread()

    def derived(self, tree: Any, root: Path) -> Ledger:
        """The marks of what stands for a part of this input, at the same place."""
        self._derived.append(Ledger(tree, root))
        return self._derived[-1]

    def counts(self) -> Counts:
        """What became of all leaves. Those that nobody asked for count in `fields` alone."""
        marks = [self._mark_of(path, value) for path, value in _leaves(self._tree, self._root)]
        return Counts(len(marks), *(marks.count(mark) for mark in Mark))

    def _mark_of(self, path: Path, value: Any) -> Mark | None:
        for length in range(len(path), -1, -1):
            if (mark := self._marks.get(path[:length])) is not None:
                return mark
        return Mark.IRRELEVANT if says_nothing(value) else None


class Fields:
    """A mapping of an input, whose fields are marked as they are read.

    Args:
        content: the mapping.
        path: where it stands in the input.
        ledger: of the input.
        names: the name that is asked for -> the one that this form of the input has. A name in snake_case is found
            without that.
    """

    def __init__(
        self, content: Mapping[str, Any], path: Path, ledger: Ledger, names: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.content = content
        self.path = path
        self._ledger = ledger
        self._names = names

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field with all below it; null is none."""
        key = self._key(name)
        self._ledger.mark((*self.path, key), Mark.MAPPED)
        value = self.content.get(key)
        return default if value is None else value

    def text(self, name: str, default: str = "") -> str:
        """The value as text; of a list or mapping its JSON."""
        value = self.get(name)
        if value is None or value == "":
            return default
        if isinstance(value, bool):
            return str(value).lower()
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def number(self, name: str, default: float = 0) -> float | None:
        """The value as a number, which some forms write as text; None if it is none."""
        value = self.get(name, "")
        if isinstance(value, str) and not value.strip():
            return float(default)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
        return number if isfinite(number) else None

    def listed(self, name: str) -> list[Any]:
        """The value as a list; a single one is a list of one."""
        value = self.get(name)
        if value in (None, ""):
            return []
        return value if isinstance(value, list) else [value]

    def child(self, name: str) -> Fields:
        """The mapping in a field; an empty one if there is none. Its own fields are marked one by one."""
        key = self._key(name)
        value = self.content.get(key)
        return self._below(value if isinstance(value, dict) else {}, (*self.path, key))

    def children(self, name: str) -> list[Fields]:
        """The mappings of the list in a field."""
        key = self._key(name)
        value = self.content.get(key)
        entries = value if isinstance(value, list) else []
        return [
            self._below(each, (*self.path, key, place)) for place, each in enumerate(entries) if isinstance(each, dict)
        ]

    def seen(self, name: str) -> list[Mapping[str, Any]]:
        """The same mappings as plain data, which are not marked."""
        value = self.peek(name)
        return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []

    def has(self, name: str) -> bool:
        """Whether a field says anything; it is not marked."""
        return not says_nothing(self.content.get(self._key(name)))

    def peek(self, name: str) -> Any:
        """The value of a field, which is not marked."""
        return self.content.get(self._key(name))

    def irrelevant(self, *names: str) -> None:
        """These fields say nothing about what a workflow does."""
        for name in names:
            self._ledger.mark((*self.path, self._key(name)), Mark.IRRELEVANT)

    def reported(self, name: str) -> None:
        """The caller reports this field."""
        self._ledger.mark((*self.path, self._key(name)), Mark.REPORTED)

    def rest(self) -> dict[str, Any]:
        """The fields with a value that nobody has asked for yet; the caller reports them."""
        found = {}
        for key, value in self.content.items():
            path = (*self.path, key)
            if not says_nothing(value) and not self._ledger.is_marked(path):
                self._ledger.mark(path, Mark.REPORTED)
                found[key] = value
        return found

    def renamed(self, names: Mapping[str, str]) -> Fields:
        """The same with other names."""
        return Fields(self.content, self.path, self._ledger, {**self._names, **names})

    def replaced(self, content: Mapping[str, Any]) -> Fields:
        """What stands for these fields in another form; the caller has marked those."""
        return Fields(content, self.path, self._ledger.derived(content, self.path))

    def _below(self, content: Mapping[str, Any], path: Path) -> Fields:
        return Fields(content, path, self._ledger)

    def _key(self, name: str) -> str:
        if (other := self._names.get(name)) is not None and other in self.content:
            return other
        if name in self.content:
            return name
        snake = _CAPITAL.sub(r"_\1", name).lower()
        return snake if snake in self.content else name


def says_nothing(value: Any) -> bool:
    """Whether a value is empty, with all in it."""
    if isinstance(value, dict):
        return all(map(says_nothing, value.values()))
    return all(map(says_nothing, value)) if isinstance(value, list) else value is None or value == ""


def shown(path: Path) -> str:
    """A path as people write it: `[0].taskDefinitionList[2].name`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def short(value: Any) -> str:
    """A value as it is shown in a sentence."""
    text = str(value)
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 3]}..."


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, (*path, key))
    elif isinstance(value, list) and value:
        for place, each in enumerate(value):
            yield from _leaves(each, (*path, place))
    else:
        yield path, value
