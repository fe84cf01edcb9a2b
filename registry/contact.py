"""How far a registry's last answer can be trusted: one rule for both registries, computed when read.

There is no timer for it. A timer does not fire in a process that is stopped or in a machine that sleeps, so on waking
the old state would be trusted for a moment longer. A clock that counts during sleep avoids that.
"""

from __future__ import annotations

from datetime import timedelta

from registry.clock import boottime_s
from registry.protocol import ConnectionState


class Contact:
    """The last proof that our session lives, and the connection state that follows from it.

    Args:
        session_timeout: a session without proof for this long counts as over, whatever the connection state.
    """

    def __init__(self, session_timeout: timedelta) -> None:
        self.last_s = 0.0
        """Send time, by `boottime_s`, of the last round trip that proved the session; 0.0 before the first."""
        self.unbroken_since_s = 0.0
        """Send time of the first proof since the session was last over, or may have been; 0.0 before the first."""
        self.up = False
        """Whether there is a connection to a server now."""
        self._lasts_s = session_timeout.total_seconds()
        self._over = True

    @property
    def state(self) -> ConnectionState:
        """CONNECTED when a server answers, SUSPENDED when none does, LOST when the session is or may be over."""
        if self._over or self.silent_s >= self._lasts_s:
            return ConnectionState.LOST
        return ConnectionState.CONNECTED if self.up else ConnectionState.SUSPENDED

    @property
    def silent_s(self) -> float:
        """Seconds since the last proof."""
        return boottime_s() - self.last_s

    def proved(self, sent_s: float) -> None:
        """Record that a round trip sent at `sent_s` succeeded and proved the session."""
        if self.state is ConnectionState.LOST:
            self.unbroken_since_s = sent_s
        self.last_s = max(self.last_s, sent_s)
        self.up = True
        self._over = False

    def over(self) -> None:
        """Record that the session has ended: a server reported it, or we ended it."""
        self.up = False
        self._over = True
