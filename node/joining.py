"""How a node joins its cluster."""

from __future__ import annotations

from dataclasses import dataclass

from model.cluster.timing import Timing


@dataclass(frozen=True)
class Joining:
    """Where the servers of a cluster are, and the identity of a joining node.

    `database_url` is PostgreSQL with the schema of this program's version; `registry_url` is ZooKeeper or PostgreSQL,
    None for the recorded one. `timing` is this node's settings. `connect_timeout_s` limits the retries while servers
    are unavailable at the start. `name` and `host` are how others know and reach the node; None: not set.
    """

    database_url: str
    registry_url: str | None
    timing: Timing
    connect_timeout_s: float
    name: str | None = None
    host: str | None = None
