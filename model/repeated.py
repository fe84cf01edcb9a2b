"""Limits repeated log lines: a changed text is logged at once, the same text ever more rarely."""

from __future__ import annotations

from model.backoff import Backoff


class Repeated:
    """What a loop says each time that it fails: of one cause a first line, and then fewer and fewer."""

    def __init__(self) -> None:
        self._backoff = Backoff(first_s=0.5, max_s=60.0)
        self._said: str | None = None
        self._again_s = 0.0

    def is_due(self, text: str, now_s: float) -> bool:
        """Whether to log it now; if so, it counts as logged. `now_s` is any monotonic clock."""
        if text != self._said:
            self._backoff.reset()
        elif now_s < self._again_s:
            return False
        self._said, self._again_s = text, now_s + self._backoff.next_pause_s(0)
        return True
