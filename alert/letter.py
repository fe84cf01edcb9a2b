"""The protocol of a sender and its couriers: a letter or a receipt a line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

READY = b"ready\n"
"""The first line of a courier, once it has loaded its libraries."""


class Outcome(StrEnum):
    """What happened to a message."""

    SENT = "SENT"
    FAILED = "FAILED"
    """It did not arrive, or its arrival is unknown; the channel is retried."""
    REFUSED = "REFUSED"
    """The receiver refuses this message, independent of others."""


@dataclass(frozen=True)
class Letter:
    """A message to one channel.

    Args:
        url: the channel's, with its secrets. It reaches the courier through a pipe, never as an argument.
        subject: one line.
        text: plain text.
        html: the same for mails; empty: `text` is sent.
        severity: `info`, `success`, `warning` or `failure`, as apprise calls them.
        reach: internal hosts and networks to which it may connect; see `alert.reach`.
        send_until_s: by CLOCK_MONOTONIC, which all processes of a machine share; afterwards nothing more is sent.
        only_check: send nothing, only check the URL.
    """

    url: str
    subject: str
    text: str
    html: str
    severity: str
    reach: tuple[str, ...]
    send_until_s: float
    only_check: bool = False

    def __repr__(self) -> str:
        return "Letter(...)"

    def to_line(self) -> bytes:
        """Encode the letter for the courier."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Letter:
        fields: dict[str, Any] = json.loads(line)
        return cls(**{**fields, "reach": tuple(fields["reach"])})


@dataclass(frozen=True)
class Receipt:
    """The result of a letter. `reason` is a sentence without secrets, empty if it was sent."""

    outcome: Outcome
    reason: str = ""

    def to_line(self) -> bytes:
        """Encode the receipt for the sender."""
        return json.dumps([self.outcome, self.reason]).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Receipt:
        """Parse a receipt. Raises `ValueError` for any other line."""
        outcome, reason = json.loads(line)
        return cls(Outcome(outcome), str(reason))
