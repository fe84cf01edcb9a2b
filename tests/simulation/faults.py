"""The faults: each kind is a function that arranges some, at moments or at statements that the seed draws.

Half of the kinds are off in a seed (one kind must not hide the others), and each has its own random stream.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from dao.cluster import fencing, nodes
from dao.postgres.notify import DRAIN
from model.cluster.nodes import NodeKind, NodeState
from model.errors import ShoalError
from model.runs.command_moves import CommandType
from model.runs.states import TaskState
from node import life
from tests.simulation.definitions import PLAIN
from tests.simulation.loop import Process
from tests.simulation.server import Session, Way
from tests.simulation.workload import ask
from tests.simulation.world import FAULTS_S, LASTING, URL, World

_RARE = 0.1
"""How often a kind is drawn that needs a run of its own to be seen."""


def arrange(world: World) -> None:
    """Some of the kinds, and of each a few."""
    for kind in KINDS:
        random = world.draw("faults", kind.__name__)
        if random.random() < (_RARE if kind in _OWN_RUNS else 0.5) and world.has(kind.__name__):
            world.trace.add("world", f"faults: {kind.__name__}")
            kind(world, random)


def kills(world: World, random: Random) -> None:
    """kill -9, at any moment or in the middle of whatever it does."""
    _each(world, random, 3, "kill", lambda own: _strike(world, own, world.kill))


def pauses(world: World, random: Random) -> None:
    """SIGSTOP for less or more than a session."""

    def pause(own: Random) -> None:
        seconds = own.choice((1, 4, 9))
        _strike(world, own, lambda process: world.pause(process, seconds))

    _each(world, random, 3, "pause", pause)


def lost_statements(world: World, random: Random) -> None:
    """Connections that break at a statement."""
    world.server.faults.statement_lost = random.choice((0.003, 0.02))


def odd_commits(world: World, random: Random) -> None:
    """Commits whose answer is lost, that never arrive, or that happen seconds after the client was told otherwise."""
    world.server.faults.commit_odd = random.choice((0.02, 0.1, 0.25))


def slowness(world: World, random: Random) -> None:
    """Statements that take up to a second and a half."""
    world.server.faults.slow = random.choice((0.02, 0.1))


def lost_notes(world: World, random: Random) -> None:
    """Lost notifications."""
    world.server.faults.note_lost = random.choice((0.1, 0.5, 1.0))


def deaf_watches(world: World, random: Random) -> None:
    """Watches of the registry that go silent forever; in some runs the slots are read again only much later."""
    world.ensemble.deaf = random.choice((0.3, 1.0))
    world.minds_slots = random.random() < 0.2


def stops(world: World, random: Random) -> None:
    """SIGTERM: it fails over and leaves."""

    def stop(process: Process) -> None:
        world.trace.add(process.name, "is asked to stop")
        world.disturb(process, 60.0)
        if process.name in world.stops:
            world.stops[process.name].set()

    _each(world, random, 2, "stop", lambda own: _strike(world, own, stop))


def drains(world: World, random: Random) -> None:
    """Nodes are drained, more than one at once at times, and undrained some seconds later; a few at once again."""
    numbers = iter(range(1, 1000))

    def undrain(key: tuple[NodeKind, str]) -> None:
        world.trace.add("somebody", f"undrains {key[1]}")
        world.server.drains.pop(key, None)

    def drain(own: Random) -> None:
        name, for_s = own.choice(world.names), own.uniform(0.2, 6.0)
        key = (NodeKind.MASTER if name.startswith("master") else NodeKind.WORKER, name)
        world.trace.add("somebody", f"drains {name} for {for_s:.1f} s")
        world.server.drains[key] = next(numbers)
        if name in world.living:
            world.disturb(world.living[name], for_s + 3.0)
        world.server.note(DRAIN)
        world.loop.in_world(for_s, undrain, key)
        if own.random() < 0.3:
            world.loop.in_world(for_s + 0.01, _unless_healed, world, partial(drain, own))

    _each(world, random, 3, "drain", drain)


def database_restarts(world: World, random: Random) -> None:
    """All connections are gone, and the server for a while."""

    def restart(own: Random) -> None:
        down_s = own.choice((0.1, 2, 9)) * own.random()
        world.trace.add("server", f"restarts, away for {down_s:.1f} s")
        world.server.is_down = True
        world.server.end_sessions(lambda _: True)
        world.loop.in_world(down_s, setattr, world.server, "is_down", False)

    _each(world, random, 2, "restart", restart)


def database_freezes(world: World, random: Random) -> None:
    """The database accepts, and does not answer for a while."""

    def freeze(own: Random) -> None:
        for_s = own.choice((1, 5)) * own.random()
        world.trace.add("server", f"freezes for {for_s:.1f} s")
        world.server.freeze(True)
        world.loop.in_world(for_s, world.server.freeze, False)

    _each(world, random, 2, "freeze", freeze)


def terminations(world: World, random: Random) -> None:
    """pg_terminate_backend of everybody."""

    def terminate(_: Random) -> None:
        world.trace.add("server", "ends all sessions")
        world.server.end_sessions(lambda _: True)

    _each(world, random, 4, "termination", terminate)


def partitions(world: World, random: Random) -> None:
    """A process is cut from the database, the registry or both."""

    def cut(own: Random) -> None:
        both = (world.server, world.ensemble)
        from_whom = own.choice((both[:1], both[1:], both))
        world.cut(own.choice(world.names), *from_whom, seconds=own.choice((2, 5, 12)) * own.random())

    _each(world, random, 3, "partition", cut)


def isolations(world: World, random: Random) -> None:
    """A worker that runs something sleeps, or reaches nobody, for longer than the others wait for it."""
    moment_s, for_s, sleeps = random.uniform(2.0, 5.0), random.uniform(5.5, 11.0), random.random() < 0.5

    def isolate(process: Process) -> None:
        if sleeps:
            world.pause(process, for_s)
        else:
            world.cut(process.name, world.server, world.ensemble, seconds=for_s)

    world.loop.in_world(moment_s, _with_a_busy_worker, world, random, for_s, isolate)


def emptied_registries(world: World, random: Random) -> None:
    """A worker that runs something is cut from the database; the registry knows it, until it comes back with empty
    folders, to masters that had lost sight of it and so are not refused."""
    for_s = random.uniform(8.0, 9.5)
    wiped_after_s = random.uniform(4.0, 5.8)
    world.lasts_s = LASTING

    def wipe() -> None:
        if not world.is_healed:
            world.ensemble.wipe()

    def empty(process: Process) -> None:
        world.cut(process.name, world.server, seconds=for_s)
        for name in world.names:
            if name.startswith("master"):
                world.cut(name, world.ensemble, seconds=wiped_after_s + 0.1)
        world.loop.in_world(wiped_after_s, wipe)

    world.loop.in_world(random.uniform(1.0, 4.0), _with_a_busy_worker, world, random, for_s, empty)


def registry_outages(world: World, random: Random) -> None:
    """The whole ensemble is away; sometimes it comes back with empty folders."""

    def fall(own: Random) -> None:
        down_s, is_wiped = own.choice((1, 4, 9)) * own.random(), own.random() < 0.3
        world.trace.add("registry", f"is away for {down_s:.1f} s")
        world.ensemble.is_down = True
        if is_wiped:
            world.loop.in_world(down_s, world.ensemble.wipe)
        world.loop.in_world(down_s, world.ensemble.come_back)

    _each(world, random, 2, "outage", fall)


def phantoms(world: World, random: Random) -> None:
    """Entries of dead sessions that never vanish."""
    world.ensemble.phantoms = random.choice((0.3, 1.0))


def clock_steps(world: World, random: Random) -> None:
    """The database's clock is set."""

    def step(own: Random) -> None:
        world.server.clock_step_s += own.choice((-4, -1, 1, 4))
        world.trace.add("server", f"its clock is set to {world.server.now():%H:%M:%S}")

    _each(world, random, 2, "step", step)


