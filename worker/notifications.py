"""A worker's listener: which notifications wake claims, checks of pools, kills and drains."""

from __future__ import annotations

from collections.abc import Sequence

from dao.cluster import nodes
from dao.postgres.listen import Listener
from dao.postgres.notify import DRAIN, KILL, POOL, TASK, concerns
from model.cluster.nodes import NodeKind
from model.runs.queue_places import of_streams
from node.life import Life
from worker.claims.writer import Writer


def listener_of(life: Life, writer: Writer, groups: Sequence[str]) -> Listener:
    """The listener of one life, for work of these groups."""

    def queued(payload: str) -> None:
        if concerns(payload, groups):
            writer.queued = True
            writer.places.note(payload)
            writer.wake.set()
        if concerns(payload, map(of_streams, groups)):
            writer.streams.queued |= bool(payload)  # otherwise all groups are meant: the next poll finds streams
            writer.wake.set()

    def for_pools(payload: str) -> None:
        if concerns(payload, groups):
            writer.pools.notice()

    def kills(_payload: str) -> None:
        writer.kills = True
        writer.wake.set()

    return Listener(
        life.database.url,
        nodes.application_name(NodeKind.WORKER, life.me.epoch),
        {TASK: queued, POOL: for_pools, KILL: kills, DRAIN: lambda _: life.beat_now.set()},
    )
