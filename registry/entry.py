"""The content of an entry: a heartbeat as JSON. Any other content is skipped, and logged once."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from dao.logger import logger
from model.cluster.nodes import Heartbeat, NodeKind

log = logger()

_REPORTED_MAX = 1_000


def write_entry(heartbeat: Heartbeat) -> str:
    return heartbeat.model_dump_json()


class EntryReader:
    """Reads entries of all kinds; remembers which it has reported, since they are read every few seconds."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._reported: set[tuple[NodeKind, str]] = set()

    def read(self, kind: NodeKind, entries: Iterable[tuple[str, str | bytes]]) -> list[Heartbeat]:
        """The heartbeats among `entries`, pairs of an epoch in digits and a text, by rising epoch."""
        heartbeats = (self._read_one(kind, name, text) for name, text in entries)
        return sorted((each for each in heartbeats if each is not None), key=lambda heartbeat: heartbeat.epoch)

    def _read_one(self, kind: NodeKind, name: str, text: str | bytes) -> Heartbeat | None:
        try:
            heartbeat = Heartbeat.model_validate_json(text)
            if (heartbeat.kind, str(heartbeat.epoch)) == (kind, name.lstrip("0")):
                return heartbeat
            reason = f"it says that it is {heartbeat.kind} {heartbeat.epoch}"
        except ValidationError as error:
            reason = str(error.errors(include_input=False, include_url=False)[0]["msg"])
        if (kind, name) not in self._reported and len(self._reported) < _REPORTED_MAX:
            self._reported.add((kind, name))
            log.warning("registry_entry_unreadable", registry=self._url, kind=kind, entry=name, reason=reason)
        return None
