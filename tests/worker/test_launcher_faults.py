"""Worker, zygote or keeper is killed or stopped: nothing of a task may be left, and no other may suffer."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.errors import Unavailable
from node import prctl
from registry.clock import boottime_s
from tests.eventually import eventually
from tests.worker.scene import FAMILY, FAMILY_SIZE, Scene, processes_of
from worker.launcher import client, task_process, tree
from worker.launcher.errors import DeadlinePassed, LauncherKilled, TreeLeft
from worker.launcher.leftovers import kill_marked

ROOT = Path(__file__).parents[2]


class OtherWorker:
    """A worker in a process of its own, with one task that has a whole family."""

    def __init__(self, deadline_s: float) -> None:
        self.mark = uuid.uuid4().hex
        script = FAMILY + "trap '' TERM; sleep 1000"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.worker.worker_process", self.mark, script, str(deadline_s)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )

    def family(self) -> set[tuple[int, str]]:
        """Its task's processes; its own command line contains the mark too."""
        return {(pid, started) for pid, started in processes_of(self.mark) if pid != self.process.pid}

    async def has_family(self) -> None:
        await eventually(lambda: len(self.family()) >= FAMILY_SIZE + 1, within_s=10)

    def end(self) -> str:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        said = self.process.communicate()[0]
        for pid, _ in self.family():
            os.kill(pid, signal.SIGKILL)
        return said


@pytest.fixture
def other_worker(request: pytest.FixtureRequest) -> Iterator[OtherWorker]:
    worker = OtherWorker(deadline_s=getattr(request, "param", 0.0))
    yield worker
    worker.end()


def keeper_of(scene: Scene) -> int:
    """The pid of the keeper of the only running task."""
    assert scene.launcher.zygote_pid is not None
    (keeper,) = [pid for pid in tree.processes() if (s := tree.stat_of(pid)) and s.parent == scene.launcher.zygote_pid]
    return keeper


async def test_nothing_is_left_of_a_killed_workers_tasks(other_worker: OtherWorker) -> None:
    await other_worker.has_family()
    other_worker.process.kill()
    await eventually(lambda: not other_worker.family(), within_s=10)


async def test_nothing_is_left_when_a_keeper_is_killed_with_its_worker(other_worker: OtherWorker) -> None:
    await other_worker.has_family()
    (zygote,) = tree.children(other_worker.process.pid)
    (keeper,) = tree.children(zygote)
    os.kill(keeper, signal.SIGSTOP)  # it shall not notice the end of its worker first
    other_worker.process.kill()
    other_worker.process.wait()
    os.kill(keeper, signal.SIGKILL)
    await eventually(lambda: not other_worker.family(), within_s=10)


@pytest.mark.parametrize("other_worker", [4.0], indirect=True)
async def test_a_stopped_worker_loses_its_tasks_at_the_deadline_and_learns_it(other_worker: OtherWorker) -> None:
    await other_worker.has_family()
    await asyncio.sleep(4.5)
    assert len(other_worker.family()) >= FAMILY_SIZE + 1  # a deadline that is moved on harms nobody
    other_worker.process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(0.5)
    assert other_worker.family()
    await eventually(lambda: not other_worker.family(), within_s=10)
    other_worker.process.send_signal(signal.SIGCONT)
    assert other_worker.process.communicate(timeout=120)[0].startswith("DeadlinePassed")


async def test_the_deadline_kills_at_once_and_the_worker_hears_why(scene: Scene) -> None:
    scene.launcher.set_deadline(boottime_s() + 0.5)
    with pytest.raises(DeadlinePassed):
        await scene.bash(FAMILY + "trap '' TERM; sleep 1000")
    assert scene.alive() == set()


async def test_nothing_starts_after_the_deadline(scene: Scene) -> None:
    scene.launcher.set_deadline(boottime_s() - 1)
    with pytest.raises(DeadlinePassed):
        await scene.bash("echo started")
    assert scene.log.text == ""
    scene.launcher.set_deadline(0)
    assert await scene.bash("echo started") == 0


async def test_a_killed_keeper_is_a_failure_and_its_tree_is_swept(scene: Scene) -> None:
    run = asyncio.create_task(scene.bash(FAMILY + "trap '' TERM; sleep 1000"))
    await eventually(lambda: len(scene.alive()) > FAMILY_SIZE, within_s=15)
    os.kill(keeper_of(scene), signal.SIGKILL)
    with pytest.raises(LauncherKilled, match="its launcher was killed"):
        await run
    await eventually(lambda: not scene.alive(), within_s=10)  # the one without the mark is the zygote's to kill
    assert await scene.bash("true") == 0


