"""MR: a MapReduce program by `hadoop jar`, as in DolphinScheduler.

    hadoop jar JAR [MAIN_CLASS] [-conf FILE] ARGS...

Configuration goes through a file in the task's private folder, since everyone on the machine can see arguments.
"""

from __future__ import annotations

import asyncio
import re

from pydantic import Field

from model.errors import Refused
from worker.tasks.application_ids import OutputScan
from worker.tasks.exports import exported
from worker.tasks.inserted import arguments, mark
from worker.tasks.job_conf import Setting, settings, with_utf8, xml_text
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult
from worker.tasks.remote_end import end_on_yarn, find_command

SUBMITTED = re.compile(r"Submitted application (application_[0-9]{10,}_[0-9]{4,})")
"""A line of the YARN client. Ids printed by programs do not count: they may be anyone's, and would be killed."""


class MapReduceTask(Task):
    """One attempt of an MR task."""

    class Params(TaskParams):
        """`main_class` may also be a program's name, for a jar that asks for one. `conf` becomes a file (`-conf`)."""

        jar: str = Field(min_length=1)
        main_class: str | None = Field(default=None, min_length=1)
        args: list[str] = Field(default_factory=list)
        conf: dict[str, Setting] = Field(default_factory=dict)

    runs_one_process = True

    params: Params

    insert = staticmethod(mark)  # at the beginning of an argument it must not turn the argument into an option

    async def run(self, context: TaskContext) -> TaskResult:
        """Run the program to its end; a kill also ends its applications on YARN."""
        environment = with_utf8(await exported(context))
        hadoop = find_command("hadoop", "HADOOP_HOME", environment)
        if hadoop is None:
            return TaskResult.failure(
                'this worker has no command "hadoop"; set HADOOP_HOME or PATH in the task\'s environment'
            )
        scan = OutputScan(context.log, SUBMITTED)
        argv = [hadoop, "jar", *self._arguments(context)]
        try:
            code = await context.processes.run(argv, env=environment, cwd=context.folder, log=scan)
        except asyncio.CancelledError:
            await end_on_yarn(context, scan.found, environment)
            raise
        scan.finish()
        if code != 0:
            return context.failed(scan.reason(code), code)
        return TaskResult.success({"application_id": scan.found[-1]} if scan.found else {}, code)

    def _arguments(self, context: TaskContext) -> list[str]:
        params = self.params
        (jar,) = arguments([params.jar], "jar")
        if jar.startswith("-"):
            raise Refused("jar: a file's name begins with no -; write ./-name.jar if it is meant")
        main = arguments([params.main_class], "main_class") if params.main_class is not None else []
        conf: list[str] = []
        if params.conf:
            path = context.folder / "shoal-conf.xml"
            path.touch(mode=0o600)
            path.write_text(xml_text(settings(params.conf)), "utf-8")
            conf = ["-conf", str(path)]
        return [jar, *main, *conf, *arguments(params.args, "args")]
