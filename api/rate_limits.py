"""How many requests a second an address and an account may send to one API process; more are answered 429.

Counted in memory, since a table would cost each request more than the request: with several processes each allows as
many. A limit is a bucket: it fills evenly, and holds what a few seconds of pause allow to send at once.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from model.errors import TooMany

BURST_S = 2.0
"""So many seconds' requests may come at once after a pause."""
KNOWN_MAX = 10_000
"""Of so many addresses or accounts at once it is known how often they asked; who asked longest ago is forgotten."""


class RateLimit:
    """The buckets of one kind.

    Args:
        per_s: requests a second of each; 0 = no limit.
        who: what is limited, such as "an account".
        clock_s: seconds of a clock that never goes back.
    """

    def __init__(self, per_s: int, who: str, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._who = who
        self._clock_s = clock_s
        self._full_at_s: OrderedDict[str, float] = OrderedDict()
        """When each bucket is full again; one that is not here is full."""

    def take(self, name: str) -> None:
        """Count one request of this name. Raises `TooMany` with the time after which there is room again."""
        if not self._per_s:
            return
        now_s = self._clock_s()
        full_at_s = max(self._full_at_s.get(name, now_s), now_s) + 1 / self._per_s
        if (over_s := full_at_s - now_s - BURST_S) > 0:
            said = f"{self._who} may send {self._per_s} requests a second to this API; wait, and send less at once"
            raise TooMany(said, float(math.ceil(over_s)))
        self._full_at_s[name] = full_at_s
        self._full_at_s.move_to_end(name)
        if len(self._full_at_s) > KNOWN_MAX:
            self._full_at_s.popitem(last=False)


class RateLimits:
    """The limits of one process. See `ApiSettings` for the arguments."""

    def __init__(self, address_per_s: int = 0, account_per_s: int = 0) -> None:
        self.addresses = RateLimit(address_per_s, "an address")
        self.accounts = RateLimit(account_per_s, "an account")
