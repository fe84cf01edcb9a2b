"""Ends what a killed task started on a cluster.

The launcher ends a killed task's own processes; an application that runs on a cluster has to be ended by a command. It
is tried once, within `KILL_S_MAX`, and the log states the result.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

from model.errors import ShoalError
from worker.tasks.plugin import TaskContext

KILL_S_MAX = 30.0


def find_command(name: str, home: str, environment: Mapping[str, str]) -> str | None:
    """The path of a command: in `bin` of the folder that the variable `home` names, else in PATH; None if neither.

    `environment` is the task's own: what it runs must not depend on how its worker was started.
    """
    if folder := environment.get(home):
        inside = Path(folder) / "bin" / name
        return str(inside) if inside.is_file() else None
    return shutil.which(name, path=environment.get("PATH"))


async def end_remotely(context: TaskContext, what: str, argv: list[str], env: Mapping[str, str]) -> None:
    """Run the command that ends `what`, and write to the log whether it did. Called while a task is cancelled."""
    context.log.write(f"[shoal] killed; {what} runs on the cluster: {' '.join(argv)}\n")
    try:
        async with asyncio.timeout(KILL_S_MAX):
            code = await context.processes.run(argv, env=env, cwd=context.folder, log=context.log)
    except TimeoutError:
        said = f"no answer within {KILL_S_MAX:g} s; it may still run"
    except (ShoalError, OSError) as error:
        said = f"{error}; it may still run"
    else:
        said = "it was asked to end" if code == 0 else f"exit code {code}; it may still run"
    context.log.write(f"[shoal] {what}: {said}\n")


async def end_on_yarn(context: TaskContext, applications: list[str], env: Mapping[str, str]) -> None:
    """Run `yarn application -kill` for each application, or log a sentence that there is no `yarn` here."""
    if not applications:
        return
    yarn = find_command("yarn", "HADOOP_HOME", env)
    if yarn is None:
        names = " ".join(applications)
        context.log.write(
            f'[shoal] killed; this worker has no "yarn" in PATH or HADOOP_HOME, so the cluster may still run {names}; '
            f"end it there: yarn application -kill {names}\n"
        )
        return
    await end_remotely(context, " ".join(applications), [yarn, "application", "-kill", *applications], env)
