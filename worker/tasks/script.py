"""What SHELL and PYTHON share: a script in a file of the task's folder, run by an interpreter to its exit code."""

from __future__ import annotations

import re
import signal

from model.errors import Refused
from worker.tasks.plugin import TaskContext, TaskResult

PARAMETER_PREFIX = "SHOAL_PARAM_"


VARIABLE_BYTES_MAX = 120_000
"""What fits into one variable: Linux takes 128 KiB of name and value, and fails the whole start above."""


def parameter_reference(name: str, value: str) -> str:
    """`${SHOAL_PARAM_name}`. Raises `Refused` for a value that is too long to be a variable."""
    size = len(value.encode())
    if size > VARIABLE_BYTES_MAX:
        raise Refused(
            f'the value of "{name}" has {size} bytes, and a process takes {VARIABLE_BYTES_MAX} in a variable; '
            f"put it into a file and pass the file's name"
        )
    return f"${{{parameter_variable(name)}}}"


def parameter_variable(name: str) -> str:
    """The environment variable that holds a parameter. With a prefix: one called PATH or LD_PRELOAD must stay data."""
    return PARAMETER_PREFIX + re.sub(r"[^A-Za-z0-9_]", "_", name)


async def run_script(interpreter: list[str], file_name: str, script: str, context: TaskContext) -> TaskResult:
    """Write the script into the task's private folder and run it there.

    Args:
        interpreter: the command to which the script's path is appended.
        file_name: of the script, so that tracebacks and `ps` show something readable.

    Raises:
        CannotStart: there is no such interpreter.
    """
    path = context.folder / file_name
    path.touch(mode=0o700)
    path.write_text(script, encoding="utf-8")
    variables = {
        parameter_variable(name): value
        for name, value in context.values.items()
        if len(value.encode()) <= VARIABLE_BYTES_MAX
    }
    code = await context.processes.run(
        [*interpreter, str(path)], env={**context.environment, **variables}, cwd=context.folder, log=context.log
    )
    if code == 0:
        return TaskResult.success(exit_code=0)
    return TaskResult.failure(_reason(code, context.log.last_line()), code)


def _reason(code: int, last_line: str) -> str:
    """Such as: exit code 137 (SIGKILL): last line of the output."""
    try:
        name = f" ({signal.Signals(code - 128).name})"
    except ValueError:
        name = ""
    return f"exit code {code}{name}" + (f": {last_line}" if last_line else "")