async def test_what_bears_the_mark_is_swept_even_without_a_zygote(scene: Scene) -> None:
    run = asyncio.create_task(scene.bash("setsid sleep 1000 & (setsid sleep 1001 &); wait"))
    await eventually(lambda: len(scene.alive()) >= 3, within_s=15)
    keeper = keeper_of(scene)
    assert scene.launcher.zygote_pid is not None
    os.kill(scene.launcher.zygote_pid, signal.SIGKILL)
    os.kill(keeper, signal.SIGKILL)
    with pytest.raises(LauncherKilled):
        await run
    assert scene.alive() == set()


async def test_a_keeper_that_is_killed_while_its_task_is_cancelled_changes_nothing(scene: Scene) -> None:
    scene.launcher._grace_s = 60
    run = asyncio.create_task(scene.bash("trap '' TERM; echo ready; sleep 1000"))
    await eventually(lambda: "ready" in scene.log.text, within_s=15)
    run.cancel()
    await asyncio.sleep(0.1)
    os.kill(keeper_of(scene), signal.SIGKILL)
    with pytest.raises(asyncio.CancelledError):
        await run
    assert scene.alive() == set()


async def test_a_stopped_keeper_does_not_hold_up_a_cancellation_for_ever(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_process, "KEEPER_S_MAX", 0.2)
    run = asyncio.create_task(scene.bash("setsid sleep 1000 & echo ready; kill -STOP $PPID; sleep 1000"))
    await eventually(lambda: "ready" in scene.log.text, within_s=15)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, 30)
    assert scene.alive() == set()


async def test_a_stopped_zygote_does_not_hold_up_a_cancellation_for_ever(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_process, "KEEPER_S_MAX", 0.2)
    assert scene.launcher.zygote_pid is not None
    os.kill(scene.launcher.zygote_pid, signal.SIGSTOP)
    run = asyncio.create_task(scene.bash("echo ran"))
    await asyncio.sleep(0.05)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, 30)
    os.kill(scene.launcher.zygote_pid, signal.SIGCONT)
    assert await scene.bash("true") == 0
    assert scene.log.text == ""


