"""Puts the model in the place of PostgreSQL, the registry, the clock and the launcher; all else of Shoal is real.

Only while a seed runs: every attribute is given back afterwards.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from dao.database import Database
from dao.nodes import NodeRow
from model.nodes import ProcessIdentity
from tests.simulation import definitions
from tests.simulation.loop import PROCESS
from tests.simulation.registry import SimulatedRegistry
from tests.simulation.server import Server, Session
from tests.simulation.statements import children, commands, instances, moves, nodes, tasks
from tests.simulation.task_runs import SimulatedExecutor, SimulatedLauncher, SimulatedListener
from tests.simulation.trace import TracedLog
from tests.simulation.world import World

_LOGS = [
    "master.driver",
    "master.command_loop",
    "master.takeovers",
    "master.membership",
    "master.lookout",
    "master.schedules",
    "master.server",
    "master.dependents",
    "registry.rounds",
    "registry.lives",
    "registry.life",
    "worker.exchange",
    "worker.pulse",
    "worker.server",
]
_CLOCKS = [
    "registry.contact",
    "registry.life",
    "master.driver",
    "master.command_loop",
    "master.membership",
    "master.server",
]
_CLOCKS += ["worker.pulse", "worker.server", "tests.simulation.registry"]
_NOTIFIERS = ["master.writes", "master.lookout", "master.membership", "worker.exchange", "worker.server"]
_MODELLED: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "dao.nodes": (
        nodes,
        ("enlist", "hold_alive", "anything_left", "barrier", "beat", "living", "set_leaving", "set_left"),
    ),
    "dao.commands": (commands, ("claim", "steal", "take", "work_waits", "record")),
    "dao.schedules": (commands, ("due", "next_due_in_s", "fire")),
    "dao.workflow_instances": (
        instances,
        ("insert", "enter", "finish", "take_over", "settle", "owned", "read_owned", "hand_on", "why_not_recovered"),
    ),
    "dao.instance_moves": (moves, ("lock", "serial_codes", "ask_halt", "end_waiting", "revive")),
    "dao.serial_line": (moves, ("anyone_waits", "call_forgotten")),
    "dao.children": (children, ("above", "of", "existing", "start", "resume")),
    "dao.task_instances": (
        tasks,
        ("queue", "halt", "ask_kill", "end_in_master", "invalidate", "latest_attempts", "queue_due", "mark_lost"),
    ),
    "dao.task_claims": (tasks, ("claim", "mark_running", "report", "to_kill", "held", "work_waits")),
    "dao.task_events": (tasks, ("consume", "drop_stale", "forget")),
}
_RENAMED = {
    ("dao.serial_line", "lock"): moves.lock_line,
    ("dao.children", "halt"): children.halt_children,
    ("dao.children", "tell"): children.tell_unmade,
    ("dao.ends", "tell"): children.tell_ends,
    ("dao.ends", "tell_parents"): children.tell_parents,
}


_NO_LOAD = SimpleNamespace(getloadavg=lambda: (0.0, 0.0, 0.0), cpu_count=lambda: 1)


class SimulatedDatabase:
    """`dao/database.py`'s pool as one process sees it."""

    def __init__(self, server: Server, url: str, application_name: str) -> None:
        self.url = self.shown = url
        self.application_name = application_name
        self._server = server

    async def close(self) -> None:
        """Nothing is kept open."""

    def reading(self) -> _Reading:
        return _Reading(self._session(autocommit=True))

    def writing(self) -> _Writing:
        return _Writing(self._session(autocommit=False))

    def _session(self, *, autocommit: bool) -> Session:
        process = PROCESS.get()
        assert process is not None
        return Session(self._server, process, self.application_name, autocommit=autocommit)


class _Reading:
    def __init__(self, session: Session) -> None:
        self.session = session

    async def __aenter__(self) -> Session:
        return self.session

    async def __aexit__(self, *_: object) -> None:
        self.session.roll_back_by_client()


class _Writing(_Reading):
    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is None:
            await self.session.commit()
        else:
            self.session.roll_back_by_client()


def _as_dao(statement: Callable[..., Any]) -> Callable[..., Any]:
    async def run(connection: Session, *args: Any, **kwargs: Any) -> Any:
        return await connection.run(statement, *args, **kwargs)

    return run


async def _notify(connection: Session, channel: str, hints: Any = ()) -> None:
    connection.notes.append((channel, ",".join(sorted({str(hint) for hint in hints}))))


async def _fence(database: Database, dead: NodeRow, why: str) -> bool:
    """The real one has its own statements; the order is the same: end the sessions, then take the licence."""
    async with database.reading() as connection:
        await connection.run(nodes.terminate, dead.kind, dead.epoch)  # type: ignore[attr-defined]
    async with database.writing() as connection:
        fenced: bool = await connection.run(nodes.fence, dead.epoch)  # type: ignore[attr-defined]
        return fenced


