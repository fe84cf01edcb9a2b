"""A cluster in one seed: who takes part, what goes wrong and when, what is asked for.

Each seed draws which kinds of faults there are at all (half of them are off: one kind must not hide the others) and
how much of everything. Faults last until `FAULTS_S`; then all is healed, and everything must come to its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from master.server import Master
from master.settings import MasterSettings
from model.timing import Timing
from registry.lives import live_again_and_again
from tests.simulation.definitions import COUNT
from tests.simulation.invariants import Invariants
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.protections import Protections
from tests.simulation.registry import Ensemble
from tests.simulation.server import IDLE_IN_TRANSACTION_S, Server, Session
from tests.simulation.tables import Values
from tests.simulation.task_runs import SimulatedLauncher
from tests.simulation.trace import Trace
from worker.server import Worker
from worker.settings import WorkerSettings

FAULTS_S = 14.0
END_S = 400.0
URL = "simulated"
TIMING = Timing(
    heartbeat_every=timedelta(seconds=1),
    session_timeout=timedelta(seconds=3),
    master_fence_after=timedelta(seconds=3),
    worker_fence_after=timedelta(seconds=6),
    worker_cut_limit=timedelta(seconds=9),
    kill_grace=timedelta(seconds=0.5),
)
MASTER = MasterSettings(
    batch_max=4,
    sweep_every=timedelta(seconds=3),
    steal_after=timedelta(seconds=2),
    drain=timedelta(seconds=1),
)


class World:
    """Processes and servers of one seed."""

    timing = TIMING

    def __init__(self, seed: int, protections: Protections) -> None:
        self.random = Random(seed)
        self.protections = protections
        self.loop = VirtualLoop()
        self.trace = Trace(self.loop)
        self.invariants = Invariants(self.trace)
        self.server = Server(self.loop, self.random, protections, self.trace, self.invariants)
        self.invariants.server = self.server
        self.ensemble = Ensemble(self.loop, self.random, self.trace)
        self.processes: dict[int, Process] = {}
        self.launchers: dict[int, list[SimulatedLauncher]] = {}
        self.living: dict[str, Process] = {}
        self.is_healed = False
        self.failing = self.random.choice((0.0, 0.15, 0.4))
        self.lasts_s = self.random.choice(((0.01, 0.2), (0.01, 0.2, 1.0, 4.0), (0.2, 4.0, 18.0)))
        """Between nothing and one of these a task takes."""
        self.hosts = self.random.choice((1, 1, 9))
        self.stops: dict[str, asyncio.Event] = {}
        self._plans: dict[Process, list[tuple[int, Callable[[Process], None]]]] = {}
        self.server.on_statement = self._count_statement
        for code in range(1, COUNT + 1):
            self.server.do(lambda tx, code=code: tx.insert(self.server.definitions, code, Values()))
        self.names = [f"master{n}" for n in range(self.random.choice((1, 2, 2, 3, 3, 4)))]
        self.names += [f"worker{n}" for n in range(self.random.choice((1, 2, 2, 3)))]

    # ----------------------------------------------------------------------------------------------- processes

    def start(self, name: str) -> None:
        """A new process under that name, unless one lives."""
        if name in self.living:
            return
        random, pid = self.random, len(self.processes) + 1
        host = f"host{self.names.index(name) % self.hosts}"
        process = Process(name, pid, host, random.uniform(10, 1e6), random.uniform(0.97, 1.03))
        self.processes[pid] = process
        self.living[name] = process
        self.trace.add(name, f"starts as process {pid}")
        task = self.loop.begin(process, self._main(process))
        task.add_done_callback(lambda task: self.loop.in_world(0.0, self._ended, process, task))

    def somebody(self) -> Process:
        """A process of nobody's, from which a person does something."""
        return Process("somebody", 0, "elsewhere", 0.0, 1.0)

    async def _main(self, process: Process) -> None:
        stop = self.stops[process.name] = asyncio.Event()
        if process.name.startswith("master"):
            await Master(URL, URL, f"{process.name}:1", TIMING, MASTER, connect_timeout_s=5.0).run(stop)
            return
        settings = WorkerSettings(capacity=2, folder=Path("nowhere"), drain=timedelta(seconds=1))
        vault: Any = None
        worker = Worker(URL, URL, TIMING, settings, vault, connect_timeout_s=5.0)
        logs: Any = SimpleNamespace(address=(process.name, 1))
        await live_again_and_again(lambda stop: worker._live(stop, logs), stop)

    def _ended(self, process: Process, task: asyncio.Task[Any]) -> None:
        if process.is_dead:
            return
        error = None if task.cancelled() else task.exception()
        self.trace.add(process.name, f"ends{f': {error!r}' if error else ''}")
        if error is not None and type(error).__name__ not in ("Refused", "Unavailable"):
            self.trace.violation(f"{process.name} ended by {error!r}")
        self.kill(process)

    def kill(self, process: Process) -> None:
        """SIGKILL. What it had sent to the database goes on for a moment; the trees of its tasks end."""
        if process.is_dead:
            return
        process.is_dead = True
        process.deferred.clear()
        self.living.pop(process.name, None)
        self.trace.add(process.name, "is dead")
        if self.protections.terminate:
            notices_s = 3.0 if self.random.random() < 0.2 else self.random.random() * 0.05
            self.loop.in_world(notices_s, self.server.end_sessions, lambda session: session.process is process)
        self.ensemble.clients[:] = [each for each in self.ensemble.clients if each.process is not process]
        self.server.listeners[:] = [each for each in self.server.listeners if each._process is not process]
        for launcher in self.launchers.get(process.pid, ()):
            self.loop.in_world(self.random.random() * 0.1, launcher.close_at_once)
        self.loop.in_world(self.random.choice((0.2, 1.0, 6.0)) * self.random.random(), self.start, process.name)

    def pause(self, process: Process, seconds: float) -> None:
        """SIGSTOP, and SIGCONT later. The server ends transactions that idle."""
        if process.is_dead or process.is_paused:
            return
        self.trace.add(process.name, f"is stopped for {seconds:.1f} s")
        process.is_paused = True

        def idles(session: Session) -> bool:
            return session.process is process and not session.autocommit

        if seconds > IDLE_IN_TRANSACTION_S and self.protections.terminate:
            self.loop.in_world(IDLE_IN_TRANSACTION_S, self._if_paused, process, idles)
        self.loop.in_world(seconds, self.go_on, process)

    def _if_paused(self, process: Process, idles: Callable[[Session], bool]) -> None:
        if process.is_paused:
            self.server.end_sessions(idles)

    def go_on(self, process: Process) -> None:
        if process.is_paused and not process.is_dead:
            self.trace.add(process.name, "goes on")
            self.loop.go_on(process)

    def at_statement(self, name: str, number: int, what: Callable[[Process], None]) -> None:
        """Let it happen when the process of that name sends its so many-th statement from now."""
        process = self.living.get(name)
        if process is not None:
            self._plans.setdefault(process, []).append((process.statements + number, what))

    def _count_statement(self, process: Process) -> None:
        process.statements += 1
        plans = self._plans.get(process)
        if plans and not self.is_healed:
            due = [what for number, what in plans if number <= process.statements]
            if due:
                self._plans[process] = [plan for plan in plans if plan[0] > process.statements]
                for what in due:
                    what(process)

    # ------------------------------------------------------------------------------------------------- the end

    def heal(self) -> None:
        """No more faults."""
        self.trace.add("world", "all faults end")
        self.is_healed = True
        server, ensemble = self.server, self.ensemble
        server.is_down = False
        server.freeze(False)
        server.cut_off.clear()
        ensemble.cut_off.clear()
        ensemble.deaf = 0.0
        ensemble.come_back()
        server.faults = type(server.faults)()
        for process in list(self.living.values()):
            self.go_on(process)
        for name in self.names:
            self.start(name)

    def is_over(self) -> bool:
        return bool(self.trace.violations) or (self.is_healed and self.invariants.is_quiet())
