"""`registry/presence.py`: what a registry does not show counts only if the session is older than any other's."""

from __future__ import annotations

from typing import Any

from model.cluster.nodes import Heartbeat, NodeKind
from registry.clock import boottime_s
from registry.presence import present
from registry.protocol import ConnectionState

LONGEST_S = 3.0


class Reconnecting:
    """A registry whose session is over, and that gets a new one while it is read: it came back empty meanwhile."""

    state = ConnectionState.CONNECTED

    def __init__(self) -> None:
        self.unbroken_since = boottime_s() - 100

    async def members(self, _kind: NodeKind) -> list[Heartbeat]:
        self.unbroken_since = boottime_s()
        return []


class Steady(Reconnecting):
    async def members(self, _kind: NodeKind) -> list[Heartbeat]:
        return []


async def test_a_read_during_which_the_session_became_another_says_nothing() -> None:
    reconnecting: Any = Reconnecting()
    assert await present(reconnecting, LONGEST_S) is None


async def test_a_session_that_is_old_enough_all_the_while_says_who_is_not_there() -> None:
    steady: Any = Steady()
    assert await present(steady, LONGEST_S) == set()
