"""Puts the model in the place of PostgreSQL, the registry, the clock and the launcher; all else of Shoal is real.

What stands for a function of `dao/` is the one of the same name in `statements/`, in the file of the same name. A
function of `dao/` that a master or worker calls and that has none there is a violation, with its name. Only while a
seed runs: every attribute is given back afterwards.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import pkgutil
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import master.drive.plans
import master.schedule_timer
import master.server
import node.left_tasks
import node.lives
import node.watchdog
import registry.clock
import registry.process
import worker.server
from dao.cluster import nodes as dao_nodes
from dao.cluster.node_rows import NodeRow
from dao.cluster.nodes import Me
from dao.commands import deadly_commands as dao_deadly_commands
from dao.postgres.database import ANSWER_WITHIN_S, Database
from dao.postgres.listen import Listener
from dao.postgres.notify import NODE
from master.duties.loop import Duties
from model.cluster.duties import DutyName, Step
from model.cluster.low_water import LONG_S, REST_S, LowWater, Walks
from model.cluster.nodes import Counted, ProcessIdentity
from model.cluster.timing import Timing
from node.overload import Overload
from registry.connect import make_registry
from tests.simulation import disk, statements, streams
from tests.simulation.database import SimulatedDatabase, hold_alive_next
from tests.simulation.disk import SimulatedSpool
from tests.simulation.loop import PROCESS
from tests.simulation.registry import SimulatedRegistry
from tests.simulation.server import Session
from tests.simulation.statements.cluster import fencing
from tests.simulation.switched_off import idle, switched_off
from tests.simulation.task_runs import SimulatedExecutor, SimulatedLauncher, SimulatedListener
from tests.simulation.trace import TracedLog
from tests.simulation.world import World
from worker.attempts.executor import Executor
from worker.check_runner import PoolChecks
from worker.launcher.client import Launcher
from worker.results import spool
from worker.results.spool import Spool
from worker.settings import WorkerSettings

_SHELL = ("master.", "worker.", "node.", "registry.")
_WITHOUT_LOG = ("worker.launcher", "worker.tasks", "worker.statements")
_NO_LOAD = SimpleNamespace(getloadavg=lambda: (0.0, 0.0, 0.0), cpu_count=lambda: 1)
SEARCHES_S = (0.0, 0.0, 0.05, 0.3, 2.0, 7.0)
"""How long the search for what a worker left takes, on an idle machine and on busy ones."""
UNENDED_SHARE = 0.1
"""How often some of it cannot be killed."""
NOT_STATEMENTS = ("dao.postgres.database.connect", "dao.runs.dependent_verdicts.evaluate_all")
"""Async functions of `dao/` that are no statements: nothing here calls them, or they call some that are modelled."""


class NotModelled(Exception):
    """A statement of `dao/` that the simulation does not know."""

    def __init__(self, function: str) -> None:
        module, _, name = function.rpartition(".")
        super().__init__(
            f"{function} has no model: write one, {name}(tx, ...), into "
            f"tests/simulation/statements/{module.removeprefix('dao.').replace('.', '/')}.py "
            "(see docs/internals/simulation.md)"
        )


# ---------------------------------------------------------------------------------------------------- dao


@cache
def models() -> dict[str, Callable[..., Any]]:
    """The model of each function of `dao/`, by its full name."""
    found: dict[str, Callable[..., Any]] = {}
    for module in pkgutil.walk_packages(statements.__path__, f"{statements.__name__}."):
        stands_for = f"dao.{module.name.removeprefix(statements.__name__).removeprefix('.')}"
        if not module.ispkg and importlib.util.find_spec(stands_for) is not None:
            model, real = vars(importlib.import_module(module.name)), vars(importlib.import_module(stands_for))
            found |= {
                f"{stands_for}.{name}": function
                for name, function in model.items()
                if inspect.isfunction(function) and inspect.iscoroutinefunction(real.get(name))
            }
    return found


def _as_dao(statement: Callable[..., Any]) -> Callable[..., Any]:
    def run(connection: Session, *args: Any, **kwargs: Any) -> Any:
        return connection.run(statement, *args, **kwargs)

    return run


def _not_modelled(world: World, function: str) -> Callable[..., Any]:
    async def fail(*_: Any, **__: Any) -> Any:
        error = NotModelled(function)
        world.trace.violation(str(error))
        raise error

    return fail


async def _notify(connection: Session, channel: str, hints: Any = ()) -> None:
    connection.notes.append((channel, ",".join(sorted({str(hint) for hint in hints}))))


async def _nobody_watches(*_: Any) -> None:
    """Do nothing: no user interface takes part."""


async def _fence(database: Database, dead: NodeRow, why: str, *, by: Me | None) -> bool:
    """The real one has its own statements; the order is the same: end the sessions, then take the licence."""
    async with database.reading() as connection:
        await connection.run(fencing.terminate, dead.kind, dead.epoch, dead.beat_no)  # type: ignore[attr-defined]
    async with database.writing() as connection:
        if by is not None:
            await dao_nodes.hold_alive(connection, by)
        fenced: bool = await connection.run(fencing.fence, dead.epoch, dead.beat_no, why)  # type: ignore[attr-defined]
        if fenced and dead.slot is not None:
            await dao_deadly_commands.mark_suspects(connection, dead.epoch, dead.slot)
        if fenced:
            await _notify(connection, NODE)  # type: ignore[arg-type]
        return fenced


async def _ready(*_: Any) -> None:
    """Do nothing: the schema is right."""


async def _own_timing(_: Session, given: Timing) -> Timing:
    """As if each process had started with other times of the cluster: a person may have changed them in between."""
    return given


async def _none_newer(_: Session) -> None:
    """No life begins with a schema that its program does not know."""


async def _none_recorded(_: Session) -> None:
    """Do nothing: a simulation has one registry."""


async def _settled(*_: Any) -> None:
    """The registry is the cluster's."""


