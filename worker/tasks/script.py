"""What SHELL and PYTHON share: a script in a file of the task's folder, run by an interpreter; the exit code decides."""

from __future__ import annotations

import signal

from worker.tasks.plugin import TaskContext, TaskResult


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
    code = await context.processes.run(
        [*interpreter, str(path)], env=context.environment, cwd=context.folder, log=context.log
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
