"""Which workers take streams of a group; shared by workers and masters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dao.cluster.node_rows import NodeRow
from model.cluster.nodes import NodeKind, NodeState, NodeStatus
from model.ids import Epoch
from model.streams.spread import WorkerLoad

SILENT_BEATS = 3
"""After this many missed beats a worker takes no streams: it may be dead."""


def loads_of(group: str, running: Mapping[Epoch, int], living: Sequence[NodeRow]) -> list[WorkerLoad]:
    """The workers that take streams of this group, with their load; `running` counts its streams on each worker."""
    return [
        WorkerLoad(row.epoch, running.get(row.epoch, 0), max(0, beat.capacity - beat.running))
        for row in living
        if takes_streams(row, group) and (beat := row.heartbeat) is not None
    ]


def takes_streams(row: NodeRow, group: str) -> bool:
    """Whether a node is a worker that takes streams of this group."""
    beat = row.heartbeat
    return (
        row.kind is NodeKind.WORKER
        and row.state is NodeState.ALIVE
        and row.drain is None
        and beat is not None
        and beat.status is NodeStatus.NORMAL
        and group in beat.groups
        and (row.silence is None or row.beat_age_s <= SILENT_BEATS * row.silence.beat_s)
    )
