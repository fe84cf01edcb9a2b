"""A worker is killed or frozen as its tasks end: their keepers have written how, and that counts until it is fenced."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, Node
from tests.cluster.own_work import HOLD, OwnWork, is_a_keeper
from tests.eventually import eventually
from tests.worker.scene import processes_of
from worker.launcher.tree import children, descendants

WORKS = [
    ":",
    "echo 'a word'; echo '${setValue(given=a value)}'",
    "echo '${setValue(given=1)}'; sleep 0.3; printf '#{setValue(given=2)}'",
    "seq 1 200; echo 'not today'; exit 3",
]


class Scene:
    """A master, a worker in a folder, and SHELL tasks that end when they are let go."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder / "worker"
        self.gate = folder / "gate"

    async def start(self, *works: str) -> tuple[Node, Node]:
        """Master and worker, which runs one task for each piece of work."""
        wait = f"while [ ! -e {self.gate} ]; do sleep 0.05; done"
        for code, work in enumerate(works, 1):
            script = f"{self.cluster.journal.script(wait)}{work}\n"
            params = {"script": script}
            self.cluster.define(
                code, f"w{code}", tasks=[{"name": "a", "type": "SHELL", "params": params, "on_worker_loss": "fail"}]
            )
        master, worker = await self.cluster.master(), await self.start_worker()
        for code in range(1, len(works) + 1):
            self.cluster.start(code)
        await eventually(lambda: len(self.cluster.journal.lines()) == len(works), within_s=20)
        return master, worker

    async def start_worker(self) -> Node:
        return await self.cluster.worker(SHOAL_WORKER__FOLDER=str(self.folder))

    async def let_go(self, count: int) -> None:
        """All scripts end, and nothing of them is left."""
        self.gate.touch()
        await eventually(lambda: len(self.cluster.journal.lines()) == 2 * count, within_s=20)
        await eventually(lambda: not self.running(), within_s=10)

    def running(self) -> set[tuple[int, str]]:
        """Processes of its tasks."""
        return processes_of(f"{self.folder}/work/")

    def ends(self) -> list[tuple[str, int | None, str | None, str | None]]:
        """How each task ended, in the order of their workflows."""
        return self.cluster.rows(
            "SELECT t.state, t.exit_code, t.outputs::json->>'given', t.reason FROM task_instance t "
            "JOIN workflow_instance i ON i.id = t.workflow_instance_id ORDER BY i.workflow_code, t.id"
        )


AS_THEY_ENDED = [
    ("SUCCESS", 0, None, None),
    ("SUCCESS", 0, "a value", None),
    ("SUCCESS", 0, "2", None),
    ("FAILURE", 3, None, "exit code 3: not today"),
]


@pytest.fixture
def scene(cluster: Cluster, tmp_path: Path) -> Scene:
    return Scene(cluster, tmp_path)


async def test_what_ended_before_its_worker_was_killed_counts_and_does_not_run_again(scene: Scene) -> None:
    master, worker = await scene.start(*WORKS)
    worker.signal(signal.SIGSTOP)  # so that it surely tells nothing
    with master.stopped():  # so that the next process comes before the fence, however slow this machine is
        await scene.let_go(len(WORKS))
        worker.kill()
        successor = await scene.start_worker()
    await scene.cluster.all_ends()
    assert scene.ends() == AS_THEY_ENDED
    assert [told["new"] for told in successor.events("left_ends_reported")] == [len(WORKS)]
    assert set(scene.cluster.journal.runs().values()) == {1}
    assert list((scene.folder / "ends").glob(f"{worker.epoch}/*")) == []


async def test_a_worker_that_slept_past_its_horizon_and_was_not_fenced_tells_what_ended_meanwhile(scene: Scene) -> None:
    master, worker = await scene.start(*WORKS, "echo $$; sleep 600")
    with master.stopped():
        with worker.stopped():
            scene.gate.touch()
            await eventually(lambda: len(scene.cluster.journal.lines()) == 2 * (len(WORKS) + 1), within_s=20)
            # The horizon has passed when the keepers end what still runs.
            await eventually(lambda: not scene.running(), within_s=30)
        await eventually(lambda: all(state != "RUNNING_EXECUTION" for state, *_ in scene.ends()), within_s=20)
    await scene.cluster.all_ends()
    *ended, lost = scene.ends()
    assert ended == AS_THEY_ENDED
    assert lost[0] == "NEED_FAULT_TOLERANCE"
    assert worker.events("horizon_passed")
    assert scene.cluster.one("SELECT state FROM node WHERE id = %s", worker.epoch) == "ALIVE"


async def test_a_statement_that_was_done_when_its_worker_was_killed_is_not_done_again(
    cluster: Cluster, tmp_path: Path
) -> None:
    work = OwnWork(cluster)
    await work.data_source("here", cluster.environment["SHOAL_DATABASE_URL"])
    cluster.rows("CREATE TABLE effect (id integer)")
    cluster.rows("SELECT pg_advisory_lock(%s)", HOLD)
    statement = f"INSERT INTO effect SELECT 1; SELECT 1 FROM pg_advisory_xact_lock_shared({HOLD})"
    cluster.define(1, "one", tasks=[{"name": "a", "type": "SQL", "params": {"datasource": "here", "sql": statement}}])
    master = await cluster.master()
    worker = await cluster.worker(SHOAL_WORKER__FOLDER=str(tmp_path / "worker"))
    cluster.start(1)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    await eventually(lambda: cluster.one(waiting) == 1, within_s=20)
    worker.signal(signal.SIGSTOP)
    with master.stopped():
        cluster.rows("SELECT pg_advisory_unlock(%s)", HOLD)
        await eventually(lambda: cluster.one("SELECT count(*) FROM effect") == 1, within_s=10)
        await eventually(lambda: not _has_work(worker), within_s=10)
        worker.kill()
        await cluster.worker(SHOAL_WORKER__FOLDER=str(tmp_path / "worker"))
    await cluster.all_ends()
    assert cluster.rows("SELECT state, attempt FROM task_instance") == [("SUCCESS", 1)]
    assert cluster.one("SELECT count(*) FROM effect") == 1


def _has_work(worker: Node) -> bool:
    """Whether a keeper of it has something to watch; the process of an order has a keeper's name too, and no child."""
    return any(children(pid) for pid in descendants(worker.pid) if is_a_keeper(pid))


async def test_what_is_told_in_time_leaves_nothing_in_the_folder(scene: Scene) -> None:
    await scene.start(*WORKS[:3])
    await scene.let_go(3)
    await scene.cluster.all_ends()
    await eventually(lambda: list((scene.folder / "ends").glob("*/*")) == [], within_s=5)
