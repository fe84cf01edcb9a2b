"""SHELL: a bash script, run as a file by plain `bash` as in DolphinScheduler, without -e: its exit code decides."""

from __future__ import annotations

from node.threads import in_thread_if_large
from worker.tasks.bash_values import bash_script
from worker.tasks.inserted import mark
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult
from worker.tasks.script import run_script


class ShellTask(Task):
    """One attempt of a SHELL task."""

    class Params(TaskParams):
        """`script` is the text of the script."""

        script: str

    runs_one_process = True
    ends_as_its_process = True

    params: Params

    insert = staticmethod(mark)  # the form of its reference depends on the quotes around it

    async def run(self, context: TaskContext) -> TaskResult:
        """Run the script with the `bash` of the task's PATH. Raises `Refused` for a value that would become code."""
        marked = self.params.script
        script, variables = await in_thread_if_large(len(marked), bash_script, marked, context.values, context.types)
        return await run_script(["bash"], "script.sh", script, variables, context)
