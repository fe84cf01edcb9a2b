"""People who answer approvals: some of them twice, some not at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from model.ids import TaskInstanceId
from model.runs.command_moves import CommandType
from tests.simulation.definitions import ASKING
from tests.simulation.statements.tasks import approvals
from tests.simulation.world import FAULTS_S, World

_EVERY_S = 0.3
"""How often people look for something to answer."""
Ask = Callable[..., None]


def arrange(world: World, ask: Ask, share: float) -> None:
    """In this share of the seeds: runs that ask, and people who answer while everything else happens."""
    random = world.draw("approvals")
    if random.random() > share:
        return
    for number in range(random.choice((2, 4, 8))):
        own = world.draw("asking", number)
        if world.has(f"asking {number}"):
            began = partial(ask, CommandType.START_PROCESS, workflow_code=str(own.choice(ASKING)))
            world.loop.in_world(own.uniform(0, FAULTS_S), began)
    world.loop.in_world(1.0, _answer, world, world.draw("answers"))


def _answer(world: World, random: Random) -> None:
    """Answer some of what waits: some of it twice, some not at all, so that the timeout ends it."""
    server = world.server
    if not server.is_down:
        waiting = [
            row.id for row in server.tasks.rows.values() if row.values is not None and approvals.asks(row.values)
        ]
        for id_ in waiting:
            for by in range(random.choice((0, 0, 0, 1, 2))):
                results = random.choice((None, {"comment": f"answer {by}"}))
                counts = server.do(approvals.give_answer, TaskInstanceId(id_), f"person {by}", results)
                world.trace.add("client", f"answers {id_}: {results}, which counts: {counts}")
    world.loop.in_world(_EVERY_S, _answer, world, random)
