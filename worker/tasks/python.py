"""PYTHON: a script for an interpreter of the definer's choice, never the worker's own environment."""

from __future__ import annotations

import shutil

from model.errors import Refused
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult
from worker.tasks.script import run_script


class PythonTask(Task):
    """One attempt of a PYTHON task."""

    class Params(TaskParams):
        """`interpreter` is a path, or a name that is looked up in the task's PATH."""

        script: str
        interpreter: str = "python3"

    params: Params

    async def run(self, context: TaskContext) -> TaskResult:
        """Run the script, its output unbuffered so that the log shows it as it comes."""
        wanted = self.params.interpreter
        interpreter = shutil.which(wanted, path=context.environment.get("PATH"))
        if interpreter is None:
            raise Refused(f'there is no Python interpreter "{wanted}" on this worker; give a path or another name')
        return await run_script([interpreter, "-u"], "script.py", self.params.script, context)
