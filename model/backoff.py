"""How long to wait before the next try."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Backoff:
    """Pauses that double up to a limit, each shortened by a random share so that clients do not retry all at once."""

    first_s: float = 0.1
    max_s: float = 1.0
    tries: int = 0

    def next_pause_s(self, share: float) -> float:
        """The next pause in seconds; `share` is a random number in [0, 1) that shortens it by up to a half."""
        pause_s = min(self.max_s, self.first_s * float(2 ** min(self.tries, 20)))
        self.tries += 1
        return pause_s * (1 - share / 2)

    def reset(self) -> None:
        """Shorten the next pauses again, after a success."""
        self.tries = 0
