"""SHELL: a bash script, run as a file by plain `bash` as in DolphinScheduler, without -e: its exit code decides."""

from __future__ import annotations

from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult
from worker.tasks.script import run_script


class ShellTask(Task):
    """One attempt of a SHELL task."""

    class Params(TaskParams):
        """`script` is the text of the script."""

        script: str

    params: Params

    async def run(self, context: TaskContext) -> TaskResult:
        """Run the script with the `bash` of the task's PATH."""
        return await run_script(["bash"], "script.sh", self.params.script, context)
