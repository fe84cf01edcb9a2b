"""Masters that are no processes, for tests of what is asked of them."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field


@dataclass
class FakeMaster:
    """Stands for a child of `shoal up`; it ends with any signal."""

    name: str
    pid: int
    runs: bool = True
    sent: list[signal.Signals] = field(default_factory=list)

    def send(self, number: signal.Signals) -> None:
        """Remember the signal."""
        self.sent.append(number)
        self.runs = False


class FakeCluster:
    """Stands for a `LocalCluster` with two masters."""

    def __init__(self) -> None:
        self.masters = [FakeMaster("m1", 11), FakeMaster("m2", 12)]
