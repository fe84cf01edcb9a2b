"""PYTHON: a script for an interpreter of the definer's choice, never the worker's own environment."""

from __future__ import annotations

import shutil

from model.errors import Refused
from model.parameters import is_plain
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult
from worker.tasks.script import parameter_variable, run_script


class PythonTask(Task):
    """One attempt of a PYTHON task."""

    class Params(TaskParams):
        """`interpreter` is a path, or a name that is looked up in the task's PATH."""

        script: str
        interpreter: str = "python3"

    params: Params

    @classmethod
    def insert(cls, name: str, value: str) -> str:
        """A plain value as text. Any other could end the literal it stands in and become code: it is refused."""
        if is_plain(value):
            return value
        raise Refused(
            f'the value of "{name}" has characters that could become code in a script; '
            f'write os.environ["{parameter_variable(name)}"] instead of ${{{name}}}'
        )

    async def run(self, context: TaskContext) -> TaskResult:
        """Run the script, its output unbuffered so that the log shows it as it comes."""
        wanted = self.params.interpreter
        interpreter = shutil.which(wanted, path=context.environment.get("PATH"))
        if context.exports is not None:
            interpreter = wanted  # the environment may bring a PATH of its own: bash looks then
        if interpreter is None:
            return TaskResult.failure(f'this worker has no Python interpreter "{wanted}"; give a path or another name')
        return await run_script([interpreter, "-u"], "script.py", self.params.script, context)