def wrong_fences(world: World, random: Random) -> None:
    """Somebody is taken for dead and is not: the fence itself, without any sign before it."""

    def fence(own: Random) -> None:
        masters = [
            row.id
            for row in world.server.nodes.rows.values()
            if row.values and row.values.state is NodeState.ALIVE and row.values.kind is NodeKind.MASTER
        ]
        if masters and not world.server.is_down:
            world.loop.begin(world.somebody(), _fence(world, own.choice(masters)))

    _each(world, random, 2, "fence", fence)


async def _fence(world: World, epoch: int) -> None:
    database: Any = vars(life)["Database"](URL, application_name="shoal-somebody")
    async with database.reading() as connection:
        living = [node for node in await nodes.living(connection) if node.epoch == epoch]
    for node in living:
        world.trace.add("somebody", f"fences master {epoch} for nothing")
        try:
            await fencing.fence(database, node, "a mistake", by=None)
        except ShoalError as error:
            world.trace.add("somebody", str(error))


def long_registry_outage(world: World, random: Random) -> None:
    """A master dies while the registry is away, and for a long time nobody can join: its slot has no owner."""
    begins_s, dies_s = random.uniform(5.0, 9.0), random.uniform(0.5, 4.0)
    world.heals_registry_s = FAULTS_S + 16.0

    def fall() -> None:
        world.trace.add("registry", "is away for long")
        world.ensemble.is_down = True
        world.ensemble.stays_down = True

    def die() -> None:
        masters = [name for name in world.living if name.startswith("master")]
        if len(masters) > 1:
            world.kill(world.living[random.choice(masters)])

    world.loop.in_world(begins_s, fall)
    world.loop.in_world(begins_s + dies_s, die)


