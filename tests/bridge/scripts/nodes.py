"""Beats, fences, and what follows when a node is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dao.cluster import nodes
from dao.cluster.node_rows import NodeRow
from dao.cluster.nodes import Me
from dao.postgres.pool import AsyncConnection
from dao.runs import failover
from dao.tasks import lost_tasks, past_attempts, task_events
from model.cluster.nodes import Heartbeat, NodeKind, NodeState
from tests.bridge.interleaving import Script, call, commit
from tests.bridge.people import fence_in_model, fence_within
from tests.bridge.scenes import PROCESS, RUN
from tests.simulation.statements.cluster import nodes as model_nodes
from tests.simulation.tables import Transaction


def beats(me: Me) -> Script:
    async def script() -> None:
        heartbeat = Heartbeat(epoch=me.epoch, kind=me.kind, address=me.address)
        await call(_beat, me, heartbeat, model=_beat_in_model)

    return script


async def _beat(connection: AsyncConnection, me: Me, heartbeat: Heartbeat) -> int:
    return (await nodes.beat(connection, me, 0, unanswered=0, heartbeat=heartbeat))[0]


def _beat_in_model(tx: Transaction, me: Me, heartbeat: Heartbeat) -> int:
    return model_nodes.beat(tx, me, 0, unanswered=0, heartbeat=heartbeat)[0]


def fence(judge: Me | None, dead: Me) -> Any:
    slot = {"slot_current": 0, "slot_total": 1} if dead.kind is NodeKind.MASTER else {}
    heartbeat = Heartbeat(epoch=dead.epoch, kind=dead.kind, address=dead.address, **slot)
    seen = NodeRow(dead.epoch, dead.kind, dead.address, NodeState.ALIVE, PROCESS, None, 0, 60.0, heartbeat)
    return call(fence_within, seen, judge, model=fence_in_model)


def judges(me: Me, dead: Me) -> Script:
    """The fence in two calls, between which the other judge may come."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        await fence(None, dead)

    return script


def fences_and(judge: Me, dead: Me, then: Callable[[Me], Script]) -> Script:
    """And looks after what is left, in a transaction of its own."""

    async def script() -> None:
        await fence(judge, dead)
        await commit()
        await then(judge)()

    return script


def fails_over(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(failover.fail_over, 100)

    return script


def claims_failover(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        taken = await call(failover.claim_failover, [RUN], me.epoch)
        await call(task_events.delete_of, list(taken))
        await call(past_attempts.latest_attempts, list(taken))

    return script


def marks_lost(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(lost_tasks.mark_lost, 100)

    return script
