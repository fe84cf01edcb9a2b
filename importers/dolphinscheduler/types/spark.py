"""SPARK and MR: programs for `spark-submit` and `hadoop jar`, with the options in their texts as fields."""

from __future__ import annotations

from shlex import quote
from typing import Any

from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.flow import Step
from importers.dolphinscheduler.resources import named_in
from importers.dolphinscheduler.types.arguments import arguments, main_file, options, program
from importers.draft import Draft
from importers.ledger import Fields

_CONF = "conf"
_OPTIONS = {
    "--conf": _CONF,
    "-c": _CONF,
    "--files": "files",
    "--jars": "jars",
    "--py-files": "py_files",
    "--name": "name",
    "--master": "master",
    "--deploy-mode": "deploy_mode",
    "--queue": "spark.yarn.queue",
    "--packages": "spark.jars.packages",
    "--repositories": "spark.jars.repositories",
    "--archives": "spark.archives",
    "--principal": "spark.kerberos.principal",
    "--keytab": "spark.kerberos.keytab",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--driver-class-path": "spark.driver.extraClassPath",
    "--driver-library-path": "spark.driver.extraLibraryPath",
}
_LISTS = ("files", "jars", "py_files")
_FIELDS = ("name", "master", "deploy_mode", *_LISTS)
_SIZES = {
    "driverMemory": "driver_memory",
    "driverCores": "driver_cores",
    "executorMemory": "executor_memory",
    "executorCores": "executor_cores",
    "numExecutors": "num_executors",
}
_FLAGS = {ours: f"--{ours.replace('_', '-')}" for ours in _SIZES.values()}


def spark(step: Step, draft: Draft, context: Context) -> None:
    """SPARK; a program of SQL becomes a script that calls `spark-sql`."""
    params = step.params
    if params.has("sparkVersion"):
        draft.about.changed("sparkVersion", "which Spark runs it, the environment says here (SPARK_HOME)")
    params.get("sparkVersion")
    made = _where(params, draft)
    conf: dict[str, str] = {}
    for name, ours in _SIZES.items():
        if value := params.text(name):
            made[ours] = _size(ours, value)
    if queue := params.text("yarnQueue") or params.text("queue"):
        conf["spark.yarn.queue"] = queue
    if name := params.text("appName"):
        made["name"] = name
    _others(params, made, conf, draft)
    if conf:
        made["conf"] = conf
    kind = program(params, draft.about)
    if kind == "SQL":
        _sql(params, made, draft)
        return
    draft.type = "SPARK"
    application = main_file(params, draft, context)
    if application is None:
        draft.about.todo("mainJar", "it names no program; write application")
    main_class = params.text("mainClass")
    params.irrelevant("rawScript", "sqlExecutionType")
    args = arguments(params.text("mainArgs"), "mainArgs", draft.about)
    draft.params = {
        "application": application or "TODO",
        **({"main_class": main_class} if main_class and kind != "PYTHON" else {}),
        **({"args": args} if args else {}),
        **made,
    }


def map_reduce(step: Step, draft: Draft, context: Context) -> None:
    params = step.params
    draft.type = "MR"
    jar = main_file(params, draft, context)
    if jar is None:
        draft.about.todo("mainJar", "it names no program; write jar")
    conf: dict[str, str] = {}
    if queue := params.text("yarnQueue") or params.text("queue"):
        conf["mapreduce.job.queuename"] = queue
    if name := params.text("appName"):
        conf["mapreduce.job.name"] = name
    spread = [part for word in arguments(params.text("others"), "others", draft.about) for part in _divided(word)]
    found, rest = options(spread, {"-D": _CONF})
    for _, setting in found:
        key, _, value = setting.partition("=")
        conf[key] = value
    if rest:
        draft.about.todo("others", f"{' '.join(rest)}: write it into args or conf")
    program(params, draft.about)
    args = arguments(params.text("mainArgs"), "mainArgs", draft.about)
    main_class = params.text("mainClass")
    draft.params = {
        "jar": jar or "TODO",
        **({"main_class": main_class} if main_class else {}),
        **({"args": args} if args else {}),
        **({"conf": conf} if conf else {}),
    }


def _divided(word: str) -> list[str]:
    return ["-D", word[2:]] if word.startswith("-D") and len(word) > 2 else [word]


def _where(params: Fields, draft: Draft) -> dict[str, Any]:
    """Where it runs: DolphinScheduler says `--master local`, or YARN, unless a master is named."""
    mode, master = params.text("deployMode", "local").lower(), params.text("master")
    if params.has("namespace"):
        namespace = params.get("namespace")
        cluster = namespace.get("cluster") if isinstance(namespace, dict) else namespace
        draft.about.todo("namespace", f"it runs on the Kubernetes cluster {cluster}; write master: k8s://https://...")
        master = master or "k8s://https://TODO"
    if mode not in ("local", "client", "cluster"):
        draft.about.todo("deployMode", f'there is no deploy mode "{mode}"; write master and deploy_mode')
    made = {"master": master or ("local" if mode == "local" else "yarn")}
    return {**made, **({"deploy_mode": "cluster"} if mode == "cluster" else {})}


def _others(params: Fields, made: dict[str, Any], conf: dict[str, str], draft: Draft) -> None:
    known = {**_OPTIONS, **{flag: ours for ours, flag in _FLAGS.items()}}
    found, rest = options(arguments(params.text("others"), "others", draft.about), known)
    for name, value in found:
        if name == _CONF:
            key, _, setting = value.partition("=")
            conf[key] = setting
        elif name in _LISTS:
            made[name] = [each for each in value.split(",") if each]
        elif name in _FIELDS:
            made[name] = value
        elif name in _FLAGS:
            made[name] = _size(name, value)
        else:
            conf[name] = value
    if rest:
        draft.about.todo("others", f"{' '.join(rest)}: write these options as conf, or as fields of SPARK")


def _size(name: str, value: str) -> int | str:
    return int(value) if name.endswith(("cores", "executors")) and value.isdecimal() else value


def _sql(params: Fields, made: dict[str, Any], draft: Draft) -> None:
    words = ["spark-sql", "--master", made["master"]]
    words += ["--deploy-mode", made["deploy_mode"]] if "deploy_mode" in made else []
    words += ["--name", made["name"]] if "name" in made else []
    for ours, flag in _FLAGS.items():
        words += [flag, str(made[ours])] if ours in made else []
    for name in _LISTS:
        words += [f"--{name.replace('_', '-')}", ",".join(made[name])] if name in made else []
    for key, value in made.get("conf", {}).items():
        words += ["--conf", f"{key}={value}"]
    statements = params.text("rawScript")
    params.irrelevant("mainClass", "mainArgs", "sqlExecutionType")
    draft.type = "SHELL"
    command = " ".join(map(quote, words))
    draft.params = {"script": here_document("query.sql", statements) + f"{command} -f query.sql\n"}
    draft.about.changed("programType", "it is a SHELL task that calls spark-sql, which the worker must have in PATH")
    if params.has("mainJar") or not statements.strip():
        draft.about.todo("rawScript", "its statements are in a file; write them into query.sql")
    named_in(params, "mainJar")


def here_document(name: str, text: str) -> str:
    """The lines of a script that write a text into a file of its folder."""
    end = "END"
    while any(line == end for line in text.splitlines()):
        end += "_"
    body = text if text.endswith("\n") else f"{text}\n"
    return f"cat > {name} <<'{end}'\n{body}{end}\n"
