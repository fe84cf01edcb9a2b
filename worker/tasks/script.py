"""What SHELL and PYTHON share: a script in a file of the task's folder, run by an interpreter to its exit code."""

from __future__ import annotations

import os
import re
from pathlib import Path

from model.errors import Refused
from worker.tasks.plugin import TaskContext, TaskResult
from worker.tasks.process import run_process

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
        Refused: it printed values that exceed the limits (`worker/tasks/printed_values.py`).
    """
    path = _write_script(context.folder, file_name, script)
    variables = {
        parameter_variable(name): value
        for name, value in context.values.items()
        if len(value.encode()) <= VARIABLE_BYTES_MAX
    }
    return await run_process([*interpreter, str(path)], context, variables)


def _write_script(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.unlink(missing_ok=True)
    # Never through a link: a worker that runs as root would follow one that the task's tenant had put there.
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o700)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(script)
    return path
