"""A cluster in one seed: who takes part, and what may be done to it.

Faults last until `FAULTS_S`; then all is healed, and everything must come to its end. Whatever a seed arranges
(`faults.py`, `workload.py`) has a name and a random stream of its own, so that each can be left out and all else stays
as it was: that is how a failing seed is made smaller (`shrinking.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from master.server import Master
from metrics.health import Health
from model.cluster.master_settings import MasterSettings
from model.cluster.means import NO_THREAD
from model.cluster.nodes import Heartbeat, NodeKind, NodeState
from model.cluster.timing import Timing
from model.errors import Refused, Unavailable
from node.joining import Joining
from node.lives import live_until_stopped
from tests.simulation.broken_worker import BrokenWorker
from tests.simulation.definitions import POOLS, STREAM_POOLS, specs
from tests.simulation.disk import Files
from tests.simulation.invariants import Invariants
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.protections import Protections
from tests.simulation.registry import Ensemble
from tests.simulation.server import IDLE_IN_TRANSACTION_S, Server, Session
from tests.simulation.tables import Values
from tests.simulation.task_runs import SimulatedLauncher
from tests.simulation.trace import Trace
from tests.simulation.value_store import ValueStore
from worker.former_life import FormerLife
from worker.server import Worker
from worker.settings import WorkerSettings

FAULTS_S = 14.0
END_S = 2_000.0
"""A run is cut here: the longest takes half of it, with one worker that has one place."""
INNOCENT_AFTER_S = 4.0
CALM_S = 12.0
"""After all faults have ended, the slots must be right, and no command may have waited for this long."""
PLACES_FOR_STREAMS = 16
"""More than a seed has streams, so that each worker has a place for all."""
DUTY_WITHIN_S = 7.0
"""By then a duty is at work or done, despite any deaths."""
ROOM_FOR_ALL = 20_000
"""More runs than any seed has."""
LASTING = (0.2, 4.0, 18.0)
"""Durations of tasks, some of which outlast any silence for which a node is fenced."""
URL = "simulated"
TIMING = Timing(
    heartbeat_every=timedelta(seconds=1),
    session_timeout=timedelta(seconds=3),
    master_fence_after=timedelta(seconds=5),
    worker_fence_after=timedelta(seconds=6),
    worker_cut_limit=timedelta(seconds=9),
    kill_grace=timedelta(seconds=0.5),
)
MASTER = MasterSettings(
    batch_max=4,
    sweep_every=timedelta(seconds=3),
    steal_after=timedelta(seconds=2),
    drain=timedelta(seconds=1),
    watch_every=timedelta(seconds=4),
    stuck_after=timedelta(seconds=2),
    rebalance_after=timedelta(seconds=3),
)


class World:
    """Processes and servers of one seed."""

    timing = TIMING

    def __init__(self, seed: int, protections: Protections, left_out: Collection[str] = ()) -> None:
        self.seed = seed
        self.random = Random(seed)
        """For decisions during the run."""
        self.protections = protections
        self.loop = VirtualLoop()  # type: ignore[abstract]
        self.trace = Trace(self.loop)
        self.invariants = Invariants(self.trace)
        self.server = Server(self.loop, self.random, protections, self.trace, self.invariants)
        self.invariants.watch(self.server)
        self.ensemble = Ensemble(self.loop, self.random, self.trace)
        self.files: Files = {}
        self.processes: dict[int, Process] = {}
        self.launchers: dict[int, list[SimulatedLauncher]] = {}
        self.living: dict[str, Process] = {}
        self.is_healed = False
        self.heals_registry_s = FAULTS_S
        self.minds_slots = False
        """Whether the slots are looked at in the end, for which a run takes longer."""
        self.arranged: list[str] = []
        """Everything that this seed arranged, by name."""
        self.short: set[str] = set()
        """Nodes whose machines are short of descriptors, processes or room just now."""
        self.loop.refuse_threads = self._refuse_threads
        self.broken: BrokenWorker | None = None
        self.store: ValueStore | None = None
        """If there is one, elements give values, and masters keep their lists."""
        self.poison = 0
        """A workflow that kills its masters; 0 = none does."""
        self._poisoned_s = -CALM_S
        self.invariants.is_innocent = self._is_innocent
        self.invariants.on_driven = self._dies_of
        self._beating: dict[Process, int] = {}
        """The last epoch with which each process beat."""
        self.invariants.on_beat = self._beats
        self.stops: dict[str, asyncio.Event] = {}
        self._left_out = left_out
        self.does_duties = self.draw("of duties").random() < 0.1 and self.has("duties")
        """Whether masters do duties, for which a run takes longer."""
        self._began_s = 0.0
        self._plans: dict[Process, list[tuple[int, Callable[[Process], None]]]] = {}
        self._moments: dict[str, Callable[[Process], None]] = {}
        self.server.on_statement = self._count_statement
        self.server.on_goodbye = self._gives_up
        self.server.on_suspect = self._kill_by_poison
        self.server.triggers = {code: spec.triggers for code, spec in specs().items() if spec.triggers}
        for code, spec in specs().items():
            new = Values(max_active=spec.max_active)
            self.server.do(lambda tx, code=code, new=new: tx.insert(self.server.definitions, code, new))
        for pool, size in (POOLS | STREAM_POOLS).items():
            self.server.do(lambda tx, pool=pool: tx.insert(self.server.pools, pool, Values(name=pool)))
            for number in range(size):
                resource = Values(pool=pool, name=f"{pool}{number}", holder=None, worker_id=None, free_since_s=0.0)
                self.server.do(lambda tx, new=resource: tx.insert(self.server.resources, new.name, new))
        drawn = self.draw("cluster")
        self.failing = drawn.choice((0.0, 0.15, 0.4))
        self.lasts_s = drawn.choice(((0.01, 0.2), (0.01, 0.2, 1.0, 4.0), LASTING))
        """Between nothing and one of these a task takes."""
        self.hosts = drawn.choice((1, 9, 9))
        """The number of machines of the nodes."""
        limits = self.draw("limits")
        runs, self._capacity = limits.choice((ROOM_FOR_ALL, ROOM_FOR_ALL, 1, 2, 4)), limits.choice((2, 2, 1, 4))
        self.has_streams = self.draw("has streams").random() < 0.15 and self.has("streams")
        if self.has_streams:
            runs, self._capacity = ROOM_FOR_ALL, PLACES_FOR_STREAMS
        self._settings = MASTER.model_copy(update={"max_running_workflows": runs})
        self.may_be_full = runs < ROOM_FOR_ALL
        """Whether commands may wait for room, and masters turn BUSY and leave their slots for a while."""
        masters, workers = drawn.choice((1, 2, 2, 2, 3, 3, 4, 5)), drawn.choice((1, 1, 2, 2, 3, 4))
        names = [f"master{n}" for n in range(masters)] + [f"worker{n}" for n in range(workers)]
        self._last_lives: dict[str, FormerLife] = {}
        self.walks_are_long = self.draw("walks").random() < 0.25 and self.has("walks")
        """Whether queues are searched from their low-water marks."""
        self._names_clash = self.draw("names").random() < 0.1 and self.has("names")
        self.timings_differ = self.draw("timings").random() < 0.25 and self.has("timings")
        """Whether each process lives by times of its own."""
        self.names = [name for name in names if name in ("master0", "worker0") or self.has(name)]

    def draw(self, *what: object) -> Random:
        """A random stream of its own for that."""
        return Random(f"{self.seed} {what}")

    def has(self, name: str) -> bool:
        """Arrange something under that name, unless it is left out."""
        if name in self._left_out:
            return False
        self.arranged.append(name)
        return True

    # ----------------------------------------------------------------------------------------------- processes

    def start(self, name: str) -> None:
        """A new process under that name, unless one lives."""
        if name in self.living:
            return
        random, pid = self.random, len(self.processes) + 1
        host = f"host{(int(name[-1]) + 4 * (name[0] == 'w')) % self.hosts}"
        process = Process(name, pid, host, random.uniform(10, 1e6), random.uniform(0.97, 1.03))
        process.disturbed_s = self.loop.now
        self.processes[pid] = process
        self.living[name] = process
        self._began_s = self.loop.now
        self.trace.add(name, f"starts as process {pid}")
        task = self.loop.begin(process, self._main(process))
        task.add_done_callback(lambda task: self.loop.in_world(0.0, self._ended, process, task))

    @property
    def is_one_machine(self) -> bool:
        """Whether all processes see each other in /proc."""
        return self.hosts == 1

    def timing_of(self, process: Process) -> Timing:
        """In some seeds a person changes the cluster's times all the while, and each process keeps those with which it
        started: workers longer or shorter ones than the masters who judge them."""
        if not self.timings_differ:
            return TIMING
        drawn = self.draw("timing", process.name, process.pid)
        fence_s = drawn.choice((5.5, 8.0, 11.0))
        session_s = drawn.choice((3.0, 4.0))
        changes = {"worker_fence_after": fence_s, "worker_cut_limit": fence_s + 3.0, "session_timeout": session_s}
        return Timing.recorded({**TIMING.seconds(), **changes})

    def name_of(self, process: Process) -> str:
        """Its own name, which its replacement has too; in some seeds a second worker has the name of the first."""
        return "worker0" if process.name == "worker1" and self._names_clash else process.name

    def somebody(self) -> Process:
        """A process outside the cluster, from which a person acts."""
        return Process("somebody", 0, "elsewhere", 0.0, 1.0)

    async def _main(self, process: Process) -> None:
        stop = self.stops[process.name] = asyncio.Event()
        name = self.name_of(process)
        joining = Joining(URL, URL, self.timing_of(process), 5.0)
        if process.name.startswith("master"):
            await Master(joining, name, f"{process.name}:1", self._settings).run(stop)
            return
        settings = WorkerSettings(
            capacity=self._capacity, folder=Path("/nowhere") / process.name, drain=timedelta(seconds=1)
        )
        vault: Any = None
        worker = Worker(joining, settings, vault)
        logs: Any = SimpleNamespace(address=(process.name, 1), scheme="http", publish_key=lambda _life: None)
        folder: Any = SimpleNamespace(
            former_life=lambda _mark: self._last_lives.get(process.name),
            begin_life=partial(self._begin_life, process.name),
        )
        await live_until_stopped(lambda stop: worker._live(stop, folder, name, logs, None), stop, 5.0, Health())

    def _begin_life(self, name: str, _mark: str, life: FormerLife) -> None:
        """As `WorkerFolder` does."""
        self._last_lives[name] = life

    def _ended(self, process: Process, task: asyncio.Task[Any]) -> None:
        if process.is_dead:
            return
        error = None if task.cancelled() else task.exception()
        self.trace.add(process.name, f"ends{f': {error!r}' if error else ''}")
        if error is not None and not isinstance(error, Refused | Unavailable):
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

    def kill_frozen(self, process: Process, seconds: float) -> None:
        """SIGSTOP of it and all below it, then SIGKILL of it alone; what is below thaws later, and then ends."""
        if process.is_dead:
            return
        self.trace.add(process.name, f"is frozen with its tasks for {seconds:.1f} s, and dies")
        for launcher in self.launchers.get(process.pid, ()):
            launcher.freeze()
            self.loop.in_world(seconds, launcher.thaw)
        self.kill(process)

    def end_tasks_of(self, pid: int) -> None:
        """SIGKILL of all that a worker left, which reaches what is frozen."""
        for launcher in self.launchers.get(pid, ()):
            launcher.thaw()
            launcher.kill_all(None)

    def cannot_end_tasks_of(self, pid: int) -> None:
        """Its frozen tasks hang in the kernel: the limit of what a node can promise (`node/left_tasks.py`)."""
        for launcher in self.launchers.get(pid, ()):
            for run in launcher.runs:
                run.hangs = run.is_frozen

    def pause(self, process: Process, seconds: float) -> None:
        """SIGSTOP, and SIGCONT later. The server ends transactions that idle."""
        if process.is_dead or process.is_paused:
            return
        self.trace.add(process.name, f"is stopped for {seconds:.1f} s")
        process.is_paused = True
        self.disturb(process, seconds)

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

    def cut(self, name: str, *servers: Server | Ensemble, seconds: float) -> None:
        """Cut it off from these servers for `seconds`."""
        whom = " and ".join("database" if each is self.server else "registry" for each in servers)
        self.trace.add(name, f"is cut from the {whom} for {seconds:.1f} s")
        if name in self.living:
            self.disturb(self.living[name], seconds)
        for each in servers:
            each.cut_off.add(name)
            self.loop.in_world(seconds, each.cut_off.discard, name)

    def disturb(self, process: Process, seconds: float) -> None:
        """Others may take it for dead for `seconds`."""
        process.disturbed_s = max(process.disturbed_s, self.loop.now + seconds)

    def process_of(self, epoch: int) -> Process:
        """The process that has or had this life."""
        return self.processes[self.server.nodes.rows[epoch].values.process.pid]  # type: ignore[union-attr]

    def _refuse_threads(self, process: Process) -> None:
        if process.name in self.short:
            raise RuntimeError(NO_THREAD)

    def _is_innocent(self, epoch: int) -> bool:
        """Whether it lives, and was undisturbed for so long that everybody must have seen it beat."""
        process = self.process_of(epoch)
        if epoch != self._beating.get(process) or not process.has_joined:
            return False  # a life that it never began, since the answer to its enlistment was lost, or has left
        calm = not {"slowness", "lost_statements"} & set(self.arranged)
        return calm and not process.is_dead and self.loop.now > process.disturbed_s + INNOCENT_AFTER_S

    def _beats(self, epoch: int) -> None:
        self._beating[self.process_of(epoch)] = epoch

    def _gives_up(self, epoch: int) -> None:
        self._beating.pop(self.process_of(epoch), None)

    def _dies_of(self, code: int, epoch: int) -> None:
        """A poisoned run ends the process that drives it."""
        if code == self.poison:
            self.loop.in_world(self.random.uniform(0.001, 0.03), self._kill_by_poison, self.process_of(epoch))

    def _kill_by_poison(self, process: Process) -> None:
        self._poisoned_s = self.loop.now
        self.kill(process)

    def at_statement(self, name: str, number: int, what: Callable[[Process], None]) -> None:
        """Do this when the process of that name sends its `number`-th statement from now."""
        process = self.living.get(name)
        if process is not None:
            self._plans.setdefault(process, []).append((process.statements + number, what))

    def at_each(self, statement: str, what: Callable[[Process], None]) -> None:
        """Let it happen whenever a process sends that statement, until all is healed."""
        self._moments[statement] = what

    def _count_statement(self, process: Process, statement: str) -> None:
        process.statements += 1
        if statement in self._moments and not self.is_healed:
            self._moments[statement](process)
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
        server.swallowing.clear()
        server.drains.clear()
        self.short.clear()
        ensemble.deaf = 0.0
        if self.loop.now >= self.heals_registry_s:
            self._heal_registry()
        else:
            self.loop.in_world(self.heals_registry_s - self.loop.now, self._heal_registry)
        server.faults = type(server.faults)()
        for process in list(self.living.values()):
            self.go_on(process)
        for name in self.names:
            self.start(name)

        self.loop.in_world(CALM_S, self._look_at_calm)

    def registered_masters(self) -> list[Heartbeat]:
        """The living masters' own entries in the registry."""
        nodes = self.server.nodes.rows
        return [
            heartbeat
            for (kind, epoch), (heartbeat, _) in self.ensemble.entries.items()
            if kind is NodeKind.MASTER and nodes[epoch].values.state is NodeState.ALIVE  # type: ignore[union-attr]
        ]

    def _heal_registry(self) -> None:
        self.ensemble.cut_off.clear()
        self.ensemble.stays_down = False
        self.ensemble.come_back()

    def _look_at_calm(self) -> None:
        """A registry that is still away is no excuse for a command to wait, where a master lives that had joined.

        A master that a run ends is one: what it had waits for its fence, though all faults are over.
        """
        if self.loop.now < self._poisoned_s + CALM_S:
            self.loop.in_world(self._poisoned_s + CALM_S - self.loop.now, self._look_at_calm)
            return
        self.trace.is_calm = True
        living = [
            self.process_of(epoch)
            for epoch, row in self.server.nodes.rows.items()
            if row.values and row.values.kind is NodeKind.MASTER and row.values.state is NodeState.ALIVE
        ]
        if any(each.has_joined and not each.is_dead and each.disturbed_s < FAULTS_S - 2 for each in living):
            self.invariants.no_command_waits(self.server.now_s - CALM_S + 2, may_be_full=self.may_be_full)
            self.invariants.duties.none_waits(self.server.now_s - DUTY_WITHIN_S)

    def is_over(self) -> bool:
        if self.trace.violations:
            return True
        if not self.is_healed or not self.invariants.is_quiet():
            return False
        if self.does_duties and not self.trace.is_calm:
            return False
        return not self.minds_slots or self.loop.now > max(self.heals_registry_s, self._began_s) + CALM_S
