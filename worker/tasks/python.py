"""PYTHON: a script for an interpreter of the definer's choice, never the worker's own environment."""

from __future__ import annotations

from node.threads import in_thread_if_large
from worker.launcher.errors import CannotStart
from worker.tasks.bash_values import parameter_variables
from worker.tasks.inserted import mark, only_plain
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult
from worker.tasks.python_values import python_script
from worker.tasks.script import run_script


class PythonTask(Task):
    """One attempt of a PYTHON task."""

    class Params(TaskParams):
        """`interpreter` is a path, or a name that is looked up in the task's PATH."""

        script: str
        interpreter: str = "python3"

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
        variables = parameter_variables(context.values)
        try:
            return await run_script([interpreter, "-u"], "script.py", script, variables, context)
        except CannotStart as error:  # searched by the process itself: its user may have access to other folders
            return TaskResult.failure(
                f'this worker has no Python interpreter "{interpreter}" for it; give a path or another name ({error})'
            )
