"""Keepers are used again: what one task leaves behind does not reach the next."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from tests.eventually import eventually
from tests.worker.scene import FAMILY, MemoryLog, Scene
from worker.launcher import idle_keepers, tree


async def keeper(scene: Scene, script: str = "true") -> int:
    """The pid of the keeper of a task that does this first."""
    log = MemoryLog()
    argv = ["bash", "-c", f"{script}; echo $PPID"]
    await scene.launcher.run(argv, env=scene.env, cwd=scene.cwd, log=log)
    return int(log.text.split()[-1])


def keepers(scene: Scene) -> list[int]:
    """All that there are."""
    assert scene.launcher.zygote_pid is not None
    return tree.children(scene.launcher.zygote_pid)


async def test_a_keeper_takes_one_command_after_the_other(scene: Scene) -> None:
    first = await keeper(scene)
    for script in ("true", "exit 3", "kill -KILL $$", FAMILY, "setsid sleep 1000 & true"):
        await scene.bash(script)
        assert scene.alive() == set()
    assert await keeper(scene) == first


async def test_no_more_keepers_are_made_than_commands_run_at_once(scene: Scene) -> None:
    for _ in range(3):
        await asyncio.gather(*(scene.bash("sleep 0.3") for _ in range(3)))
    assert len(keepers(scene)) == 3


async def test_each_command_finds_its_own_folder_and_environment(scene: Scene) -> None:
    (scene.cwd / "there").mkdir()
    log = MemoryLog()
    argv, path = ["bash", "-c", 'echo "$PWD ${A-none}"'], {"PATH": os.environ["PATH"]}
    await scene.launcher.run(argv, env={**path, "A": "1"}, cwd=scene.cwd / "there", log=log)
    await scene.launcher.run(argv, env=path, cwd=scene.cwd, log=log)
    assert log.text == f"{scene.cwd}/there 1\n{scene.cwd} none\n"


async def test_one_that_was_asked_to_end_its_task_takes_no_other(scene: Scene) -> None:
    """The request may reach it late."""
    former = await keeper(scene)
    run = asyncio.create_task(scene.bash("sleep 1000"))
    await eventually(scene.alive)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await keeper(scene) != former
    await eventually(lambda: former not in keepers(scene))


async def test_one_that_was_killed_while_idle_is_replaced(scene: Scene) -> None:
    former = await keeper(scene)
    os.kill(former, signal.SIGKILL)
    await eventually(lambda: former not in keepers(scene))
    assert await keeper(scene) != former


async def test_one_that_dies_before_its_task_begins_is_replaced(scene: Scene) -> None:
    former = await keeper(scene)
    os.kill(former, signal.SIGSTOP)
    run = asyncio.create_task(keeper(scene))
    await asyncio.sleep(0)
    os.kill(former, signal.SIGKILL)
    assert await run != former


async def test_those_of_a_dead_zygote_take_no_task(scene: Scene) -> None:
    former, zygote = await keeper(scene), scene.launcher.zygote_pid
    assert zygote is not None
    os.kill(zygote, signal.SIGKILL)
    await eventually(lambda: (stat := tree.stat_of(former)) is None or stat.parent != zygote)
    assert await keeper(scene) != former
    assert scene.launcher.zygote_pid != zygote


async def test_idle_ones_end_after_a_while(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_keepers, "IDLE_S_MAX", 0.1)
    await asyncio.gather(*(scene.bash("true") for _ in range(3)))
    await eventually(lambda: keepers(scene) == [])
    assert await scene.bash("true") == 0


async def test_idle_ones_end_with_the_launcher(scene: Scene) -> None:
    former = await keeper(scene)
    await scene.launcher.close()
    await eventually(lambda: tree.stat_of(former) is None)
