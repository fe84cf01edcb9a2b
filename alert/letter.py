"""What a sender and its couriers write to each other: a message to a channel, what became of it, as a line each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

READY = b"ready\n"
"""The first line of a courier: it has loaded what it sends with."""


class Outcome(StrEnum):
    """What became of a message."""

    SENT = "SENT"
    FAILED = "FAILED"
    """It did not arrive, or nobody knows; the channel is tried again."""
    REFUSED = "REFUSED"
    """The receiver does not want this message, whatever becomes of others."""


@dataclass(frozen=True)
class Letter:
    """A message to one channel.

    Args:
        url: the channel's, with its secrets. It goes to the courier through a pipe, never as an argument.
        subject: one line.
        text: plain text.
        html: the same for mails; empty: `text` is sent.
        severity: `info`, `success`, `warning` or `failure`, as apprise calls them.
        reach: inside hosts and networks to which it may connect; see `alert.reach`.
        send_until_s: by CLOCK_MONOTONIC, which all processes of a machine share; afterwards nothing more is sent.
        only_check: do not send: say whether the URL is one.
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
        """As a courier reads it."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Letter:
        fields: dict[str, Any] = json.loads(line)
        return cls(**{**fields, "reach": tuple(fields["reach"])})


@dataclass(frozen=True)
class Receipt:
    """What became of a letter. `reason` is a sentence without secrets, empty if it was sent."""

    outcome: Outcome
    reason: str = ""

    def to_line(self) -> bytes:
        """As the sender reads it."""
        return json.dumps([self.outcome, self.reason]).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Receipt:
        """Read it. Raises `ValueError` for anything else."""
        outcome, reason = json.loads(line)
        return cls(Outcome(outcome), str(reason))