def poison(world: World, random: Random) -> None:
    """A workflow whose run kills the process of each master that drives it; or whose command does, when handled."""
    world.poison = random.randint(1, PLAIN)
    if random.random() < 0.5:
        world.server.suspect_code = world.poison


def strangers(world: World, random: Random) -> None:
    """Strangers' open transactions hold the rows of some runs for longer than any lock is waited for; sometimes a
    command about one of them comes meanwhile."""

    def hold(own: Random) -> None:
        runs = [row for row in world.server.instances.unfinished.values() if row.values is not None]
        if not runs or world.server.is_down:
            return
        session = Session(world.server, world.somebody(), "psql", autocommit=False)
        held = [row.id for row in own.sample(runs, min(len(runs), own.randint(1, 3))) if session.try_lock(row)]
        world.trace.add("somebody", f"holds the rows of runs {held}")
        world.loop.in_world(own.uniform(2.0, 8.0), session.roll_back_by_client)
        if held and own.random() < 0.5:
            type_ = own.choice((CommandType.PAUSE, CommandType.STOP))
            ask(world, type_, workflow_instance_id=str(own.choice(held)))

    _each(world, random, 4, "stranger", hold)


def shortages(world: World, random: Random) -> None:
    """A node lacks for a while what its machine has no more of: it can begin no thread, and a worker no task."""

    def run_short(own: Random) -> None:
        name, for_s = own.choice(world.names), own.uniform(0.5, 3.0)
        world.trace.add(name, f"can begin nothing for {for_s:.1f} s")
        world.short.add(name)
        world.loop.in_world(for_s, world.short.discard, name)

    _each(world, random, 5, "shortage", run_short)


