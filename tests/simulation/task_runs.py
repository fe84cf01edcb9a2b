"""What a worker starts: processes of tasks, which outlive it, and the launcher that ends them.

A launcher is a process of its own: it ends all trees of its worker when that dies, and when the deadline that the
worker set passes, even if the worker itself sleeps.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dao.tasks.task_claims import ClaimedTask, Report
from model.runs.looks import WAIT
from model.runs.states import TaskState
from node.overload import Overload
from tests.simulation.broken_worker import FAILS_AFTER_S
from tests.simulation.definitions import CLOSING, RULED, TIMED
from tests.simulation.loop import PROCESS, Process
from worker.attempts.report import report
from worker.settings import WorkerSettings
from worker.tasks.plugin import TaskResult
from worker.tasks.wait import WaitTask

if TYPE_CHECKING:
    from tests.simulation.world import World

T = TaskState
TICK_S = 0.5
"""How late a launcher may notice a deadline."""
POISON_LASTS_S = 30.0
FAILING_BY_RULES = 0.4
"""How many tasks fail in workflows with start rules, or with cleanup."""
SKIPPING_BY_RULES = 0.2
"""How many of them skip themselves."""


THERE_S_MAX = 14.0
"""When at the latest that is there for which a WAIT task looks."""


class TaskRun:
    """One process tree. `done` tells its worker how it ended: a state, KILL for killed, None for the deadline."""

    def __init__(self, world: World, task: ClaimedTask, process: Process) -> None:
        self.world = world
        self.task = task
        self.process = process
        self.is_alive = True
        self.is_frozen = False
        self.hangs = False
        """Whether nothing could end it while it was frozen."""
        self.done: asyncio.Future[TaskState | None] = world.loop.create_future()
        world.invariants.task_starts(self)
        random = world.random
        self.ends_s = math.inf
        """When it ends by itself."""
        if task.stream is not None:
            if world.broken is not None and world.broken.fails(world, self):
                world.loop.in_world(FAILS_AFTER_S, self.end_by_itself, T.FAILURE)
                return
            if not world.is_healed and random.random() < 0.4:
                world.loop.in_world(random.uniform(0.1, 8), self.end_by_itself, random.choice((T.FAILURE, T.SUCCESS)))
            return
        if task.workflow_code in TIMED:
            return
        if task.type == WAIT:
            world.loop.in_world(random.uniform(0.01, 0.3), self.look)
            return
        is_ruled = task.workflow_code in (*RULED, *CLOSING)
        failing, skipping = (FAILING_BY_RULES, SKIPPING_BY_RULES) if is_ruled else (world.failing, 0.0)
        drawn = random.random()
        state = T.FAILURE if drawn < failing else T.SKIPPED if drawn < failing + skipping else T.SUCCESS
        lasts_s = random.choice(world.lasts_s) * random.random()
        if task.workflow_code == world.poison:
            lasts_s += POISON_LASTS_S  # so that it kills several masters before anything of it has ended
        self.ends_s = world.loop.now + lasts_s
        world.loop.in_world(lasts_s, self.end_by_itself, state)

    @property
    def key(self) -> tuple[int, int]:
        return (self.task.workflow_instance_id, self.task.code)

    def look(self) -> None:
        """Look for something that exists from a moment on that the seed draws."""
        there_s = self.world.draw("thing", *self.key).uniform(0, THERE_S_MAX)
        self.end_by_itself(T.SUCCESS if self.world.loop.now >= there_s else T.DELAY_EXECUTION)

    def end_by_itself(self, state: TaskState) -> None:
        if not self.is_frozen:
            self.end(state)

    def end(self, state: TaskState | None) -> None:
        if self.is_alive:
            self.is_alive = False
            self.world.invariants.task_stops(self)
            if not self.done.done():
                self.done.set_result(state)


class SimulatedLauncher:
    """`worker/launcher/client.py` as `Beats` and the executor see it."""

    def __init__(self, world: World) -> None:
        process = PROCESS.get()
        assert process is not None
        self.has_left = False
        self._world = world
        self._process = process
        self._deadline_s = 0.0
        self._is_looking = False
        self._is_frozen = False
        self.runs: list[TaskRun] = []
        world.launchers.setdefault(process.pid, []).append(self)

    @property
    def lacks_means(self) -> bool:
        """Whether no process can be made just now."""
        return self._process.name in self._world.short

    def open(self) -> None:
        """Nothing to start."""

    async def close(self) -> None:
        self.close_at_once()

    def close_at_once(self) -> None:
        """All trees end without grace; also what follows the death of the worker."""
        if not self._is_frozen:
            self.kill_all(T.KILL)

    def freeze(self) -> None:
        """Freeze it with all its trees."""
        self._is_frozen = True
        for run in self.runs:
            run.is_frozen = True

    def thaw(self) -> None:
        """Its worker is dead: all trees end in a moment."""
        if self._is_frozen:
            self._is_frozen = False
            self._world.loop.in_world(self._world.random.random() * 0.1, self.close_at_once)

    def set_deadline(self, boottime_s: float) -> None:
        on = self._world.protections
        if on.horizon and on.deadline:
            self._deadline_s = boottime_s
            if not self._is_looking:
                self._is_looking = True
                self._look_later()

    def kill_all(self, state: TaskState | None) -> None:
        for run in self.runs:
            run.end(state)
        self.runs.clear()

    @property
    def is_too_late(self) -> bool:
        """Whether a keeper would refuse to begin: the deadline has passed."""
        return self._is_looking and self._process.clock_s(self._world.loop.now) >= self._deadline_s

    def start(self, task: ClaimedTask) -> TaskRun:
        self.runs = [run for run in self.runs if run.is_alive]
        self.runs.append(TaskRun(self._world, task, self._process))
        return self.runs[-1]

    def _look_later(self) -> None:
        loop = self._world.loop
        when_s = self._process.moment_of(self._deadline_s) + TICK_S * self._world.random.random()

        def look() -> None:
            if self._process.is_dead:
                return
            if self._process.clock_s(loop.now) >= self._deadline_s:
                self.kill_all(None)
                loop.in_world(TICK_S, look)
            else:
                self._look_later()

        loop.in_world(max(0.0, when_s - loop.now), look)


class SimulatedExecutor:
    """`worker/attempts/executor.py`: one attempt from its claim to its report."""

    def __init__(self, world: World, launcher: SimulatedLauncher, settings: WorkerSettings, overload: Overload) -> None:
        self.settings = settings
        self.overload = overload
        self._world = world
        self._launcher = launcher
        self._grace_s = world.timing.kill_grace.total_seconds()

    async def run(self, task: ClaimedTask) -> Report:
        await asyncio.sleep(self._world.random.random() * 0.01)
        if self._launcher.lacks_means:
            return report(task, TaskResult(T.PAUSE, "its worker could not begin it, and gave it back"))
        if self._launcher.is_too_late:
            return report(task, TaskResult(T.NEED_FAULT_TOLERANCE, "its worker was cut off for too long"))
        run = self._launcher.start(task)
        try:
            state = await asyncio.shield(run.done)
        except asyncio.CancelledError:
            self._world.loop.in_world(self._grace_s * self._world.random.random(), run.end, T.KILL)
            await asyncio.wait([run.done])
            raise
        if state is None:
            return report(task, TaskResult(T.NEED_FAULT_TOLERANCE, "its worker was cut off for too long"))
        if state is T.DELAY_EXECUTION:
            again = WaitTask.of(WaitTask.Params.model_validate_json(task.params)).again
            return report(task, TaskResult(state, "no such file", again=again))
        if state is T.SUCCESS:
            store = self._world.store
            return report(task, TaskResult.success(None if store is None else store.given_by(task)))
        return report(task, TaskResult(state, "it failed"))


class SimulatedListener:
    """`dao/postgres/listen.py`: LISTEN, and everything looked at after a reconnect."""

    def __init__(self, world: World, channels: dict[str, Callable[[str], Any]]) -> None:
        process = PROCESS.get()
        assert process is not None
        self._world = world
        self._process = process
        self.channels = channels

    async def run(self) -> None:
        server = self._world.server
        while True:
            if server.reaches(self._process):
                server.listeners.append(self)
                for wake in self.channels.values():
                    wake("")
                try:
                    while server.reaches(self._process):
                        await asyncio.sleep(5.0)
                finally:
                    server.listeners.remove(self)
            await asyncio.sleep(0.5)

    def hear(self, channel: str, payload: str) -> None:
        """Called by the world; what follows belongs to the process."""
        if channel in self.channels and not self._process.is_dead and self._world.server.reaches(self._process):
            self.channels[channel](payload)
