"""One seed from its beginning to its verdict."""

from __future__ import annotations

from dataclasses import dataclass

from tests.simulation import faults, workload
from tests.simulation.protections import Protections
from tests.simulation.trace import Trace
from tests.simulation.wiring import wired
from tests.simulation.world import END_S, FAULTS_S, World


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a seed; `violation` is the first thing that must not be, None when all held."""

    seed: int
    violation: str | None
    steps: int
    virtual_s: float
    commands: int
    instances: int
    attempts: int
    trace: Trace


def run(seed: int, protections: Protections | None = None) -> Verdict:
    """The same seed gives the same run, whatever else the machine does."""
    world = World(seed, protections or Protections())
    loop = world.loop
    with wired(world), loop.running():
        workload.arrange(world)
        faults.arrange(world)
        for name in world.names:
            loop.in_world(world.random.random(), world.start, name)
        loop.in_world(FAULTS_S, world.heal)
        if not loop.run(world.is_over, END_S):
            world.invariants.at_the_end()
        trace = world.trace
        trace.is_closed = True
    server = world.server
    return Verdict(
        seed,
        trace.violations[0] if trace.violations else None,
        loop.steps,
        loop.now,
        len(server.history.rows),
        len(server.instances.rows),
        world.invariants.attempts,
        trace,
    )
