"""Shared by all task types with a process: run it in the task's folder, read its printed values, derive the result."""

from __future__ import annotations

import signal
from collections.abc import Mapping

from worker.tasks.plugin import TaskContext, TaskResult
from worker.tasks.set_value_lines import PrintedValues


async def run_process(argv: list[str], context: TaskContext, variables: Mapping[str, str] | None = None) -> TaskResult:
    """Run a command to its end. Exit code 0 is a success with the values printed by `setValue`; `setSkipped` or the
    exit code may make it SKIPPED.

    Args:
        argv: the command and its arguments, never a secret: everybody on the machine can read them.
        variables: in addition to those of the task's environment.

    Raises:
        CannotStart: there is no such command.
        TooLarge: its environment is larger than Linux allows.
        Refused: it printed values that exceed the limits.
    """
    printed = PrintedValues(context.log, context.value_bytes_max)
    code = await context.processes.run(
        argv, env={**context.environment, **(variables or {})}, cwd=context.folder, log=printed
    )
    if code == 0:
        return ended_well(printed)
    return context.failed(exit_reason(code, context.log.last_line()), code)


def ended_well(printed: PrintedValues) -> TaskResult:
    """The result of a process that ended with exit code 0. Raises `Refused` as `PrintedValues.outputs`."""
    outputs = printed.outputs()
    return TaskResult.success(outputs, 0) if printed.skip is None else TaskResult.skipped(printed.skip, 0)


def exit_reason(code: int, last_line: str) -> str:
    """Why a process failed, such as: exit code 137 (SIGKILL): last line of the output."""
    try:
        name = f" ({signal.Signals(code - 128).name})"
    except ValueError:
        name = ""
    return f"exit code {code}{name}" + (f": {last_line}" if last_line else "")