@pytest.fixture
def powerless(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process in an endless system call, or another user's, played by a keeper whose signals have no effect."""
    powerless = "from worker.launcher import keeper, tree\nkeeper.KILL_S_MAX = 0.2\n"
    powerless += "tree.signal_descendants = lambda *_: set()\nmain("
    monkeypatch.setattr(client, "_BOOT", client._BOOT.replace("main(", powerless))
    scene.launcher.open()
    yield
    scene.kill_what_is_left()


@pytest.mark.usefixtures("powerless")
async def test_what_cannot_be_killed_is_told(scene: Scene) -> None:
    with pytest.raises(TreeLeft, match="1 processes of the task could not be killed"):
        await scene.bash("setsid sleep 1000 & exit 0")
    assert scene.launcher.has_left


@pytest.mark.usefixtures("powerless")
async def test_a_stopped_task_of_which_something_cannot_be_killed_is_not_said_to_have_ended(scene: Scene) -> None:
    """Else it is given back as if it were over, and runs beside what it left."""
    run = asyncio.create_task(scene.bash("setsid sleep 1000 & trap '' TERM; sleep 1000"))
    await eventually(lambda: len(scene.alive()) >= 2)
    run.cancel()
    with pytest.raises(TreeLeft, match="processes of the task could not be killed"):
        await run
    assert scene.launcher.has_left


FREEZES = """
from worker.launcher import keeper
kill_all, now = keeper._kill_all, keeper.boottime_s
def frozen(family):
    times = iter([now() - 1_000])
    keeper.boottime_s = lambda: next(times, None) or now()
    return kill_all(family)
keeper._kill_all = frozen
"""


async def test_a_keeper_that_is_frozen_before_its_first_signal_kills_when_it_goes_on(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its limit has passed by then, and nothing was killed."""
    monkeypatch.setattr(client, "_BOOT", client._BOOT.replace("main(", FREEZES.lstrip() + "main("))
    scene.launcher.open()
    assert await scene.bash("setsid sleep 1000 & exit 0") == 0
    assert not scene.alive()


async def test_however_long_it_takes_to_find_what_a_killed_keeper_left_it_is_killed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = asyncio.create_task(scene.bash("sleep 1000"))
    await eventually(scene.alive)
    marker = f"MARK={scene.mark}"
    slow = tree.processes

    def slowly() -> Iterator[int]:
        time.sleep(0.1)
        return slow()

    monkeypatch.setattr(tree, "processes", slowly)
    assert await asyncio.to_thread(kill_marked, marker, 0.05) == 0
    assert not scene.alive()
    assert await run == 128 + signal.SIGKILL


@pytest.mark.skipif(os.getuid() == 0, reason="root may have any number of processes")
async def test_a_machine_without_room_for_a_process_is_an_outage(scene: Scene) -> None:
    assert await scene.bash("true") == 0
    assert scene.launcher.zygote_pid is not None
    resource.prlimit(scene.launcher.zygote_pid, resource.RLIMIT_NPROC, (1, 1))
    with pytest.raises(Unavailable, match="no process can be made"):
        await scene.bash("true")


async def test_a_task_cannot_end_its_keeper_by_an_ordinary_signal(scene: Scene) -> None:
    assert (
        await scene.bash("for s in TERM HUP INT QUIT USR1 USR2 PIPE; do kill -$s $PPID; done; sleep 0.1; exit 5") == 5
    )


async def test_a_killed_zygote_takes_nothing_with_it_and_is_replaced(scene: Scene, tmp_path: Path) -> None:
    go = tmp_path / "go"
    waits = f"echo ready; until [ -e {go} ]; do sleep 0.05; done; echo went on; exit 6"
    run = asyncio.create_task(scene.bash(waits))
    await eventually(lambda: "ready" in scene.log.text, within_s=15)
    former = scene.launcher.zygote_pid
    assert former is not None
    os.kill(former, signal.SIGKILL)
    assert await asyncio.gather(*(scene.bash("true") for _ in range(5))) == [0] * 5
    assert scene.launcher.zygote_pid != former
    assert not run.done()
    go.touch()
    assert await run == 6
    assert "went on" in scene.log.text


async def test_keepers_that_outlived_their_zygote_are_killed_on_cancel_and_reaped(scene: Scene) -> None:
    """As in a container, where the worker is pid 1."""
    prctl.become_subreaper()
    run = asyncio.create_task(scene.bash(FAMILY + "wait"))
    await eventually(lambda: len(scene.alive()) >= FAMILY_SIZE, within_s=15)
    keeper = keeper_of(scene)
    assert scene.launcher.zygote_pid is not None
    os.kill(scene.launcher.zygote_pid, signal.SIGKILL)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert scene.alive() == set()
    await scene.bash("true")
    assert tree.stat_of(keeper) is None


async def test_requests_under_way_survive_a_dying_zygote(scene: Scene) -> None:
    """Requests that lie in a dead zygote's socket were never started: they are made again, once."""
    zygote = scene.launcher.zygote_pid
    assert zygote is not None
    os.kill(zygote, signal.SIGSTOP)
    runs = [asyncio.create_task(scene.bash(f"echo {n}")) for n in range(10)]
    await asyncio.sleep(0.1)
    os.kill(zygote, signal.SIGKILL)
    assert await asyncio.gather(*runs) == [0] * 10
    assert sorted(scene.log.text.split()) == [str(n) for n in range(10)]


async def test_the_tree_is_found_without_the_kernels_lists_of_children(monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen(["bash", "-c", "sleep 1000 & sleep 1000 & wait"])
    try:
        await eventually(lambda: len(tree.descendants(child.pid)) == 2, within_s=15)
        listed = set(tree.descendants(child.pid))
        monkeypatch.setattr(tree, "_kernel_lists_children", lambda: False)
        assert set(tree.descendants(child.pid)) == listed
    finally:
        tree.signal_descendants(child.pid, signal.SIGKILL)
        child.kill()
        child.wait()


async def test_a_worker_that_hides_itself_cannot_be_read_but_still_runs_tasks() -> None:
    """Root can read everything; then only the second half proves something."""
    program = (
        "import asyncio, os\n"
        "from pathlib import Path\n"
        "from tests.worker.scene import MemoryLog, Scene\n"
        "from node import prctl\n"
        "from worker.launcher.client import Launcher\n"
        "async def main():\n"
        "    prctl.hide_from_own_user()\n"
        "    scene = Scene(Launcher(), Path('/'))\n"
        "    await scene.bash(f'cat /proc/{os.getpid()}/environ | grep -ac SECRET_OF_WORKER; echo ran')\n"
        "    await scene.launcher.close()\n"
        "    print(scene.log.text)\n"
        "asyncio.run(main())\n"
    )
    env = {**os.environ, "SECRET_OF_WORKER": "x"}
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True, timeout=20
    )
    assert "ran" in said.stdout
    assert os.getuid() == 0 or "Permission denied" in said.stdout
