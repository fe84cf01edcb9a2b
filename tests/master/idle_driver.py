"""A driver of a master that has no other parts."""

from __future__ import annotations

import asyncio

from master.drive.dependents import Dependents
from master.drive.driver import Driver
from node.life import Life


def idle_driver(life: Life, look: asyncio.Event | None = None) -> Driver:
    """A driver whose `run` nobody has called."""
    wake, room = asyncio.Event(), asyncio.Event()
    return Driver(life, 100, wake=wake, look=look or asyncio.Event(), room=room, dependents=Dependents(life, wake))
