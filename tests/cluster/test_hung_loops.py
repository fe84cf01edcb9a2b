"""A master or worker whose loop hangs ends by itself, and others go on with what it had."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.eventually import eventually

ROOT = Path(__file__).parents[2]

# Python runs this at the start of every process that has it in its path: USR1 then hangs the thread of the loop.
HOOK = "import signal, time\nsignal.signal(signal.SIGUSR1, lambda *_: time.sleep(3600))\n"

PLUGIN = """
import time
from shoal.plugin import Task, TaskParams, TaskResult

class Params(TaskParams):
    pass

class HangTask(Task):
    Params = Params

    async def run(self, context):
        if context.attempt == 1:
            time.sleep(3600)
        return TaskResult.success()
"""


def with_path(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


def hanging(folder: Path) -> dict[str, str]:
    """The environment of a process that can be made to hang."""
    hooks = folder / "hook"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(HOOK)
    return with_path(hooks)


@pytest.fixture
def hook(tmp_path: Path) -> dict[str, str]:
    """See `hanging`."""
    return hanging(tmp_path)


@pytest.fixture
def plugin(tmp_path: Path) -> dict[str, str]:
    """The environment of a worker with a task type that blocks the loop in its first attempt."""
    folder = tmp_path / "plugin"
    facts = folder / "hang-1.0.dist-info"
    facts.mkdir(parents=True)
    (folder / "hang.py").write_text(PLUGIN)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: hang\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[shoal.tasks]\nHANG = hang:HangTask\n")
    return with_path(folder)


async def test_a_plug_in_that_blocks_the_loop_costs_its_worker_and_is_named(
    cluster: Cluster, plugin: dict[str, str]
) -> None:
    cluster.define(1, "hangs", tasks=[{"name": "a", "type": "HANG"}])
    await cluster.master()
    first = await cluster.worker(**plugin)
    cluster.start(1)
    assert await first.ended(within_s=40) == 70
    [event] = first.events("loop_hung")
    assert "hang.py" in event["where"]
    await cluster.worker(**plugin)
    await cluster.all_ends()
    assert cluster.rows("SELECT attempt, state FROM task_instance ORDER BY 1") == [
        (1, "NEED_FAULT_TOLERANCE"),
        (2, "SUCCESS"),
    ]


async def test_a_hung_master_ends_and_another_drives_what_it_drove(cluster: Cluster, hook: dict[str, str]) -> None:
    tasks = [{"name": "a", "type": "SHELL", "params": {"script": cluster.journal.script("sleep 6")}}]
    cluster.define(1, "long", tasks=tasks)
    await cluster.worker()
    hanging = await cluster.master(**hook)
    cluster.start(1, 3)
    await eventually(lambda: len(cluster.journal.lines()) == 3, within_s=20)
    hanging.signal(signal.SIGUSR1)
    await cluster.master()
    assert await hanging.ended(within_s=40) == 70
    assert len(hanging.events("loop_hung")) == 1
    await cluster.all_ends()
    cluster.check_exactly_once(3)
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1


async def test_a_worker_that_was_stopped_for_longer_than_it_may_hang_wakes_and_joins_again(cluster: Cluster) -> None:
    await cluster.master()
    sleeper = await cluster.worker()
    former = sleeper.epoch
    with sleeper.stopped():
        state = "SELECT state FROM node WHERE id = %s"
        await eventually(lambda: cluster.one(state, former), until="FENCED", within_s=30)
    await eventually(lambda: sleeper.epoch > former, within_s=20)
    assert not sleeper.events("loop_hung")