def swallowing_links(world: World, random: Random) -> None:
    """Links of some processes to the database silently lose requests or answers."""

    def swallow(own: Random) -> None:
        names, way, for_s = own.sample(world.names, own.randint(1, len(world.names))), own.choice(list(Way)), 2.5
        world.trace.add("world", f"links of {', '.join(names)} swallow what is {way.name.lower()}")
        for name in names:
            world.server.swallowing[name] = way
            if name in world.living:
                world.disturb(world.living[name], for_s + 3.0)
            world.loop.in_world(for_s, world.server.swallowing.pop, name, None)

    _each(world, random, 2, "swallowing", swallow)


def unstarted(world: World, random: Random) -> None:
    """A worker dies between claiming a task and starting it, while somebody wants its run to pause or stop."""
    left = random.choice((1, 2, 4))

    def strike(process: Process) -> None:
        nonlocal left
        runs = [
            each.values.workflow_instance_id
            for each in world.server.tasks.unfinished.values()
            if each.values is not None
            and each.values.state is TaskState.DISPATCH
            and world.process_of(each.values.worker_id) is process
        ]
        if not left or not runs or process.is_dead:
            return
        left -= 1
        ask(world, random.choice((CommandType.PAUSE, CommandType.STOP)), workflow_instance_id=str(random.choice(runs)))
        world.kill(process)

    world.at_each("mark_running", strike)


def frozen_trees(world: World, random: Random) -> None:
    """A worker that runs something is frozen with everything below it, and killed: its launcher ends nothing. On one
    machine only: nobody can end what is frozen on another."""
    moments, for_s = [random.uniform(1.0, FAULTS_S) for _ in range(3)], random.uniform(6.0, 15.0)
    world.lasts_s = LASTING

    def freeze() -> None:
        busy = [run.process for each in world.launchers.values() for one in each for run in one.runs if run.is_alive]
        if busy and world.is_one_machine:
            world.kill_frozen(random.choice(busy), for_s)

    for moment_s in moments:
        world.loop.in_world(moment_s, _unless_healed, world, freeze)


_OWN_RUNS = (
    long_registry_outage,
    poison,
    phantoms,
    strangers,
    unstarted,
    swallowing_links,
    shortages,
    frozen_trees,
    emptied_registries,
)
KINDS: tuple[Callable[[World, Random], None], ...] = (
    kills,
    pauses,
    lost_statements,
    odd_commits,
    slowness,
    lost_notes,
    deaf_watches,
    stops,
    drains,
    database_restarts,
    database_freezes,
    terminations,
    partitions,
    isolations,
    registry_outages,
    clock_steps,
    wrong_fences,
    *_OWN_RUNS,
)


def _with_a_busy_worker(world: World, random: Random, for_s: float, happen: Callable[[Process], None]) -> None:
    """Let it happen to a worker with a task that runs for longer than `for_s`, as soon as there is one."""
    runs = [run for each in world.launchers.values() for one in each for run in one.runs if run.is_alive]
    if lasting := [run.process for run in runs if run.ends_s > world.loop.now + for_s]:
        happen(random.choice(lasting))
    elif world.loop.now < FAULTS_S - for_s:
        world.loop.in_world(0.25, _with_a_busy_worker, world, random, for_s, happen)
    elif runs:
        happen(random.choice(runs).process)


def _each(world: World, random: Random, most: int, name: str, happen: Callable[[Random], None]) -> None:
    """Up to `most` of a kind, each under its own name and with its own stream."""
    for number in range(random.randint(1, most)):
        own = world.draw(name, number)
        if world.has(f"{name} {number}"):
            world.loop.in_world(own.uniform(0.5, FAULTS_S), _unless_healed, world, partial(happen, own))


def _unless_healed(world: World, happen: Callable[[], None]) -> None:
    if not world.is_healed:
        happen()


def _strike(world: World, random: Random, what: Callable[[Process], None]) -> None:
    """One process, now or at one of its next statements."""
    name = random.choice(world.names)
    if random.random() < 0.7:
        world.at_statement(name, random.randint(1, 25), what)
    elif name in world.living:
        what(world.living[name])