class _Timer:
    """APScheduler's part in `master/schedules.py`: call once, later."""

    def add_job(self, ring: Callable[[], Any], after: Any, **_: Any) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(after._span.total_seconds(), lambda: loop.create_task(ring()))


@contextmanager
def _timer() -> Iterator[_Timer]:
    yield _Timer()


def _read_only() -> dict[tuple[str, str], Any]:
    """What never changes: definitions, and the time."""

    async def heads(_: Session, codes: Any) -> Any:
        return {code: definitions.definition(code) for code in codes}

    async def specs(_: Session, wanted: Any) -> Any:
        return {(code, version): definitions.specs()[code] for code, version in wanted}

    async def whereabouts(_: Session, codes: Any) -> Any:
        return {code: definitions.whereabouts(code) for code in codes}

    async def database_time(connection: Session) -> Any:
        return connection.server.now()

    async def increment(_: Session) -> int:
        return 1

    async def none_waits(*_: Any) -> list[Any]:
        return []

    return {
        ("dao.definitions", "heads"): heads,
        ("dao.definitions", "specs"): specs,
        ("dao.definitions", "whereabouts"): whereabouts,
        ("master.starts", "database_time"): database_time,
        ("dao.commands", "id_increment"): increment,
        ("dao.dependencies", "waiting"): none_waits,
    }


def _replacements(world: World) -> dict[tuple[str, str], Any]:
    log, random = TracedLog(world.trace), world.random

    def clock_s() -> float:
        process = PROCESS.get()
        return world.loop.now if process is None else process.clock_s(world.loop.now)

    def database(url: str, *, application_name: str, connections_max: int = 8) -> SimulatedDatabase:
        return SimulatedDatabase(world.server, url, application_name)

    def this_process() -> ProcessIdentity:
        process = PROCESS.get()
        assert process is not None
        return ProcessIdentity(process.host, process.pid, 0)

    def is_gone(identity: ProcessIdentity) -> bool:
        process = PROCESS.get()
        assert process is not None
        return identity.boot == process.host and world.processes[identity.pid].is_dead

    def listener(_url: str, _name: str, channels: dict[str, Any]) -> SimulatedListener:
        return SimulatedListener(world, channels)

    def registry(_url: str, *, session_timeout: timedelta, application_name: str) -> SimulatedRegistry:
        return SimulatedRegistry(world.ensemble, session_timeout)

    def launcher(grace_s: float) -> SimulatedLauncher:
        return SimulatedLauncher(world)

    def executor(_settings: Any, processes: SimulatedLauncher, *_: Any) -> SimulatedExecutor:
        return SimulatedExecutor(world, processes, world.timing.kill_grace.total_seconds())

    async def ready(*_: Any) -> None:
        """It is there, with the right schema."""

    async def no_guard(_: Any) -> None:
        await asyncio.Event().wait()

    made: dict[tuple[str, str], Any] = {(module, "log"): log for module in _LOGS}
    made |= {(module, "boottime_s"): clock_s for module in _CLOCKS}
    made |= {(module, "notify"): _notify for module in _NOTIFIERS}
    for module, (model, names) in _MODELLED.items():
        made |= {(module, name): _as_dao(getattr(model, name)) for name in names}
    made |= {place: _as_dao(statement) for place, statement in _RENAMED.items()}
    made |= {(module, "random"): random for module in ("registry.rounds", "registry.lives", "worker.exchange")}
    made |= _read_only()
    made |= {
        ("dao.nodes", "fence"): _fence,
        ("registry.life", "Database"): database,
        ("registry.life", "this_process"): this_process,
        ("registry.life", "is_gone"): is_gone,
        ("master.membership", "is_gone"): is_gone,
        ("registry.lives", "make_registry"): registry,
        ("registry.lives", "uuid4"): lambda: UUID(int=random.getrandbits(128)),
        ("master.server", "Listener"): listener,
        ("worker.server", "Listener"): listener,
        ("master.server", "wait_until_ready"): ready,
        ("worker.server", "Launcher"): launcher,
        ("worker.server", "Executor"): executor,
        ("master.schedules", "_timer"): _timer,
        ("master.membership", "os"): _NO_LOAD,
        ("worker.pulse", "os"): _NO_LOAD,
        ("worker.pulse", "GUARD_EVERY_S"): 0.5,
    }
    if not world.protections.horizon:
        made["worker.pulse.Pulse", "guard"] = no_guard
    return made


def _owner(path: str) -> Any:
    """A module, or a class in one."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name) if name[0].isupper() else importlib.import_module(path)


@contextmanager
def wired(world: World) -> Iterator[None]:
    """Shoal runs in this world."""
    before: list[tuple[Any, str, Any]] = []
    try:
        for (path, name), replacement in _replacements(world).items():
            owner = _owner(path)
            before.append((owner, name, getattr(owner, name)))
            setattr(owner, name, replacement)
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)
