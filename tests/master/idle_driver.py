"""A driver of a master that has no other parts."""

from __future__ import annotations

import asyncio

from master.drive.dependents import Dependents
from master.drive.driver import Driver
from node.life import Life


def idle_driver(life: Life, poll: asyncio.Event | None = None) -> Driver:
    """A driver whose `run` was not called."""
    wake, room = asyncio.Event(), asyncio.Event()
    return Driver(life, 100, wake=wake, poll=poll or asyncio.Event(), room=room, dependents=Dependents(life, wake))
