"""A process's own health, for supervisors, load balancers and people.

It *lives* while its loop turns and it tries to beat; it is *ready* while it has everything that it needs to take work.
A server that is away only makes it not ready: a restart would not bring that server back. Probes are answered in
another thread (`metrics/responder.py`), so that they reveal a hanging loop: a check only reads values and never waits.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

Check = Callable[[], str | None]
"""Returns what is missing, in words; None = nothing."""

PULSE_S_MAX = 10.0
"""A loop that has not turned for this long hangs."""


class Health:
    """The health of one process; its loop calls `pulse` about once a second.

    Args:
        begun: set once it has begun its work; from then on it stops gracefully, and counts as started.
    """

    def __init__(self, begun: asyncio.Event | None = None) -> None:
        self.begun = begun or asyncio.Event()
        self.waits_for: str | None = None
        """Why it cannot begin its work, in words for everybody who reaches its probes; None: its log explains it."""
        self._pulse_s = time.monotonic()
        self._lives: Sequence[Check] = ()
        self._ready: Sequence[Check] = (self._not_begun,)

    def pulse(self) -> None:
        """Record that the loop turns."""
        self._pulse_s = time.monotonic()

    def why_dead(self) -> list[str]:
        """Why it does not live; empty if it does."""
        silent_s = time.monotonic() - self._pulse_s
        hangs = [f"its loop has not turned for {silent_s:.0f} s"] if silent_s > PULSE_S_MAX else []
        return hangs + _missing(self._lives)

    def why_not_ready(self) -> list[str]:
        """What it lacks to take work; empty if nothing."""
        return self.why_dead() + _missing(self._ready)

    @contextmanager
    def judged_by(self, *, lives: Sequence[Check] = (), ready: Sequence[Check]) -> Iterator[None]:
        """Use these checks within the block, which is its work; before and after it, it is not ready."""
        self._lives, self._ready = lives, ready
        try:
            yield
        finally:
            self._lives, self._ready = (), (self._not_begun,)

    def _not_begun(self) -> str:
        why = f": {self.waits_for}" if self.waits_for is not None else ""
        return f"it has not begun its work{why}"


def _missing(checks: Sequence[Check]) -> list[str]:
    return [why for check in checks if (why := check()) is not None]
