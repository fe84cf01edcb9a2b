"""SHELL: a bash script, run as a file by plain `bash` as in DolphinScheduler, without -e: its exit code decides."""

from __future__ import annotations

from model.parameters import is_plain
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult
from worker.tasks.script import parameter_reference, run_script


class ShellTask(Task):
    """One attempt of a SHELL task."""

    class Params(TaskParams):
        """`script` is the text of the script."""

        script: str

    params: Params

    @classmethod
    def insert(cls, name: str, value: str) -> str:
        """A plain value as text, harmless in any context; any other as a variable, which bash expands as data."""
        return value if is_plain(value) else parameter_reference(name, value)

    async def run(self, context: TaskContext) -> TaskResult:
        """Run the script with the `bash` of the task's PATH."""
        return await run_script(["bash"], "script.sh", self.params.script, context)
