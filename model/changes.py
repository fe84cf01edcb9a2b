"""What a transaction changed, as text that fits into notifications.

A payload is a list of parts, separated by spaces. A part is a letter and ids: `r` runs, `t` runs whose tasks changed,
`d` workflow definitions. Ids are hexadecimal, each as the difference to the one before; `*` in place of ids means many.
`q` (the queue of commands), `e` (the error commands), `n` (nodes) and `p` (resource pools) have no ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from model.errors import Refused

PAYLOAD_CHARACTERS_MAX = 7_000
"""PostgreSQL accepts just under 8,000 bytes; a payload is ASCII."""
PARTS_MAX = 3
"""A kind with more parts is sent as "many": watchers read all of it again."""
_NAMED = {"r": "runs", "t": "tasks", "d": "definitions"}
_PLAIN = {"q": "queue", "e": "errors", "n": "nodes", "p": "pools"}


@dataclass(slots=True)
class Changes:
    """The changes. `many` names the fields whose ids are not all known."""

    runs: set[int] = field(default_factory=set)
    """The ids of runs whose own row changed."""
    tasks: set[int] = field(default_factory=set)
    """The ids of runs of which attempts changed."""
    definitions: set[int] = field(default_factory=set)
    """The codes of workflow definitions that changed, or whose schedules did."""
    queue: bool = False
    """Whether commands were inserted or taken."""
    errors: bool = False
    """Whether the error commands changed."""
    nodes: bool = False
    """Whether nodes joined, left, were fenced, or have another slot."""
    pools: bool = False
    """Whether people changed resource pools, or resources were set aside or taken back. Who holds a resource changes
    with the attempts."""
    alerts: bool = False
    """Whether alerts, their deliveries or their settings changed. Never in a payload: alerts have notifications of
    their own."""
    many: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)

    def add(self, other: Changes) -> None:
        for name in ("runs", "tasks", "definitions", "many"):
            getattr(self, name).update(getattr(other, name))
        for name in (*_PLAIN.values(), "alerts"):
            setattr(self, name, getattr(self, name) or getattr(other, name))

    def payloads(self) -> Iterator[str]:
        """The changes as text, in as many payloads as needed."""
        gathered, size = list[str](), 0
        for part in self._parts():
            if size + len(part) >= PAYLOAD_CHARACTERS_MAX:
                yield " ".join(gathered)
                gathered, size = [], 0
            gathered.append(part)
            size += len(part) + 1
        if gathered:
            yield " ".join(gathered)

    def _parts(self) -> Iterator[str]:
        for letter, name in _PLAIN.items():
            if getattr(self, name):
                yield letter
        for letter, name in _NAMED.items():
            texts = [] if name in self.many else _differences(getattr(self, name))
            if name in self.many or len(texts) > PARTS_MAX:
                texts = ["*"]
            yield from (letter + text for text in texts)


def read_changes(payload: str) -> Changes:
    """The changes in one payload. Raises `Refused` for another text."""
    changes = Changes()
    for part in payload.split(" "):
        letter, text = part[:1], part[1:]
        if letter in _PLAIN and not text:
            setattr(changes, _PLAIN[letter], True)
        elif letter in _NAMED and text == "*":
            changes.many.add(_NAMED[letter])
        elif letter in _NAMED:
            getattr(changes, _NAMED[letter]).update(_ids(text))
        else:
            raise Refused(f'"{payload[:100]}" does not say what changed')
    return changes


def _differences(ids: set[int]) -> list[str]:
    """Format ids in hexadecimal, each as the difference to the one before, in texts that leave room in a payload."""
    texts = list[str]()
    gathered, size, before = list[str](), 0, 0
    for id_ in sorted(ids):
        word = f"{id_ - before:x}"
        if size + len(word) + 1 >= PAYLOAD_CHARACTERS_MAX:
            texts.append(",".join(gathered))
            word, gathered, size = f"{id_:x}", [], 0
        gathered.append(word)
        size += len(word) + 1
        before = id_
    return [*texts, ",".join(gathered)] if gathered else texts


def _ids(text: str) -> Iterator[int]:
    id_ = 0
    for word in text.split(","):
        try:
            id_ += int(word, 16)
        except ValueError:
            raise Refused(f'"{word[:100]}" is no id in hexadecimal') from None
        yield id_
