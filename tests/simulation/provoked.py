"""Makes rare moments common, for the proofs that the simulation sees a protection that is off.

A seed draws each of these too, but seldom all of them together. A change of what seeds draw, or of what Shoal does,
must not lose such a proof by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from model.runs.command_moves import CommandType
from tests.simulation import faults
from tests.simulation.definitions import PLAIN, TIMED
from tests.simulation.loop import Process
from tests.simulation.statements.retention.old_runs import KEPT_S
from tests.simulation.tables import Values
from tests.simulation.workload import ask
from tests.simulation.world import FAULTS_S, INNOCENT_AFTER_S, LASTING, World

Provocation = Callable[[World], None]
Fault = Callable[[World, Random], None]


def nothing_more(_: World) -> None:
    """Nothing: what the seed draws is enough."""


def _busy(world: World, codes: Sequence[int] = range(1, PLAIN + 1)) -> None:
    """All workers have tasks that outlast a silence."""
    world.lasts_s = LASTING
    random = world.draw("provoked starts")
    for _ in range(6):
        code = random.choice(codes)
        world.loop.in_world(
            random.uniform(0.5, 5.0), partial(ask, world, CommandType.START_PROCESS, workflow_code=str(code))
        )


def _with(*kinds: Fault) -> Provocation:
    """These faults, while all workers are busy."""

    def arrange(world: World) -> None:
        _busy(world)
        for number, kind in enumerate(kinds):
            kind(world, world.draw("provoked", kind.__name__, number))

    return arrange


def frozen_on_one_machine(world: World) -> None:
    """Workers of one machine are frozen with what they run, and killed."""
    world.hosts = 1
    _with(faults.frozen_trees, faults.frozen_trees)(world)


def lives_by_other_times(world: World) -> None:
    """Workers that may be silent for longer than masters think reach nobody for a while."""
    world.timings_differ = True
    _with(faults.isolations, faults.isolations, faults.isolations)(world)


def clock_leaps(world: World) -> None:
    """The database's clock is set forward while a worker reaches nobody for less than the allowed time."""
    _busy(world)
    random = world.draw("provoked leaps")
    for _ in range(3):
        at_s = random.uniform(4.0, FAULTS_S - 4.0)
        name = random.choice([name for name in world.names if name.startswith("worker")])
        world.loop.in_world(at_s, partial(world.cut, name, world.server, world.ensemble, seconds=4.5))
        world.loop.in_world(at_s + 4.0, _set_forward, world)


def held_rows(world: World) -> None:
    """Strangers hold rows of runs that go on, and workers die of what they have not begun."""
    _with(*[faults.strangers] * 4, faults.unstarted)(world)
    world.lasts_s = (0.2, 1.0)


def _set_forward(world: World) -> None:
    world.server.clock_step_s += 4
    world.trace.add("server", f"its clock is set to {world.server.now():%H:%M:%S}")


def timed_runs_taken_over(world: World) -> None:
    """Masters lose runs that have a timeout, and commits are late."""
    _busy(world, TIMED)
    for kind in (faults.kills, faults.kills, faults.pauses):
        kind(world, world.draw("provoked", kind.__name__))
    world.server.faults.commit_odd = world.server.faults.slow = 0.25


def late_fences(world: World) -> None:
    """No worker reaches anybody for as long as they are waited for; who would fence one sleeps until it beats again."""
    begins_s, for_s = 2.0, 6.0
    wakes_s = begins_s + for_s + INNOCENT_AFTER_S + 0.5

    def cut() -> None:
        for name in world.names:
            if name.startswith("worker"):
                world.cut(name, world.server, world.ensemble, seconds=for_s)

    world.loop.in_world(begins_s, cut)
    world.at_each("terminate", lambda process: world.pause(process, max(0.1, wakes_s - world.loop.now)))


def continued_meanwhile(world: World) -> None:
    """Between the statement that finds old runs and the one that deletes them their master sleeps, and somebody repeats
    all of them."""
    counted, left = world.server.on_statement, [3]

    def repeat_all() -> None:
        for each in _ended(world):
            ask(world, CommandType.REPEAT_RUNNING, workflow_instance_id=str(each.id))

    def count(process: Process, statement: str) -> None:
        counted(process, statement)
        if statement == "find" and left[0] and any(_is_old(world, each) for each in _ended(world)):
            left[0] -= 1
            world.pause(process, 1.5)
            world.loop.in_world(0.1, repeat_all)  # once it has found them

    world.server.on_statement = count


def _ended(world: World) -> list[Values]:
    runs = (row.values for row in world.server.instances.rows.values())
    return [run for run in runs if run is not None and run.parent is None and run.state.is_final]


def _is_old(world: World, run: Values) -> bool:
    return bool(run.ended_s < world.server.now_s - KEPT_S)


PROVOKED: dict[str, Provocation] = {
    "horizon": _with(faults.isolations, faults.isolations, faults.isolations),
    "deadline": _with(faults.isolations, faults.isolations, faults.isolations),
    "observed": clock_leaps,
    "stated": lives_by_other_times,
    "swept": frozen_on_one_machine,
    "searched": frozen_on_one_machine,
    "unbroken": _with(faults.emptied_registries),
    "timed_again": timed_runs_taken_over,
    "judged": late_fences,
    "continued": continued_meanwhile,
}

_OF_STREAMS = frozenset(("shares", "dealt", "troubled", "rebalance", "handover"))


def may_show(protection: str, world: World) -> bool:
    """Whether its seed can show anything of that protection: one in seven has streams, one in eleven does duties."""
    if protection in _OF_STREAMS:
        return world.has_streams
    return protection != "continued" or world.does_duties
