"""A life of a master without the process around it."""

from __future__ import annotations

from datetime import timedelta

from dao.cluster.nodes import NewNode
from model.cluster.nodes import NodeKind
from model.cluster.timing import Timing
from node.life import Life
from registry.connect import make_registry
from registry.process import this_process


async def begin_life(database_url: str, name: str = "m1") -> Life:
    """Enlisted; it beats when it is told to. Close it."""
    registry = make_registry(database_url, session_timeout=timedelta(seconds=60), application_name="shoal-test")
    new = NewNode(NodeKind.MASTER, f"{name}:5678", this_process(), name)
    return await Life.begin(database_url, new, timing=Timing(), registry=registry)
