"""One seed from its beginning to its verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tests.simulation import faults, workload
from tests.simulation.protections import Protections
from tests.simulation.trace import Trace
from tests.simulation.wiring import wired
from tests.simulation.world import END_S, FAULTS_S, World


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a seed; `violation` is the first one, None when everything held.

    `arranged` names everything that the seed arranged: nodes, faults, commands.
    """

    seed: int
    violation: str | None
    steps: int
    virtual_s: float
    commands: int
    instances: int
    attempts: int
    arranged: tuple[str, ...]
    trace: Trace

    @property
    def invariant(self) -> str | None:
        """Which one was violated."""
        return None if self.violation is None else self.violation.partition(":")[0]


def run(
    seed: int,
    protections: Protections | None = None,
    left_out: Collection[str] = (),
    also: Callable[[World], None] = lambda _: None,
) -> Verdict:
    """Run a seed: the same one gives the same run, whatever else the machine does. `left_out` are not arranged; `also`
    arranges more, too rare to be drawn."""
    world = World(seed, protections or Protections(), left_out)
    loop = world.loop
    with wired(world), loop.running():
        faults.arrange(world)
        workload.arrange(world)
        also(world)
        for name in world.names:
            loop.in_world(world.draw("begins", name).random(), world.start, name)
        loop.in_world(FAULTS_S, world.heal)
        if not loop.run(world.is_over, END_S):
            world.invariants.at_the_end()
        elif world.minds_slots and not world.may_be_full and not world.trace.violations:
            world.invariants.slots_are_right(world.registered_masters())
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
        tuple(world.arranged),
        trace,
    )
