"""The variables that a task's environment exports: bash sources its script before the task's own program.

The script lies in a file of its own, which is deleted before that program starts. What it prints is dropped: it may
contain secrets (a `set -x`, an error message of bash that shows the line of a password).
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from model.errors import Refused
from worker.tasks.plugin import TaskContext, TaskResult

EXPORTS_FILE = "environment.sh"
VARIABLES_BYTES_MAX = 4_194_304
"""For all variables together; Linux allows a process no more."""

_SOURCE_FIRST = """
source "$0" > /dev/null 2>&1 < /dev/null || exit
{ set +x; } 2> /dev/null
rm -- "$0" && exec "$@"
"""
"""Run by `bash -c`. Only paths are arguments. If the script fails or ends bash, its file stays."""

_PRINT = ["env", "-0"]
_OF_BASH = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})


async def write_exports(folder: Path, script: Callable[[], Awaitable[str]]) -> Path:
    """Write the script into the task's folder. Raises what `script` raises."""
    return write_file(folder, EXPORTS_FILE, await script(), 0o600)


def with_exports(exports: Path, command: list[str]) -> list[str]:
    """The command that sources the script first."""
    return ["bash", "-c", _SOURCE_FIRST, str(exports), *command]


def no_exports(exit_code: int | None) -> TaskResult:
    """The end of an attempt whose script failed."""
    return TaskResult.failure(_failed(exit_code), exit_code or None)


def _failed(exit_code: int | None) -> str:
    return (
        f"the task's environment failed with exit code {exit_code}, so the task itself did not begin; what the "
        "environment's script prints is not logged, since it may contain secrets: run it by hand"
    )


async def exported(context: TaskContext) -> Mapping[str, str]:
    """The task's environment with the exports of the one it names, for types that need them before they start.

    Raises:
        Refused: the script fails, or exports too much.
    """
    if context.exports is None:
        return context.environment
    exports, printed = await write_exports(context.folder, context.exports), _Printed()
    code = await context.processes.run(
        with_exports(exports, _PRINT), env=context.environment, cwd=context.folder, log=printed
    )
    if code != 0 or exports.exists():
        raise Refused(_failed(code))
    return printed.variables()


class _Printed:
    def __init__(self) -> None:
        self._data = b""

    def write(self, text: str | bytes) -> None:
        if len(self._data) <= VARIABLES_BYTES_MAX:
            self._data += text.encode() if isinstance(text, str) else text

    def last_line(self) -> str:
        return ""

    def variables(self) -> dict[str, str]:
        if len(self._data) > VARIABLES_BYTES_MAX:
            raise Refused(f"the task's environment exports more than {VARIABLES_BYTES_MAX:,} bytes; export less")
        pairs = (os.fsdecode(each).partition("=") for each in self._data.split(b"\0") if each)
        return {name: value for name, _, value in pairs if name not in _OF_BASH}


def write_file(folder: Path, name: str, script: str, mode: int) -> Path:
    """Write a file of the task, and return its path."""
    path = folder / name
    # Never through a link: a worker that runs as root would follow one that the task's tenant had created there.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, mode)
    except FileExistsError:
        path.unlink(missing_ok=True)
        fd = os.open(path, flags, mode)
    try:
        data = script.encode()
        while data:
            data = data[os.write(fd, data) :]
    finally:
        os.close(fd)
    return path
