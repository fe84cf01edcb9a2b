"""What events say: small, ids as text, times in UTC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dao.cluster.node_rows import NodeRow
from dao.pools.rows import PoolCounts
from dao.runs.rows import ChangedAttempt, ChangedDefinition, ChangedRun
from service.fields import Answer, WrittenId


class _Patch(Answer):
    def plain(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class RunPatch(_Patch, ChangedRun):
    """A run now. `project` and `workflow` are None if its definition was deleted. `parent` is one of the same
    project: the viewer may not see another."""

    id: WrittenId
    workflow_code: WrittenId
    parent: WrittenId | None


class TaskPatch(_Patch, ChangedAttempt, without={"run"}):
    """An attempt of a task now. `valid`: no other attempt took its place."""

    id: WrittenId
    code: WrittenId
    worker: WrittenId | None


class DefinitionPatch(_Patch, ChangedDefinition):
    """A workflow definition now."""

    code: WrittenId


class NodePatch(_Patch):
    """A master or worker now. `slot` is CURRENT/TOTAL, of a master that has one; `status` is NORMAL or BUSY, or None
    before its first beat."""

    id: WrittenId
    kind: str
    name: str
    address: str
    state: str
    status: str | None
    slot: str | None

    @classmethod
    def of(cls, node: NodeRow) -> NodePatch:
        return cls.showing(
            node,
            id=node.epoch,
            status=None if node.heartbeat is None else node.heartbeat.status,
            slot=None if node.slot is None else str(node.slot),
        )


class PoolPatch(_Patch, PoolCounts):
    """A resource pool now: how many of its resources are in which state. `total` is without the `removed` ones."""


def pools_patch(
    before: Mapping[str, tuple[PoolCounts, int]], now: Mapping[str, tuple[PoolCounts, int]]
) -> dict[str, Sequence[Any]] | None:
    """What differs, in the counts or in who holds what: pools that are new or have changed, and the names of those that
    are gone. None = nothing."""
    changed = [PoolPatch.model_validate(each[0]).plain() for name, each in now.items() if before.get(name) != each]
    gone = [name for name in before if name not in now]
    return {"pools": changed, "gone": gone} if changed or gone else None


def nodes_patch(before: Mapping[str, NodePatch], now: Mapping[str, NodePatch]) -> dict[str, Sequence[Any]] | None:
    """What differs: nodes that are new or have changed, and the ids of those that are gone. None = nothing."""
    changed = [node.plain() for id_, node in now.items() if before.get(id_) != node]
    gone = [id_ for id_ in before if id_ not in now]
    return {"nodes": changed, "gone": gone} if changed or gone else None
