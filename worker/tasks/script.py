"""Shared by SHELL and PYTHON: a script in a file of the task's folder, run by an interpreter to its exit code."""

from __future__ import annotations

import re
from collections.abc import Mapping

from model.errors import Refused
from model.parameters.parameters import PARAMETER_PREFIX, file_variable, parameter_variable
from worker.tasks.bash_values import VARIABLE_BYTES_MAX
from worker.tasks.exports import no_exports, with_exports, write_exports, write_file
from worker.tasks.plugin import TaskContext, TaskResult
from worker.tasks.process import run_process


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
        Refused: it printed values that exceed the limits (`worker/tasks/set_value_lines.py`), or reads the variable of
            a value that is too large for one.
    """
    variables = {**variables, **_large_values(script, context)}
    path = write_file(context.folder, file_name, script, 0o700)
    command = [*interpreter, str(path)]
    if context.exports is None:
        return await run_process(command, context, variables)
    exports = await write_exports(context.folder, context.exports)
    result = await run_process(with_exports(exports, command), context, variables)
    return no_exports(result.exit_code) if exports.exists() else result


def _large_values(script: str, context: TaskContext) -> dict[str, str]:
    """The values that no variable can hold, in files named by other variables. Raises `Refused` for a script that reads
    their own variables, which would be empty."""
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
        files[file] = str(write_file(context.folder, file, value, 0o600))
    return files