OF_THEIR_OWN: dict[str, Callable[..., Any]] = {
    "dao.postgres.notify.notify": _notify,
    "dao.postgres.notify.changed": _nobody_watches,
    "dao.cluster.cluster.agree_on_timing": _own_timing,
    "dao.cluster.cluster.registry": _none_recorded,
    "dao.cluster.fencing.fence": _fence,
    "dao.postgres.readiness.wait_until_ready": _ready,
    "dao.postgres.newer_schema.newer": _none_newer,
}


# ------------------------------------------------------------------------------------------------- the rest


class _Timer:
    """APScheduler's part in `master/schedule_timer.py`: call once, later."""

    def add_job(self, ring: Callable[[], Any], after: Any, **_: Any) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(after._span.total_seconds(), loop.call_soon, ring)


@contextmanager
def _timer() -> Iterator[_Timer]:
    yield _Timer()


@contextmanager
def _unwatched(_limit: timedelta) -> Iterator[None]:
    """Virtual time does not hang."""
    yield


async def _measure_nothing(_: Overload) -> None:
    """Every machine has room."""


def _no_meter(*_: Any) -> None:
    """Nothing is measured, so no control group is looked for."""


SHORTER_S = REST_S - 6.0
"""A seed is not much longer than what follows when masters came or went, and nothing would be searched from marks."""


class _ShortRests(Walks):
    def rest(self, now_s: float) -> None:
        super().rest(now_s - SHORTER_S)


class _ShortRestsOfEvents(LowWater):
    def rest(self, now_s: float) -> None:
        super().rest(now_s - SHORTER_S)


class _LongWalks(_ShortRests):
    """As beside a transaction that stays open for long."""

    def took(self, took_s: float, now_s: float, *, of_all: bool = True) -> None:
        super().took(max(took_s, 2 * LONG_S), now_s, of_all=of_all)


