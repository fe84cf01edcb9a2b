"""Before a life begins: no other living node may have its name, and a former life of that name must be over.

A node of the same name is fenced by the rules of the failure detector (`master/membership/failure_detector.py`). Either
its process is provably gone from this machine, and its tasks have had the time to end. Or this process has observed it
silent for as long as it says it may be, and the registry does not show it either. If it beats, we refuse to start.
"""

from __future__ import annotations

import asyncio

from dao.cluster import fencing, nodes
from dao.cluster.node_rows import NodeRow
from dao.postgres.database import Database
from model.cluster.nodes import NodeKind
from model.cluster.timing import TASKS_END_S, WORKER_CUT_MARGIN_S, Timing
from model.errors import Refused
from node.left_tasks import LeftTasks
from registry.clock import boottime_s
from registry.presence import present
from registry.process import is_gone
from registry.protocol import Registry

CHECK_EVERY_S = 0.2
WHY = "a new process has its name"


class Namesakes:
    """The living nodes of one kind and name, as seen by a process that is about to take that name."""

    def __init__(self, database: Database, registry: Registry, kind: NodeKind, name: str, timing: Timing) -> None:
        self._database = database
        self._registry = registry
        self._kind = kind
        self._name = name
        self._timing = timing
        self._seen: dict[int, tuple[int, float]] = {}
        """The first beat seen of each node, and when it was seen."""
        self._gone_since_s: dict[int, float] = {}
        self._left_tasks = LeftTasks(lambda: None)

    async def give_way(self) -> None:
        """Return once there is none. Raises `Refused` if one lives, `Unavailable`."""
        while True:
            living = await self._database.read(nodes.living)
            same = [node for node in living if (node.kind, node.name) == (self._kind, self._name)]
            if not same:
                return
            for node in same:
                if await self._is_over(node) and self._left_tasks.have_ended(node):
                    await fencing.fence(self._database, node, WHY, by=None)
            await asyncio.sleep(CHECK_EVERY_S)

    async def _is_over(self, node: NodeRow) -> bool:
        now_s = boottime_s()
        first_beat, since_s = self._seen.setdefault(node.epoch, (node.beat_no, now_s))
        if self._left_tasks.are_over(node):
            gone_s = now_s - self._gone_since_s.setdefault(node.epoch, now_s)
            return self._kind is NodeKind.MASTER or gone_s >= TASKS_END_S
        if node.beat_no != first_beat and not is_gone(node.process):
            raise Refused(
                f"another {node} lives, at {node.address}: stop it, "
                f"or give this one another name, by --name or SHOAL_NAME"
            )
        silence = node.silence or self._kind.silence(self._timing)
        still_s = now_s - since_s
        if still_s < silence.fence_s:
            return False
        if self._kind is NodeKind.MASTER or still_s >= silence.cut_s + WORKER_CUT_MARGIN_S:
            return True
        shown = await present(self._registry, silence.session_s)
        return shown is not None and node.epoch not in shown
