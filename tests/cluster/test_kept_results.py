"""Tasks end while the database is away: what they gave is on the worker's disk, and outlives the worker."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer

# The registry stays, so that a worker keeps its tasks; who returns has the time that a session lasts to tell results.
TIMING = {"SHOAL_TIMING__SESSION_TIMEOUT": "8", "SHOAL_TIMING__WORKER_FENCE_AFTER": "40"}
RUNS = 6


class Scene:
    """A master, a worker with a folder, and SHELL tasks that end when they are let go."""

    def __init__(self, cluster: Cluster, postgres: PostgresServer, folder: Path) -> None:
        self.cluster = cluster
        self.postgres = postgres
        self.folder = folder / "worker"
        self.gate = folder / "gate"

    async def start(self, work: str = ":") -> Node:
        """The worker, which runs the tasks."""
        self.cluster.environment |= TIMING
        script = self.cluster.journal.script(f"while [ ! -e {self.gate} ]; do sleep 0.1; done; {work}")
        tasks = [
            {"name": "a", "type": "SHELL", "params": {"script": script}},
            {"name": "b", "type": "FAKE", "after": ["a"]},
        ]
        self.cluster.define(1, "gated", tasks=tasks)
        await self.cluster.master()
        worker = await self.cluster.worker(SHOAL_WORKER__FOLDER=str(self.folder), SHOAL_WORKER__DRAIN="0.5")
        self.cluster.start(1, RUNS)
        await eventually(lambda: len(self.cluster.journal.lines()) == RUNS, within_s=20)
        return worker

    def start_again(self) -> Node:
        """Another worker process in the same folder; it is not waited for."""
        extra = {"SHOAL_WORKER__FOLDER": str(self.folder), "SHOAL_WORKER__CAPACITY": "32"}
        node = Node(self.cluster, "worker", len(self.cluster.nodes), extra)
        self.cluster.nodes.append(node)
        return node

    @asynccontextmanager
    async def without_database(self) -> AsyncIterator[None]:
        """The tasks end at the beginning of the block."""
        self.postgres.stop()
        try:
            self.gate.touch()
            await eventually(lambda: len(self.cluster.journal.lines()) == 2 * RUNS, within_s=20)
            yield
        finally:
            self.postgres.start()
            await eventually(lambda: self.cluster.one("SELECT 1"))  # the test's own connection went too

    def kept(self, epoch: int) -> int:
        """How many results of that life are on the disk."""
        return (self.folder / "results" / str(epoch)).read_bytes().count(b"\n") - 1

    async def ended_with_results(self, worker: Node, number: signal.Signals = signal.SIGKILL) -> Path:
        """End it once all is on its disk; the file."""
        epoch = worker.epoch
        await eventually(lambda: self.kept(epoch), until=RUNS, within_s=10)
        worker.signal(number)
        await worker.ended(within_s=30)
        return self.folder / "results" / str(epoch)

    async def everything_ends(self, *, runs: int, attempts: int) -> None:
        """Wait until all succeed, each first task having started `runs` times by its own journal, in `attempts`
        attempts."""
        await self.cluster.all_ends()
        self.cluster.check_exactly_once(RUNS)
        assert list(self.cluster.journal.runs().values()) == [runs] * RUNS
        assert self.cluster.one("SELECT max(attempt) FROM task_instance") == attempts
        await eventually(lambda: list((self.folder / "results").iterdir()) == [], within_s=10)


@pytest.fixture
def scene(cluster: Cluster, postgres_server: PostgresServer, tmp_path: Path) -> Scene:
    return Scene(cluster, postgres_server, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_results_of_a_worker_that_was_killed_without_database_are_told_by_the_next_one(
    scene: Scene, number: signal.Signals
) -> None:
    """Or that was stopped, and could report to nobody."""
    worker = await scene.start()
    async with scene.without_database():
        await scene.ended_with_results(worker, number)
        successor = scene.start_again()
        await eventually(lambda: successor.events("database_not_ready"), within_s=20)
    await scene.everything_ends(runs=1, attempts=1)
    [told] = successor.events("left_results_reported")
    assert (told["former"], told["results"], told["new"]) == (worker.epoch, RUNS, RUNS)
    assert scene.cluster.one("SELECT state FROM node WHERE id = %s", worker.epoch) == "FENCED"


async def test_results_of_a_worker_that_was_fenced_are_dropped_and_the_tasks_run_once_more(scene: Scene) -> None:
    worker = await scene.start()
    async with scene.without_database():
        await scene.ended_with_results(worker)
    fenced = "SELECT state FROM node WHERE id = %s"
    await eventually(lambda: scene.cluster.one(fenced, worker.epoch), until="FENCED", within_s=30)
    successor = scene.start_again()
    await scene.everything_ends(runs=2, attempts=2)
    [dropped] = successor.events("left_results_dropped")
    assert (dropped["former"], dropped["results"]) == (worker.epoch, RUNS)


async def test_a_worker_that_was_fenced_while_it_slept_drops_its_own_results(scene: Scene) -> None:
    worker = await scene.start()
    former = worker.epoch
    async with scene.without_database():
        await eventually(lambda: scene.kept(former), until=RUNS, within_s=10)
        worker.signal(signal.SIGSTOP)
    scene.cluster.rows("UPDATE node SET state = 'FENCED', ended_at = now() WHERE id = %s", former)
    worker.signal(signal.SIGCONT)
    await eventually(lambda: worker.events("left_results_dropped"), within_s=20)
    await scene.everything_ends(runs=2, attempts=2)
    assert worker.epoch > former


async def test_a_worker_that_lives_tells_its_results_itself_whoever_wants_its_folder(scene: Scene) -> None:
    worker = await scene.start()
    async with scene.without_database():
        await eventually(lambda: scene.kept(worker.epoch), until=RUNS, within_s=10)
        worker.signal(signal.SIGSTOP)
        other = scene.start_again()
        await eventually(lambda: other.events("database_not_ready"), within_s=20)
    assert await other.ended(within_s=40) == 2
    assert scene.kept(worker.epoch) == RUNS
    worker.signal(signal.SIGCONT)
    await scene.everything_ends(runs=1, attempts=1)
    assert len(worker.events("joined")) == 1


async def test_a_line_that_the_crash_cut_short_costs_only_its_own_task(scene: Scene) -> None:
    worker = await scene.start()
    async with scene.without_database():
        file = await scene.ended_with_results(worker)
        os.truncate(file, file.stat().st_size - 10)
        shutil.rmtree(scene.folder / "ends", ignore_errors=True)  # a keeper's own file would make up for the line
        successor = scene.start_again()
        await eventually(lambda: successor.events("database_not_ready"), within_s=20)
    await scene.cluster.all_ends()
    assert [event["lines"] for event in successor.events("left_results_torn")] == [1]
    assert sorted(scene.cluster.journal.runs().values()) == [1] * (RUNS - 1) + [2]
    scene.cluster.check_exactly_once(RUNS)


async def test_a_full_disk_costs_a_living_worker_nothing(scene: Scene) -> None:
    """RLIMIT_FSIZE is a disk that takes no more of a file, for root too; the worker's own log stays well below."""
    size = 100_000
    worker = await scene.start(f"printf '#{{setValue(a=%0{size // 2}d)}}\\n' 0")
    async with scene.without_database():
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        await eventually(lambda: worker.events("results_not_stored"), within_s=20)
    await scene.everything_ends(runs=1, attempts=1)
    assert worker.is_alive
    assert len(worker.events("results_not_stored")) == 1
    assert scene.cluster.one("SELECT min(length(outputs)) FROM task_instance WHERE task_type = 'SHELL'") > size // 2
