"""What SHELL and PYTHON share: a script in a file of the task's folder, run by an interpreter to its exit code.

The task's environment, if it asks for one, is sourced by bash first, from a file of its own that is deleted before the
interpreter starts. The output of the environment's script is dropped: it may contain secrets (a `set -x`, an error
message of bash that shows the line of a password).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from model.errors import Refused
from model.parameters import PARAMETER_PREFIX, file_variable, parameter_variable
from worker.tasks.bash_values import VARIABLE_BYTES_MAX
from worker.tasks.plugin import TaskContext, TaskResult
from worker.tasks.process import run_process

EXPORTS_FILE = "environment.sh"

_SOURCE_FIRST = """
source "$0" > /dev/null 2>&1 < /dev/null || exit
{ set +x; } 2> /dev/null
rm -- "$0" && exec "$@"
"""
"""Run by `bash -c`. Only paths are arguments. If the environment fails or ends bash, the file stays: `run_script`
checks."""


async def run_script(
    interpreter: list[str], file_name: str, script: str, variables: Mapping[str, str], context: TaskContext
) -> TaskResult:
    """Write the script into the task's private folder and run it there.

    Args:
        interpreter: the command to which the script's path is appended.
        file_name: of the script, so that tracebacks and `ps` show a readable name.
        variables: the parameters, in addition to the task's environment.

    Raises:
        CannotStart: there is no such interpreter.
        TooLarge: its environment is larger than Linux allows.
        Refused: it printed values that exceed the limits (`worker/tasks/printed_values.py`), or reads the variable of a
            value that is too large for one.
    """
    variables = {**variables, **_large_values(script, context)}
    path = _write_file(context.folder, file_name, script, 0o700)
    exports = context.folder / EXPORTS_FILE
    command = [*interpreter, str(path)]
    if context.exports is not None:
        _write_file(context.folder, EXPORTS_FILE, await context.exports(), 0o600)
        command = ["bash", "-c", _SOURCE_FIRST, str(exports), *command]
    result = await run_process(command, context, variables)
    if context.exports is not None and exports.exists():
        return TaskResult.failure(
            f"the task's environment failed with exit code {result.exit_code}, so the task itself did not begin; what "
            f"the environment's script prints is not logged, since it may contain secrets: run it by hand",
            result.exit_code or None,
        )
    return result


def _large_values(script: str, context: TaskContext) -> dict[str, str]:
    """The values that no variable can hold: in files, which other variables name. Raises `Refused` for a script that
    reads their own variables: it would find them empty."""
    files: dict[str, str] = {}
    for name, value in context.values.items():
        if len(value.encode()) <= VARIABLE_BYTES_MAX:
            continue
        variable, file = parameter_variable(name), file_variable(name)
        sentence = (
            f'{variable} is not set: the value of "{name}" has {len(value.encode()):,} bytes, and a variable takes'
        )
        sentence += f" {VARIABLE_BYTES_MAX:,}; read the file that {file} names"
        if re.search(rf"{variable}\b|{PARAMETER_PREFIX}(?!\w)", script):
            raise Refused(sentence)
        context.log.write(f"[shoal] {sentence}\n")
        files[file] = str(_write_file(context.folder, file, value, 0o600))
    return files


def _write_file(folder: Path, name: str, script: str, mode: int) -> Path:
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
