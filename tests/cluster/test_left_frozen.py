"""What a worker left on its machine, even frozen, is ended before its tasks may run again."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from model.ids import Epoch
from node.left_tasks import can_end, end_what_is_left, mark_of
from registry.process import this_process
from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually
from tests.worker.scene import Scene
from worker.launcher.client import Launcher
from worker.launcher.errors import LauncherKilled
from worker.launcher.tree import descendants, stat_of

SCRIPT = """
[ "$SHOAL_ATTEMPT" = 1 ] || exit 0
(setsid bash -c 'while true; do echo alive >> {file}; sleep 0.02; done' &)
env -i setsid bash -c 'while true; do echo alive >> {file}; sleep 0.02; done' &
sleep 1000
"""


def living(processes: dict[int, int]) -> list[int]:
    """Those that still live, stopped or not; `processes` has the start time of each."""
    return [pid for pid, started in processes.items() if _started(pid) == started and _state(pid) not in "ZX"]


def frozen_below(worker: Node) -> dict[int, int]:
    """Stop it and all below it, and give the latter with their start times."""
    worker.signal(signal.SIGSTOP)
    while moving := [pid for pid in descendants(worker.pid) if _state(pid) not in "TZX"]:
        for pid in moving:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
    return {pid: started for pid in descendants(worker.pid) if (started := _started(pid)) is not None}


def _started(pid: int) -> int | None:
    stat = stat_of(pid)
    return stat.started if stat is not None else None


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("by", ["its successor", "a master"])
async def test_what_a_killed_worker_left_frozen_is_gone_before_it_is_fenced(
    cluster: Cluster, tmp_path: Path, by: str
) -> None:
    file = tmp_path / "alive"
    cluster.define(1, "one", tasks=[{"name": "a", "type": "SHELL", "params": {"script": SCRIPT.format(file=file)}}])
    master = await cluster.master()
    folder = {"SHOAL_WORKER__FOLDER": str(tmp_path / "worker")}
    worker = await cluster.worker(**folder)
    epoch = worker.epoch
    cluster.start(1)
    await eventually(lambda: file.exists() and file.stat().st_size > 100, within_s=20)
    if by == "its successor":
        master.kill()
    left = frozen_below(worker)
    worker.kill()
    assert len(living(left)) >= 6, "launcher, keeper and tasks outlive it: they are frozen"
    if by == "its successor":
        await cluster.worker(**folder)
    state = "SELECT state FROM node WHERE id = %s"
    await eventually(lambda: cluster.one(state, epoch), until="FENCED", within_s=20, every_s=0.01)
    assert living(left) == []
    if by == "its successor":
        await cluster.master()
    else:
        await cluster.worker()
    await cluster.all_ends()
    assert cluster.rows("SELECT attempt, state FROM task_instance ORDER BY 1")[-1] == (2, "SUCCESS")


@pytest.mark.timeout(120)
async def test_the_tasks_of_a_worker_that_is_frozen_whole_are_gone_before_it_is_fenced(
    cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "alive"
    cluster.define(1, "one", tasks=[{"name": "a", "type": "SHELL", "params": {"script": SCRIPT.format(file=file)}}])
    await cluster.master()
    worker = await cluster.worker()
    epoch = worker.epoch
    cluster.start(1)
    await eventually(lambda: file.exists() and file.stat().st_size > 100, within_s=20)
    left = frozen_below(worker)
    state = "SELECT state FROM node WHERE id = %s"
    await eventually(lambda: cluster.one(state, epoch), until="FENCED", within_s=30, every_s=0.01)
    assert living(left) == []
    worker.signal(signal.SIGCONT)
    await eventually(lambda: len(worker.events("joined")) == 2, within_s=20)
    await cluster.all_ends()


async def test_all_that_a_launcher_started_is_found_by_the_mark_of_its_life(tmp_path: Path) -> None:
    mark, another = mark_of(this_process(), Epoch(77)), mark_of(this_process(), Epoch(78))
    launcher = Launcher(life=mark)
    launcher.open()
    scene = Scene(launcher, tmp_path)
    task = asyncio.ensure_future(scene.bash("trap '' TERM; kill -STOP $$"))
    await eventually(scene.alive)
    zygote = launcher.zygote_pid
    assert zygote is not None
    assert end_what_is_left(another) == 0
    assert scene.alive(), "another life's is let alone"
    assert _state(zygote) not in "ZX"
    assert end_what_is_left(mark) == 0
    assert not scene.alive()
    assert _state(zygote) in "ZX"
    with suppress(LauncherKilled):  # or the launcher has told how its task ended, before its turn came
        await task
    await launcher.close()


def test_who_may_end_what_a_worker_left_is_told_from_its_place_and_user() -> None:
    me = this_process()
    place = me.boot.rpartition("/")[0]
    assert can_end(me)
    assert can_end(type(me)(f"{place}/12345", 1, 1)) is (os.geteuid() == 0)
    assert not can_end(type(me)(f"elsewhere/{os.geteuid()}", 1, 1))
    assert can_end(type(me)(place, 1, 1)) is (os.geteuid() == 0), "one that does not tell its user"
