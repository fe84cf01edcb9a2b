"""Streams in a seed: started, restarted, and judged in the end.

Judged with all workers, after one on which they fail at once, and with one drained.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

import worker.claims.streams
from dao.postgres.notify import DRAIN
from dao.tasks.lost_tasks import SUSPECT
from master.streams import Streams
from model.cluster.nodes import NodeKind, NodeState
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.command_moves import CommandType
from model.runs.states import TaskState, WorkflowState
from tests.simulation.broken_worker import BrokenWorker
from tests.simulation.definitions import LEASED, STREAMING, specs
from tests.simulation.pool_invariants import could_begin
from tests.simulation.statements.streams.streams import ask_restart
from tests.simulation.statements.tasks.task_claims import urgency
from tests.simulation.tables import Blocked, Values
from tests.simulation.world import FAULTS_S, World
from worker.claims.leased_streams import LeasedStreams
from worker.claims.streams import Share
from worker.claims.writer import Writer

C = CommandType
RESTARTED_S = 20.0
QUIET_LOOKS = 3
"""How many looks in a row, `RESTARTED_S` apart, must see no restart before streams are judged: nobody rebalances during
one. By then any worker is back, every pause over, and every stream moved."""
DRAINED_S = 20.0
BROKEN_S = 20.0
REPAIRED_S = 40.0
TAKEN_WITHIN_S = 3.0
"""Free resources are taken within this time."""
STOPPED_EVERY_S = 5.0
DRAIN_ID = 10_000


async def _idle(_: Streams) -> None:
    await asyncio.Event().wait()


def replaced(world: World) -> list[tuple[Any, str, Any]]:
    """Nothing of streams runs in a seed without them; and the protections that are off."""
    made: list[tuple[Any, str, Any]] = []
    if not world.has_streams or not world.protections.rebalance:
        made.append((Streams, "run", _idle))
    if not world.protections.handover:
        made.append((Writer, "_hand_over_streams", lambda _writer: None))
    if not world.protections.shares:
        made.append((worker.claims.streams, "share_of", lambda *of: Share(of[2].waiting, 0)))
    if not world.protections.dealt:
        made.append((LeasedStreams, "spread", _nobody_deals))
    return made


async def _nobody_deals(*_: object) -> None:
    """Let any worker take what could begin."""


def arrange(world: World, ask: Callable[..., None]) -> None:
    """Nothing in a seed without streams."""
    if not world.has_streams:
        return
    random = world.draw("streams")
    for number in range(random.choice((1, 2))):
        own = world.draw("stream", number)
        if world.has(f"stream {number}"):
            when_s = own.uniform(0, FAULTS_S / 2)
            world.loop.in_world(when_s, partial(ask, C.START_PROCESS, workflow_code=str(own.choice(STREAMING))))
    needs = world.draw("streams with resources")
    for number in range(needs.choice((0, 0, 1, 2))):
        own = world.draw("leased stream", number)
        if world.has(f"leased stream {number}"):
            when_s = own.uniform(0, FAULTS_S / 2)
            world.loop.in_world(when_s, partial(ask, C.START_PROCESS, workflow_code=str(own.choice(LEASED))))
    for number in range(random.choice((0, 1, 3))):
        own = world.draw("restart", number)
        if world.has(f"restart {number}"):
            world.loop.in_world(own.uniform(2, FAULTS_S), _restart, world, own)
    world.loop.in_world(max(FAULTS_S, world.heals_registry_s), _judge, world, ask)


def _runs(world: World) -> list[tuple[WorkflowInstanceId, Values]]:
    return [
        (row.id, row.values)
        for row in world.server.instances.unfinished.values()
        if row.values is not None and row.values.workflow_code in (*STREAMING, *LEASED)
    ]


def _restart(world: World, random: Random) -> None:
    """A person asks that some streams of a run be restarted."""
    runs = _runs(world)
    if not runs or world.server.is_down:
        return
    run, values = random.choice(runs)
    for place in range(1, len(specs()[values.workflow_code].tasks) + 1):
        with suppress(Blocked):
            world.server.do(partial(ask_restart, run=run, codes=[TaskCode(place)], asked_by="somebody"))
    world.trace.add("somebody", f"restarts the streams of {run}")


def _judge(world: World, ask: Callable[..., None], quiet: int = 0) -> None:
    quiet = 0 if world.server.stream_restarts.rows else quiet + 1
    if quiet <= QUIET_LOOKS:
        world.loop.in_world(RESTARTED_S, _judge, world, ask, quiet)
        return
    check(world, without=None)
    own = world.draw("broken worker")
    names = sorted(name for name in world.living if name.startswith("worker"))
    if len(set(_workers(world).values())) < 2 or own.random() < 0.5 or not world.has("broken worker"):
        _drain(world, ask)
        return
    world.broken = BrokenWorker(own.choice(names))
    world.trace.add("somebody", f"breaks what streams need on {world.broken.name}")
    for run in list(world.invariants.running_tasks().values()):
        if run.task.stream is not None and world.broken.fails(world, run):
            run.end_by_itself(TaskState.FAILURE)
    world.loop.in_world(BROKEN_S, _repair, world, ask)


def _repair(world: World, ask: Callable[..., None]) -> None:
    world.trace.add("somebody", "repairs it")
    world.broken = None
    world.loop.in_world(REPAIRED_S, _judge_repaired, world, ask)


def _judge_repaired(world: World, ask: Callable[..., None]) -> None:
    check(world, without=None)
    _drain(world, ask)


def _drain(world: World, ask: Callable[..., None]) -> None:
    workers = _workers(world)
    _, name = min(workers.items(), default=(0, ""))
    if set(workers.values()) <= {name}:  # in some seeds several workers have one name, which is drained
        _stop(world, ask)
        return
    world.trace.add("somebody", f"drains {name}")
    world.server.drains[NodeKind.WORKER, name] = DRAIN_ID
    world.server.note(DRAIN)
    world.loop.in_world(DRAINED_S, _judge_drained, world, ask, name)


def _judge_drained(world: World, ask: Callable[..., None], drained: str) -> None:
    check(world, without=drained)
    world.server.drains.clear()
    _stop(world, ask)


def _stop(world: World, ask: Callable[..., None]) -> None:
    """Stop until none is left: one may have waited for its turn to begin."""
    for run, values in _runs(world):
        if values.state is WorkflowState.RUNNING_EXECUTION:
            ask(C.STOP, workflow_instance_id=str(run))
    world.loop.in_world(STOPPED_EVERY_S, _stop, world, ask)


def _workers(world: World) -> dict[int, str]:
    return {
        row.id: row.values.name or row.values.address
        for row in world.server.nodes.unfinished.values()
        if row.values is not None and row.values.kind is NodeKind.WORKER and row.values.state is NodeState.ALIVE
    }


def check(world: World, without: str | None) -> None:
    """I26: all streams of runs that run do run, but those that wait for a pool and those of which too many workers were
    lost; as many on each worker, and none on those of the name that is drained."""
    running = world.invariants.running_tasks()
    wanted = {
        (run, code)
        for run, values in _runs(world)
        if values.state is WorkflowState.RUNNING_EXECUTION and values.requested_state is None
        for code in json.loads(values.executing or "null") or range(1, len(specs()[values.workflow_code].tasks) + 1)
    }
    suspects = {
        (task.workflow_instance_id, task.task_code)
        for row in world.server.tasks.rows.values()
        if (task := row.values) is not None and task.reason == SUSPECT
    }
    if missing := sorted(key for key in wanted - running.keys() - suspects if not _waits_for_pool(world, key)):
        world.trace.violation(f"I26: the streams {missing} do not run, though all is well")
    drained = {epoch for epoch, name in _workers(world).items() if name == without}
    places = Counter(dict.fromkeys(sorted(_workers(world).keys() - drained), 0))
    for key in wanted & running.keys():
        row = world.server.tasks.rows[running[key].task.id].values
        assert row is not None
        places[row.worker_id] += 1
    for epoch in sorted(drained & places.keys()):
        world.trace.violation(f"I26: worker {epoch} is drained, and {places[epoch]} streams run there")
    if places and max(places.values()) - min(places.values()) > 1:
        world.trace.violation(f"I26: streams are spread unevenly in the end: {dict(places)}")


def _waits_for_pool(world: World, key: tuple[int, int]) -> bool:
    """Whether it is queued and needs what is not free, or was not a moment ago, or is left to one before it."""
    queued = [
        task
        for row in world.server.tasks.unfinished.values()
        if (task := row.values) is not None and task.state is TaskState.QUEUED and task.resources is not None
    ]
    mine = [task for task in queued if (task.workflow_instance_id, task.task_code) == key]
    if not mine:
        return False
    needs = json.loads(mine[0].resources)
    before = [task for task in queued if urgency(task) < urgency(mine[0]) and needs.keys() & json.loads(task.resources)]
    just_now = any(
        each.values.pool in needs and each.values.free_since_s > world.server.now_s - TAKEN_WITHIN_S
        for each in world.server.resources.rows.values()
        if each.values is not None and each.values.holder is None
    )
    return bool(before) or just_now or not could_begin(world.server, mine[0])
