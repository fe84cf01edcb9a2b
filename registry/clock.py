"""The clock by which nodes measure spans. Imports only the standard library, since keepers read it too."""

from __future__ import annotations

import time


def boottime_s() -> float:
    """Seconds of a clock that cannot be set and that counts while the machine sleeps; CLOCK_MONOTONIC does not."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
