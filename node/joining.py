"""How a node joins its cluster."""

from __future__ import annotations

from dataclasses import dataclass

from model.cluster.timing import Timing


@dataclass(frozen=True)
class Joining:
    """Where the servers of a cluster are, and how its node knows them.

    `database_url` is PostgreSQL with the schema of this program's version; `registry_url` is ZooKeeper or PostgreSQL,
    None for the cluster's as it is recorded. `timing` is this node's settings. `connect_timeout_s` is how long it tries
    for servers that are unavailable at its start. Others know it by `name`, and reach it at `host`; None: not set.
    """

    database_url: str
    registry_url: str | None
    timing: Timing
    connect_timeout_s: float
    name: str | None = None
    host: str | None = None
