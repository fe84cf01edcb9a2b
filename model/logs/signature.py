"""Requests for a part of a log: the attempt, the range, the expiry, and their signature.

Anyone who sees a request can read the same part for a minute, and nothing else. A worker generates its key, stores it
in its folder and writes it to the database, where only the roles that may read logs can read it
(`dao/tasks/task_logs.py`).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from model.errors import Refused

LIVES_S = 60
"""Long enough for a slow response to begin."""

TIME_HEADER = "X-Shoal-Time"
"""The worker's time: seconds since its machine started, independent of the wall clock. Refusals carry it, so that a
reader can sign for it."""


def signed(key: str, path: str, offset: int, limit: int, now_s: float) -> dict[str, str]:
    """The query of a request. `path` identifies the attempt, `now_s` is the worker's time (`TIME_HEADER`)."""
    signed = {"offset": str(offset), "limit": str(limit), "expires": str(int(now_s) + LIVES_S)}
    return {**signed, "signature": _signature(key, path, signed)}


def check(key: str, path: str, query: Mapping[str, str], now_s: float) -> None:
    """Check that the request was signed with this key, unchanged, within its time. Raises `Refused`."""
    signed = {name: query.get(name, "") for name in ("offset", "limit", "expires")}
    given = query.get("signature", "").encode(errors="replace")
    if not hmac.compare_digest(_signature(key, path, signed).encode(), given):
        raise Refused("it is not signed with this worker's key")
    if not now_s <= int(signed["expires"]) <= now_s + 2 * LIVES_S:
        raise Refused("it has expired")


def _signature(key: str, path: str, signed: Mapping[str, str]) -> str:
    text = "\n".join(("shoal log", path, signed["offset"], signed["limit"], signed["expires"]))
    return hmac.new(key.encode(), text.encode(errors="replace"), hashlib.sha256).hexdigest()
