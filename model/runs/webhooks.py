"""Signed webhooks that start workflows, by the Standard Webhooks specification (standardwebhooks.com). Pure.

The sender gives each event an id, and repeats it under that id until it is answered. It signs the id, the time of
sending and the body, joined by dots.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from model.errors import Refused, Unauthenticated

BODY_BYTES_MAX = 262_144
ID_LENGTH_MAX = 200
SIGNATURES_MAX = 10
"""A sender that rotates its key signs with both."""
APART_MAX = timedelta(minutes=5)
"""The largest difference between sending and now, either way: a recorded request cannot be replayed later."""
PATH = "/workflow-definitions/{code}/webhook"
"""The path of its address, below the API's."""
KEY_PREFIX = "whsec_"
_VERSION = "v1"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One sending of an event."""

    id: str
    sent_at: datetime
    signatures: Collection[str]
    body: bytes

    @classmethod
    def read(cls, id_: str, timestamp: str, signatures: str, body: bytes) -> Delivery:
        """The delivery in these headers and this body.

        Args:
            id_: of the event, `webhook-id`.
            timestamp: seconds since 1970, `webhook-timestamp`.
            signatures: `webhook-signature`: each as `v1,BASE64`, separated by blanks.
            body: as it was sent.
        Raises:
            Unauthenticated: a header is missing or cannot be read.
        """
        try:
            sent_at = datetime.fromtimestamp(int(timestamp), UTC)
        except (ValueError, OverflowError, OSError):
            raise Unauthenticated("webhook-timestamp is not a time; send the seconds since 1970") from None
        if not id_.isascii() or not id_.isprintable() or not 0 < len(id_) <= ID_LENGTH_MAX:
            raise Unauthenticated(f"webhook-id has 1 to {ID_LENGTH_MAX} printable characters; give each event its own")
        found = [value for version, _, value in (each.partition(",") for each in signatures.split())
                 if version == _VERSION]  # fmt: skip
        if not 0 < len(found) <= SIGNATURES_MAX:
            raise Unauthenticated("webhook-signature has no signature; send v1, a comma and the signature in Base64")
        return cls(id_, sent_at, found, body)

    def is_signed_with(self, secret: str) -> bool:
        """Whether this secret made one of its signatures: `whsec_` and the key in Base64, or the key itself as text."""
        right = signature(secret, self.id, str(int(self.sent_at.timestamp())), self.body).encode()
        # A byte that no signature has must not raise.
        return any(hmac.compare_digest(right, each.encode("utf-8", "replace")) for each in self.signatures)

    def check_time(self, now: datetime) -> None:
        """Raises `Unauthenticated` if it was sent too long ago, or in the future."""
        if abs(now - self.sent_at) > APART_MAX:
            raise Unauthenticated(
                f"webhook-timestamp is more than {APART_MAX.seconds // 60} min from now; send the event again, and "
                "check the sender's clock"
            )

    def event(self) -> str:
        """The run's parameter `event`, a JSON object. The body is JSON in it, or text if it is none.

        Raises `Refused` if the body is not UTF-8.
        """
        try:
            text = self.body.decode()
        except UnicodeDecodeError:
            raise Refused("the body of a webhook is text in UTF-8; encode it in Base64") from None
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = text
        said = {"kind": "webhook", "id": self.id, "sent_at": self.sent_at.isoformat(), "body": body}
        return json.dumps(said, ensure_ascii=False)


def signature(secret: str, id_: str, timestamp: str, body: bytes) -> str:
    """The signature of an event, in Base64: HMAC with SHA-256."""
    signed = f"{id_}.{timestamp}.".encode() + body
    return base64.b64encode(hmac.digest(_key(secret), signed, hashlib.sha256)).decode()


def _key(secret: str) -> bytes:
    if secret.startswith(KEY_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(KEY_PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()
