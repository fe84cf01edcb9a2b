"""Events as listeners get them, and the last of them, so that a listener that comes back misses nothing."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

EVERYBODY = ""
"""Instead of a project: any listener of the topic may see it."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """An event, encoded once for all listeners.

    Args:
        id: `ORIGIN-NUMBER`; empty = it cannot be resumed from (a ping).
        topic: which listeners get it; empty = all.
        kind: `runs`, `run`, `queue`, `cluster`, `definitions`, `pools`, `alerts`, `resync` or `ping`.
        project: who may see it: those who may see this project; `EVERYBODY`; None = those who may see all projects.
        data: a JSON object as text, with the topic in it.
    """

    id: str
    topic: str
    kind: str
    project: str | None
    data: str
    wire: bytes
    """As a server-sent event."""


PING = Event("", "", "ping", EVERYBODY, "{}", b": ping\n\n")
"""Shows both ends that the connection works."""


class Ring:
    """The last events of one process, up to `bytes_max`.

    Args:
        origin: identifies this process among all that ever answered; letters and digits only.
    """

    def __init__(self, origin: str, bytes_max: int) -> None:
        self.number = 0
        """The number of the last event."""
        self._origin = origin
        self._bytes_max = bytes_max
        self._events: deque[Event] = deque()
        self._bytes = 0

    def add(self, topic: str, kind: str, project: str | None, data: Mapping[str, Any]) -> Event:
        event = self.make(topic, kind, project, data, self.number + 1)
        self.number += 1
        self._events.append(event)
        self._bytes += len(event.wire)
        while self._bytes > self._bytes_max:
            self._bytes -= len(self._events.popleft().wire)
        return event

    def make(self, topic: str, kind: str, project: str | None, data: Mapping[str, Any], number: int) -> Event:
        """An event that is not stored: for one listener alone, after that `number`."""
        id_ = f"{self._origin}-{number}"
        text = json.dumps({"topic": topic, **data}, ensure_ascii=False, separators=(",", ":"))
        return Event(id_, topic, kind, project, text, f"id: {id_}\nevent: {kind}\ndata: {text}\n\n".encode())

    def number_of(self, id_: str) -> int | None:
        """The number in an event's id; None if it is another process's, or too old, or no id at all."""
        origin, _, number = id_.rpartition("-")
        if origin != self._origin or not number.isascii() or not number.isdecimal() or len(number) > 18:
            return None
        return int(number) if self.number - len(self._events) <= int(number) <= self.number else None

    def after(self, number: int) -> list[Event]:
        """The stored events after this number, in order."""
        first = self.number - len(self._events)
        return [event for place, event in enumerate(self._events, first + 1) if place > number]