@cache
def _remembered_plan(*of: Any) -> Any:
    """The workflows are the same in all seeds, and a plan never changes."""
    return _PLAN(*of)


_PLAN = vars(master.drive.plans)["_plan"]


@cache
def _bound() -> dict[int, list[tuple[Any, str]]]:
    """Where in the modules of masters and workers something is known under a name, by its identity."""
    places: dict[int, list[tuple[Any, str]]] = {}
    for name, module in sorted(sys.modules.items()):
        if f"{name}.".startswith((*_SHELL, "dao.")) or name == "tests.simulation.registry":
            for key, value in vars(module).items():
                places.setdefault(id(value), []).append((module, key))
    return places


@cache
def _statements() -> tuple[tuple[str, Callable[..., Any]], ...]:
    """Every async function of the modules of `dao/` that are loaded."""
    return tuple(
        (f"{name}.{key}", value)
        for name, module in sorted(sys.modules.items())
        if name.startswith("dao.")
        for key, value in vars(module).items()
        if inspect.iscoroutinefunction(value) and value.__module__ == name
    )


@cache
def _logs() -> tuple[Any, ...]:
    return tuple(
        module
        for name, module in sorted(sys.modules.items())
        if name.startswith(_SHELL) and not name.startswith(_WITHOUT_LOG) and "log" in vars(module)
    )


def _instead(world: World) -> list[tuple[object, Any]]:
    """The replacements, wherever the originals are known."""

    def clock_s() -> float:
        process = PROCESS.get()
        return world.loop.now if process is None else process.clock_s(world.loop.now)

    def database(
        url: str,
        *,
        application_name: str,
        connections_max: int = 8,
        answer_within_s: float = ANSWER_WITHIN_S,
        announces_together: bool = False,
        keeps_plans: bool = False,
        measures: object = None,
    ) -> SimulatedDatabase:
        return SimulatedDatabase(world.server, url, application_name, answer_within_s)

    def this_process() -> ProcessIdentity:
        process = PROCESS.get()
        assert process is not None
        return ProcessIdentity(process.host, process.pid, 0)

    def is_gone(identity: ProcessIdentity) -> bool:
        process = PROCESS.get()
        assert process is not None
        return can_end(identity) and world.processes[identity.pid].is_dead

    def can_end(identity: ProcessIdentity) -> bool:
        process = PROCESS.get()
        assert process is not None
        return identity.boot == process.host

    def ending_of(node: NodeRow) -> asyncio.Future[int]:
        return asyncio.get_running_loop().create_task(_ending_of(world, node.process.pid))

    def listener(_url: str, _name: str, channels: dict[str, Any]) -> SimulatedListener:
        return SimulatedListener(world, channels)

    def of_url(_url: str, *, session_timeout: timedelta, application_name: str) -> SimulatedRegistry:
        return SimulatedRegistry(world.ensemble, session_timeout)

    def launcher(grace_s: float, life: str) -> SimulatedLauncher:
        return SimulatedLauncher(world)

    def executor(
        settings: WorkerSettings,
        processes: SimulatedLauncher,
        _epoch: Any,
        _secrets: Any,
        overload: Overload,
        *_: Any,
        **_others: Any,
    ) -> SimulatedExecutor:
        return SimulatedExecutor(world, processes, settings, overload)

    replaced: list[tuple[object, Any]] = [
        (registry.clock.boottime_s, clock_s),
        (Database, database),
        (registry.process.this_process, this_process),
        (registry.process.is_gone, is_gone),
        (node.left_tasks.can_end, can_end),
        (node.left_tasks.ending_of, ending_of),
        (Listener, listener),
        (make_registry, of_url),
        (dao_nodes.hold_alive_next, hold_alive_next),
        (node.lives._verify_registry, _settled),
        (node.watchdog.watched, _unwatched),
        (Launcher, launcher),
        (Executor, executor),
        (Spool, lambda folder, me: SimulatedSpool(world.files, folder, me)),
        (spool.left_by_former_lives, lambda folder: disk.left_by_former_lives(world.files, folder)),
        (random, world.random),
        (uuid4, lambda: UUID(int=world.random.getrandbits(128))),
        (master.schedule_timer._timer, _timer),
    ]
    replaced.append((Walks, _LongWalks if world.walks_are_long else _ShortRests))
    replaced.append((LowWater, _ShortRestsOfEvents))
    known = models()
    for name, function in _statements():
        if name in OF_THEIR_OWN:
            replaced.append((function, OF_THEIR_OWN[name]))
        elif name in known:
            replaced.append((function, _as_dao(known[name])))
        elif name not in NOT_STATEMENTS:
            replaced.append((function, _not_modelled(world, name)))
    return replaced


