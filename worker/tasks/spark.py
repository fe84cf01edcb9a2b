"""SPARK: a program by `spark-submit`, local, on a standalone cluster, on YARN or on Kubernetes.

    spark-submit --properties-file FILE [--class MAIN] APPLICATION ARGS...

All settings, including the master, go through a file in the task's private folder: everyone on the machine can see
arguments. `master` and `deploy_mode` determine where Spark runs, `_end_on_cluster` how it is ended there.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from model.cluster.means import is_passing
from model.errors import Refused
from node.threads import in_thread_if_large
from worker.attempts.extras import how_to_install
from worker.tasks.application_ids import OutputScan
from worker.tasks.exports import exported
from worker.tasks.inserted import arguments, mark, plain
from worker.tasks.job_conf import Setting, properties_text, settings, with_utf8
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult
from worker.tasks.python_values import python_script
from worker.tasks.remote_end import end_on_yarn, end_remotely, find_command

_IDS = {
    "yarn": re.compile(r"\b(application_[0-9]{10,}_[0-9]{4,})\b"),
    "spark://": re.compile(r"\b((?:app|driver)-[0-9]{14}-[0-9]{4,})\b"),
    "k8s://": re.compile(r"submission ID ([a-z0-9-]+:[a-z0-9.-]+)"),
    "local": re.compile(r"\b(local-[0-9]{13})\b"),
}
"""The ids of applications in the output of each kind of cluster, by the prefix of its master's address."""

_EXIT_CODE = re.compile(r"\bexit code: ([0-9]+)")
"""What spark-submit prints about the driver's container on Kubernetes; its own exit code is 0 even on failure."""

_BY_REST = re.compile(r"(?m)^\s*spark\.master\.rest\.enabled\s*[=:\s]\s*true")
SETTINGS_FILE = "shoal-spark.conf"

_CLASS = re.compile(r"[\w.$]+")

_PROPERTY = {
    "master": "spark.master",
    "deploy_mode": "spark.submit.deployMode",
    "name": "spark.app.name",
    "driver_memory": "spark.driver.memory",
    "driver_cores": "spark.driver.cores",
    "executor_memory": "spark.executor.memory",
    "executor_cores": "spark.executor.cores",
    "num_executors": "spark.executor.instances",
    "files": "spark.files",
    "jars": "spark.jars",
    "py_files": "spark.submit.pyFiles",
}


class SparkTask(Task):
    """One attempt of a SPARK task."""

    class Params(TaskParams):
        """Either `application` (a jar or .py) or `script` (a Python program); the other fields are as in Spark."""

        application: str | None = Field(default=None, min_length=1)
        script: str | None = None
        main_class: str | None = None
        args: list[str] = Field(default_factory=list)
        master: str = Field(default="local[*]", min_length=1)
        deploy_mode: Literal["client", "cluster"] = "client"
        name: str | None = None
        conf: dict[str, Setting] = Field(default_factory=dict)
        driver_memory: str | None = None
        driver_cores: int | None = Field(default=None, gt=0)
        executor_memory: str | None = None
        executor_cores: int | None = Field(default=None, gt=0)
        num_executors: int | None = Field(default=None, gt=0)
        files: list[str] = Field(default_factory=list)
        jars: list[str] = Field(default_factory=list)
        py_files: list[str] = Field(default_factory=list)

        @model_validator(mode="after")
        def _fit_together(self) -> Self:
            if (self.application is None) == (self.script is None):
                raise ValueError("give either application (a jar or .py file) or script (the text of a Python program)")
            if self.script is not None and self.main_class is not None:
                raise ValueError("a script has no main_class; remove it")
            twice = sorted(name for field, name in _PROPERTY.items() if name in self.conf and self._is_given(field))
            if twice:
                raise ValueError(
                    f"conf has {', '.join(twice)}, which is a field of its own; remove the one or the other"
                )
            return self

        def _is_given(self, field: str) -> bool:
            return field in self.model_fields_set or field in ("master", "deploy_mode")

    runs_one_process = True

    params: Params

    insert = staticmethod(mark)  # what is safe differs between a script, an argument and a setting

    async def run(self, context: TaskContext) -> TaskResult:
        """Submit and follow to the end; a kill also ends what runs on a cluster, where Spark supports that."""
        installed = _installed(await exported(context))
        if installed is None:
            return TaskResult.failure(
                "this worker has no spark-submit; set SPARK_HOME or PATH in the task's environment, "
                f"or install it: {how_to_install('spark')}"
            )
        application = await in_thread_if_large(len(self.params.script or ""), self._application, context)
        argv = [*self._submit(installed, context), *application, *arguments(self.params.args, "args")]
        master = plain(self.params.master)
        is_remote = self.params.deploy_mode == "cluster"
        scan = OutputScan(context.log, _ids_of(master))
        codes = OutputScan(scan, _EXIT_CODE)
        log = codes if is_remote and master.startswith("k8s://") else scan
        try:
            code = await context.processes.run(argv, env=installed.environment, cwd=context.folder, log=log)
        except asyncio.CancelledError:
            if is_remote:
                await _end_on_cluster(context, installed, master, scan.found)
            raise
        scan.finish()
        driver_code = next((int(each) for each in codes.found if each != "0"), 0)
        if code != 0 or driver_code != 0:
            return context.failed(scan.reason(code or driver_code), code or driver_code)
        return TaskResult.success({"application_id": scan.found[0]} if scan.found else {}, code)

    def _submit(self, installed: _Installed, context: TaskContext) -> list[str]:
        """The command up to the application. Writes the file of settings, which replaces Spark's own defaults file."""
        path = context.folder / SETTINGS_FILE
        path.touch(mode=0o600)
        own = {_PROPERTY[field]: value for field, value in self._fields(context).items()}
        path.write_text(
            properties_text(_quiet_defaults(plain(self.params.master), context))
            + f"{installed.defaults()}\n\n"
            + properties_text({**own, **settings(self.params.conf)}),
            "utf-8",
        )
        main = ["--class", self._main_class()] if self.params.main_class is not None else []
        return [installed.submit, "--properties-file", str(path), *main]

    def _fields(self, context: TaskContext) -> dict[str, str]:
        given = self.params.model_dump(include=set(_PROPERTY), exclude_none=True)
        given = {"name": context.task_name, **given}
        lists = {field: _joined(field, value) for field, value in given.items() if isinstance(value, list) and value}
        texts = {field: plain(str(value)) for field, value in given.items() if not isinstance(value, list)}
        return {**texts, **lists}

    def _main_class(self) -> str:
        name = plain(self.params.main_class or "")
        if not _CLASS.fullmatch(name):
            raise Refused("main_class: it is not the name of a class, such as org.example.Main")
        return name

    def _application(self, context: TaskContext) -> list[str]:
        params = self.params
        if params.script is not None:
            path = context.folder / "script.py"
            path.touch(mode=0o600)
            path.write_text(python_script(params.script, context.types, _in_args), encoding="utf-8")
            return [str(path)]
        (application,) = arguments([params.application or ""], "application")
        if application.startswith("-"):
            raise Refused("application: a file's name begins with no -; write ./-name.py if it is meant")
        return [application]


