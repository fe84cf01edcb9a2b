"""What goes wrong: each kind a function that arranges some of it, at moments or at statements that the seed draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import registry.life
from dao import nodes
from model.errors import ShoalError
from tests.simulation.loop import Process
from tests.simulation.world import FAULTS_S, URL, World


def arrange(world: World) -> None:
    """Half of the kinds, and of each a few."""
    for kind in KINDS:
        if world.random.random() < 0.5:
            world.trace.add("world", f"faults: {kind.__name__}")
            kind(world)


def kills(world: World) -> None:
    """kill -9, at any moment or in the middle of whatever it does."""
    _each(world, 3, lambda: _strike(world, world.kill))


def pauses(world: World) -> None:
    """SIGSTOP for less or more than a session."""
    _each(world, 3, lambda: _strike(world, lambda process: world.pause(process, world.random.choice((1, 4, 9)))))


def lost_statements(world: World) -> None:
    """Connections that break at a statement."""
    world.server.faults.statement_lost = world.random.choice((0.003, 0.02))


def odd_commits(world: World) -> None:
    """Commits whose answer is lost, that never arrive, or that happen seconds after the client was told otherwise."""
    world.server.faults.commit_odd = world.random.choice((0.02, 0.1, 0.25))


def slowness(world: World) -> None:
    """Statements that take up to a second and a half."""
    world.server.faults.slow = world.random.choice((0.02, 0.1))


def lost_notes(world: World) -> None:
    """Notifications that nobody hears."""
    world.server.faults.note_lost = world.random.choice((0.1, 0.5, 1.0))


def deaf_watches(world: World) -> None:
    """Watches of the registry that stay silent."""
    world.ensemble.deaf = world.random.choice((0.3, 1.0))


def stops(world: World) -> None:
    """SIGTERM: it hands on and leaves."""

    def stop(process: Process) -> None:
        world.trace.add(process.name, "is asked to stop")
        if process.name in world.stops:
            world.stops[process.name].set()

    _each(world, 2, lambda: _strike(world, stop))


def database_restarts(world: World) -> None:
    """All connections are gone, and the server for a while."""

    def restart() -> None:
        down_s = world.random.choice((0.1, 2, 6)) * world.random.random()
        world.trace.add("server", f"restarts, away for {down_s:.1f} s")
        world.server.is_down = True
        world.server.end_sessions(lambda _: True)
        world.loop.in_world(down_s, setattr, world.server, "is_down", False)

    _each(world, 2, restart)


def database_freezes(world: World) -> None:
    """It accepts, and does not answer for a while."""

    def freeze() -> None:
        for_s = world.random.choice((1, 5)) * world.random.random()
        world.trace.add("server", f"freezes for {for_s:.1f} s")
        world.server.freeze(True)
        world.loop.in_world(for_s, world.server.freeze, False)

    _each(world, 2, freeze)


def terminations(world: World) -> None:
    """pg_terminate_backend of everybody."""

    def terminate() -> None:
        world.trace.add("server", "ends all sessions")
        world.server.end_sessions(lambda _: True)

    _each(world, 4, terminate)


def partitions(world: World) -> None:
    """A process is cut from the database, the registry or both."""

    def cut() -> None:
        name = world.random.choice(world.names)
        both = [world.server.cut_off, world.ensemble.cut_off]
        from_whom = world.random.choice((both[:1], both[1:], both))
        for_s = world.random.choice((2, 5, 12)) * world.random.random()
        what = " and ".join("database" if each is both[0] else "registry" for each in from_whom)
        world.trace.add(name, f"is cut from the {what} for {for_s:.1f} s")
        for each in from_whom:
            each.add(name)
            world.loop.in_world(for_s, each.discard, name)

    _each(world, 3, cut)


def isolations(world: World) -> None:
    """A worker sleeps, or reaches nobody, for longer than the others wait for it."""

    def isolate() -> None:
        busy = [run.process for each in world.launchers.values() for one in each for run in one.runs if run.is_alive]
        if not busy:
            return
        process = world.random.choice(busy)
        if world.random.random() < 0.5:
            world.pause(process, 9.0)
            return
        world.trace.add(process.name, "is cut from everybody for 9 s")
        for each in (world.server.cut_off, world.ensemble.cut_off):
            each.add(process.name)
            world.loop.in_world(9.0, each.discard, process.name)

    world.loop.in_world(world.random.uniform(2.0, 5.0), isolate)


def registry_outages(world: World) -> None:
    """The whole ensemble is away."""

    def fall() -> None:
        down_s = world.random.choice((1, 4, 9)) * world.random.random()
        world.trace.add("registry", f"is away for {down_s:.1f} s")
        world.ensemble.is_down = True
        world.loop.in_world(down_s, world.ensemble.come_back)

    _each(world, 2, fall)


def clock_steps(world: World) -> None:
    """The database's clock is set."""

    def step() -> None:
        world.server.clock_step_s += world.random.choice((-4, -1, 1, 4))
        world.trace.add("server", f"its clock is set to {world.server.now():%H:%M:%S}")

    _each(world, 2, step)


def wrong_fences(world: World) -> None:
    """Somebody is taken for dead and is not: the fence itself, without any sign before it."""

    def fence() -> None:
        server = world.server
        epochs = [row.id for row in server.nodes.rows.values() if row.values and row.values.state == "ALIVE"]
        masters = [epoch for epoch in epochs if server.nodes.rows[epoch].values.kind == "MASTER"]  # type: ignore[union-attr]
        if masters and not server.is_down:
            world.loop.begin(world.somebody(), _fence(world, world.random.choice(masters)))

    _each(world, 2, fence)


async def _fence(world: World, epoch: int) -> None:
    database: Any = registry.life.Database(URL, application_name="shoal-somebody")
    async with database.reading() as connection:
        living = [node for node in await nodes.living(connection) if node.epoch == epoch]
    for node in living:
        world.trace.add("somebody", f"fences master {epoch} for nothing")
        try:
            await nodes.fence(database, node, "a mistake")
        except ShoalError as error:
            world.trace.add("somebody", str(error))


KINDS: tuple[Callable[[World], None], ...] = (
    kills,
    pauses,
    lost_statements,
    odd_commits,
    slowness,
    lost_notes,
    deaf_watches,
    stops,
    database_restarts,
    database_freezes,
    terminations,
    partitions,
    isolations,
    registry_outages,
    clock_steps,
    wrong_fences,
)


def _each(world: World, most: int, happen: Callable[[], None]) -> None:
    for _ in range(world.random.randint(1, most)):
        world.loop.in_world(world.random.uniform(0.5, FAULTS_S), _unless_healed, world, happen)


def _unless_healed(world: World, happen: Callable[[], None]) -> None:
    if not world.is_healed:
        happen()


def _strike(world: World, what: Callable[[Process], None]) -> None:
    """One process, now or at one of its next statements."""
    name = world.random.choice(world.names)
    if world.random.random() < 0.7:
        world.at_statement(name, world.random.randint(1, 25), what)
    elif name in world.living:
        what(world.living[name])
