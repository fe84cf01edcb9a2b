"""Types that are a command line: each becomes a SHELL task that calls it, with its configuration as a here-document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from shlex import quote
from types import MappingProxyType
from typing import Any

from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.flow import Step
from importers.dolphinscheduler.types.arguments import main_file, program
from importers.dolphinscheduler.types.spark import here_document
from importers.draft import Draft
from importers.ledger import Fields


def datax(step: Step, draft: Draft, context: Context) -> None:
    """DATAX with a job of its own; one between two data sources needs their addresses."""
    params = step.params
    low, high = params.text("xms", "1"), params.text("xmx", "1")
    if params.text("customConfig", "0") not in ("1", "true"):
        sources = [
            context.ask("datasources", params.text(name), draft, params.text(kind))
            for name, kind in (("dataSource", "dsType"), ("dataTarget", "dtType"))
            if params.has(name)
        ]
        named = " to ".join(source or "a data source" for source in sources)
        draft.cannot(f"write a job of DataX from {named}: it was made of their addresses", _reported(params))
        return
    job = here_document("job.json", params.text("json"))
    run = f'python3 "$DATAX_HOME/bin/datax.py" --jvm="-Xms{low}G -Xmx{high}G" job.json\n'
    _becomes(draft, job + run, "$DATAX_HOME/bin/datax.py")


def seatunnel(step: Step, draft: Draft, context: Context) -> None:  # noqa: ARG001 - as all conversions
    params = step.params
    script = params.text("startupScript", "seatunnel.sh")
    words = [f'"$SEATUNNEL_HOME/bin/{script}"', "--config", "seatunnel.conf"]
    master, mode = params.text("master"), params.text("deployMode")
    words += ["--deploy-mode", quote(mode.lower())] if mode else []
    words += ["--master", quote(master.lower())] if master else []
    words += [params.text("others")] if params.has("others") else []
    params.irrelevant("useCustom")
    if not params.has("rawScript"):
        draft.about.todo("rawScript", "its configuration is in a file; write it into seatunnel.conf")
    config = here_document("seatunnel.conf", params.text("rawScript"))
    _becomes(draft, f"{config}{' '.join(words)}\n", "$SEATUNNEL_HOME/bin")


def sqoop(step: Step, draft: Draft, context: Context) -> None:  # noqa: ARG001 - as all conversions
    """SQOOP with a script of its own; one that was put together in a form needs the addresses of data sources."""
    params = step.params
    if params.text("jobType", "TEMPLATE").upper() != "CUSTOM" or not params.has("customShell"):
        draft.cannot("write its call of sqoop: it was made of the addresses of data sources", _reported(params))
        return
    _becomes(draft, params.text("customShell"), "sqoop")


def hive_cli(step: Step, draft: Draft, context: Context) -> None:  # noqa: ARG001 - as all conversions
    params = step.params
    if params.text("hiveCliTaskExecutionType", "SCRIPT").upper() == "FILE":
        draft.about.todo("hiveSqlScript", "its statements are in a file; write them into query.sql")
    options = params.text("hiveCliOptions")
    query = here_document("query.sql", params.text("hiveSqlScript"))
    _becomes(draft, f"{query}hive -f query.sql {options}".rstrip() + "\n", "hive")


def flink(step: Step, draft: Draft, context: Context) -> None:
    params = step.params
    mode, kind = params.text("deployMode", "local").lower(), program(params, draft.about)
    words = ['"$FLINK_HOME/bin/sql-client.sh"'] if kind == "SQL" else ['"$FLINK_HOME/bin/flink"']
    settings = _flink_settings(params)
    if kind == "SQL":
        init = params.text("initScript")
        files = here_document("init.sql", init) if init else ""
        files += here_document("query.sql", params.text("rawScript"))
        words += ["-i", "init.sql"] if init else []
        words += ["-f", "query.sql", *settings]
        params.irrelevant("mainClass", "mainArgs")
    else:
        files = ""
        jar = main_file(params, draft, context)
        if jar is None:
            draft.about.todo("mainJar", "it names no program; write it into the script")
        if mode in ("application", "run_application"):
            words += ["run-application", "-t", "yarn-application"]
        elif mode in ("per_job", "cluster"):
            words += ["run", "-t", "yarn-per-job"]
        else:
            words += ["run"]
        words += settings
        words += ["-c", quote(params.text("mainClass"))] if params.has("mainClass") and kind != "PYTHON" else []
        words += ["-py"] if kind == "PYTHON" else []
        words += [quote(jar or "TODO"), *params.text("mainArgs").splitlines()]
        params.irrelevant("rawScript", "initScript")
    params.irrelevant("flinkVersion")
    _becomes(draft, f"{files}{' '.join(words)}\n", "$FLINK_HOME/bin")


def java(step: Step, draft: Draft, context: Context) -> None:
    params = step.params
    jar = main_file(params, draft, context)
    if params.text("runType", "JAR").upper() not in ("JAR", "NORMAL_JAR", "FAT_JAR") or jar is None:
        draft.cannot("it compiles a text of Java; build a jar of it, and call that by java -jar", _reported(params))
        return
    options, args = params.text("jvmArgs"), params.text("mainArgs")
    main_class = params.text("mainClass")
    if params.text("isModulePath", "false") == "true":
        draft.about.changed("isModulePath", "its jars were in the module path; add --module-path to the call")
    target = f"-cp {quote(jar)} {quote(main_class)}" if main_class else f"-jar {quote(jar)}"
    params.irrelevant("rawScript")
    _becomes(draft, " ".join(part for part in ("java", options, target, args) if part) + "\n", "java")


def _flink_settings(params: Fields) -> list[str]:
    found = []
    for name, key in (
        ("appName", "yarn.application.name"),
        ("jobManagerMemory", "jobmanager.memory.process.size"),
        ("taskManagerMemory", "taskmanager.memory.process.size"),
        ("slot", "taskmanager.numberOfTaskSlots"),
        ("yarnQueue", "yarn.application.queue"),
        ("queue", "yarn.application.queue"),
        ("parallelism", "parallelism.default"),
        ("taskManager", "yarn.taskmanagers"),
    ):
        if value := params.text(name):
            found.append(f"-D{key}={quote(value)}")
    return [*found, *([params.text("others")] if params.has("others") else [])]


def _becomes(draft: Draft, script: str, program_: str) -> None:
    draft.type = "SHELL"
    draft.params = {"script": script}
    draft.about.changed("taskType", f"it is a SHELL task that calls {program_}, which the workers must have")


def _reported(params: Fields) -> dict[str, Any]:
    for name in params.content:
        params.reported(name)
    return dict(params.content)


COMMANDS: Mapping[str, Callable[[Step, Draft, Context], None]] = MappingProxyType(
    {
        "DATAX": datax,
        "SEATUNNEL": seatunnel,
        "WATERDROP": seatunnel,
        "SQOOP": sqoop,
        "HIVECLI": hive_cli,
        "FLINK": flink,
        "FLINK_STREAM": flink,
        "JAVA": java,
    }
)
