"""A process that holds a launcher, to be killed or stopped by a test: `worker_process.py MARK SCRIPT DEADLINE_S`.

It runs the script, writes what became of it, and moves its deadline on ten times a second (0: it has none).
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from model.errors import ShoalError
from registry.clock import boottime_s
from tests.worker.scene import MemoryLog, Scene
from worker.launcher.client import Launcher


async def main(mark: str, script: str, deadline_s: float) -> None:
    launcher = Launcher(grace_s=0.5)
    launcher.open()
    scene = Scene(launcher, Path("/"), MemoryLog(), mark)

    async def move_deadline() -> None:
        while deadline_s:
            launcher.set_deadline(boottime_s() + deadline_s)
            await asyncio.sleep(0.1)

    mover = asyncio.create_task(move_deadline())
    try:
        said = f"exit code {await scene.bash(script)}"
    except ShoalError as error:
        said = f"{type(error).__name__}: {error}"
    sys.stdout.write(said)
    mover.cancel()
    await launcher.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