@dataclass(frozen=True)
class _Installed:
    """A Spark found on this machine: the path of spark-submit, its settings, and its environment."""

    submit: str
    conf_folder: Path
    environment: Mapping[str, str]

    def defaults(self) -> str:
        """The text of its spark-defaults.conf, which a --properties-file would otherwise replace; empty if none.

        Raises:
            Refused: it exists and cannot be read.
        """
        try:
            return (self.conf_folder / "spark-defaults.conf").read_text("utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            if is_passing(error):
                raise
            raise Refused(f"{self.conf_folder}/spark-defaults.conf cannot be read: {error}") from None


def _installed(environment: Mapping[str, str]) -> _Installed | None:
    """The Spark in the task's SPARK_HOME, else in its PATH, else in the pyspark package of this worker."""
    submit = find_command("spark-submit", "SPARK_HOME", environment)
    if submit is None and "SPARK_HOME" not in environment and (spec := find_spec("pyspark")) and spec.origin:
        home = Path(spec.origin).parent
        submit = str(home / "bin" / "spark-submit")
        # The wheel's Python programs need an interpreter that has the package.
        environment = {"PYSPARK_PYTHON": sys.executable, **environment, "SPARK_HOME": str(home)}
    if submit is None:
        return None
    conf_folder = environment.get("SPARK_CONF_DIR") or Path(submit).parent.parent / "conf"
    return _Installed(submit, Path(conf_folder), with_utf8(environment))


def _in_args(name: str) -> str:
    return f"pass it in args, as ${{{name}}}"


def _ids_of(master: str) -> re.Pattern[str]:
    return next((pattern for beginning, pattern in _IDS.items() if master.startswith(beginning)), _IDS["yarn"])


def _quiet_defaults(master: str, context: TaskContext) -> dict[str, str]:
    """Defaults for an unattended program; Spark's own settings and the definition's override them."""
    # With a fixed port the 17th program on one machine fails.
    defaults = {"spark.ui.port": "0", "spark.standalone.submit.waitAppCompletion": "true"}
    if master.startswith("local"):
        defaults["spark.local.dir"] = str(context.folder)  # removed with the attempt, also after a kill
    return defaults


def _joined(field: str, given: list[str]) -> str:
    """A list in Spark's format. Raises `Refused` for a comma, which would split an item."""
    names = [plain(each) for each in given]
    if any("," in name for name in names):
        raise Refused(f"{field}: a name contains a comma, which separates names in Spark; give it another")
    return ",".join(names)


async def _end_on_cluster(context: TaskContext, installed: _Installed, master: str, ids: list[str]) -> None:
    if not ids:
        context.log.write("[shoal] killed before the cluster named the application; check there whether it runs\n")
        return
    if master.startswith("yarn"):
        await end_on_yarn(context, ids[:1], installed.environment)
        return
    path = context.folder / SETTINGS_FILE
    if master.startswith("spark://") and not _BY_REST.search(path.read_text("utf-8")):
        # `spark-submit --kill` only uses REST, on which a master does not listen unless configured to.
        spark_class = str(Path(installed.submit).with_name("spark-class"))
        argv = [spark_class, "org.apache.spark.deploy.Client", "kill", master, ids[0]]
    else:
        argv = [installed.submit, "--master", master, "--properties-file", str(path), "--kill", ids[0]]
    await end_remotely(context, ids[0], argv, installed.environment)
