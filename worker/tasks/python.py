"""PYTHON: a script for an interpreter of the definer's choice, never the worker's own environment."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from node.threads import in_thread_if_large
from worker.launcher.errors import CannotStart
from worker.tasks.bash_values import parameter_variables
from worker.tasks.inserted import mark, only_plain
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult
from worker.tasks.python_values import python_script
from worker.tasks.script import run_script

_REQUIREMENT = re.compile(r"[A-Za-z0-9][^$\x00-\x1f]{0,999}")


def _requirement(text: str) -> str:
    if _REQUIREMENT.fullmatch(text) is None:
        raise ValueError("must be the name of a package, with a version or source behind it and no parameter")
    return text


Requirement = Annotated[str, AfterValidator(_requirement)]
"""Never an option of the installer; and only its author chooses what is installed, no value."""


class PythonTask(Task):
    """One attempt of a PYTHON task."""

    class Params(TaskParams):
        """`interpreter` is a path, or a name that is looked up in the task's PATH. `requirements` are installed for it,
        as specifiers of packages that pip knows (PEP 508)."""

        script: str
        interpreter: str = "python3"
        requirements: tuple[Requirement, ...] = Field((), max_length=100)

    runs_one_process = True
    ends_as_its_process = True

    params: Params

    insert = staticmethod(mark)  # what literal it becomes depends on its place

    async def run(self, context: TaskContext) -> TaskResult:
        """Run the script, its output unbuffered so that the log shows it as it comes.

        Raises:
            Refused: a value would become code.
        """
        marked = self.params.script
        script = await in_thread_if_large(len(marked), python_script, marked, context.types)
        interpreter = only_plain(self.params.interpreter, "interpreter")
        command = [interpreter, "-u"]
        if self.params.requirements:
            if context.installer is None:
                return TaskResult.failure(
                    "this worker installs no requirements; run the task on one with the setting worker.uv, or set it"
                )
            command = context.installer.command(interpreter, self.params.requirements, context.folder)
        variables = parameter_variables(context.values)
        try:
            return await run_script(command, "script.py", script, variables, context)
        except CannotStart as error:  # searched by the process itself: its user may have access to other folders
            return TaskResult.failure(
                f'this worker has no Python interpreter "{interpreter}" for it; give a path or another name ({error})'
            )