async def _ending_of(world: World, pid: int) -> int:
    """On a busy machine the search for what a worker left takes as long as a silence; some of it cannot be killed."""
    if not world.protections.swept:
        return 0
    search_s = world.random.choice(SEARCHES_S)
    if world.random.random() < UNENDED_SHARE:
        await asyncio.sleep(search_s)
        world.cannot_end_tasks_of(pid)
        return 1
    if not world.protections.searched:
        world.loop.in_world(search_s, world.end_tasks_of, pid)
        return 0
    await asyncio.sleep(search_s)
    world.end_tasks_of(pid)
    return 0


def _counting(steps: int) -> Callable[..., Any]:
    """A duty of this many steps, each of which continues from the record of the one before."""

    async def do(_connection: Session, _context: object, progress: Mapping[str, Any]) -> Step:
        count = progress.get("count", 0) + 1
        await asyncio.sleep(0)
        return Step(f"step {count}", is_over=count >= steps, progress={"count": count})

    return do


_STEPS = {name: _counting(1 + 2 * (number % 2)) for number, name in enumerate(DutyName)}


def _duties(world: World) -> list[tuple[Any, str, Any]]:
    """Duties are done in a part of the seeds: retention, and others that only count."""
    if not world.does_duties:
        return [(Duties, "run", idle)]
    loop = sys.modules["master.duties.loop"]
    return [(loop, "STEPS", {**_STEPS, DutyName.RETENTION: loop.STEPS[DutyName.RETENTION]})]


def _replacements(world: World) -> list[tuple[Any, str, Any]]:
    bound = _bound()
    made = [(*place, new) for old, new in _instead(world) for place in bound.get(id(old), ())]
    log = TracedLog(world.trace)
    made += [(module, "log", log) for module in _logs()]
    made += [
        (sys.modules["node.meter"], "os", _NO_LOAD),
        (sys.modules["node.overload"], "Meter", _no_meter),
        (sys.modules["metrics.tally"], "_read", Counted),  # the metrics of all nodes of this process are the same
        (sys.modules["master.drive.plans"], "_plan", _remembered_plan),
        (sys.modules["master.server"], "open_calls", lambda _settings: world.store),
        (sys.modules["master.server"], "StoreAccess", lambda store, _life: store),
        (sys.modules["model.parameters.values_to_keep"], "_kept", {}),
        (sys.modules["worker.beats"], "GUARD_EVERY_S", 0.5),
        (sys.modules["worker.server"], "COMPARE_EVERY_S", 4.0),
    ]
    made.append((Overload, "measure", _measure_nothing))
    made.append((Overload, "run", idle))
    made += streams.replaced(world)
    made.append((PoolChecks, "run", idle))
    made += _duties(world)
    made.append((worker.server, "delete_old_logs", idle))
    return made + switched_off(world.protections)


@contextmanager
def wired(world: World) -> Iterator[None]:
    """Shoal runs in this world."""
    before: list[tuple[Any, str, Any]] = []
    try:
        for owner, name, replacement in _replacements(world):
            before.append((owner, name, getattr(owner, name)))
            setattr(owner, name, replacement)
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)
