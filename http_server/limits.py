"""What clients may take of a server.

The values of each are in `api/server.py`, `metrics/serving.py` and `worker/logs/service.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may take of a server."""

    connections: int
    """How many there may be."""
    head_s: float
    """Seconds within which a head must have arrived: after the connection was made, or after its first byte. The same
    for a TLS handshake."""
    body_s: float
    """The same for the whole body, after its head."""
    head_bytes: int
    """How long a head may be."""
    connection_s: float | None = None
    """Seconds after which a connection is closed, whatever it does."""
    idle_s: int = 30
    """Seconds after which it is closed if it has no further request."""
    one_request: bool = False
    """Whether it is closed after its first answer."""
    at_once: int = 1024
    """How many may wait to be accepted. As many are accepted in one turn of the loop: it is less than `connections`
    where those who ask at once are to be answered before others take their place."""
    always: Collection[str] = ("/healthz",)
    """The paths of requests that are answered even when all connections are in use."""
    stop_s: float = 1.0
    """Seconds that a stop waits for the answers to requests that have begun."""
