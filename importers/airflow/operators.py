"""The operators and sensors of Airflow, each as a task of Shoal."""

from __future__ import annotations

import re
from collections.abc import Callable
from shlex import quote
from typing import Any

from importers.airflow import (
    approvals,
    branches,
    checks,
    containers,
    mail,
    other_dags,
    python_tasks,
    remote,
    responses,
    sensors,
)
from importers.airflow.flow import Args, in_quotes, shown
from importers.airflow.functions import SKIP
from importers.airflow.values import Label, Unknown
from importers.table_names import with_names
from model.errors import Refused
from worker.statements.grammar import MYSQL, POSTGRES, SQLITE, STANDARD

Convert = Callable[[Args], None]
_SQL_CONNECTIONS = {
    "PostgresOperator": ("postgres_conn_id", "postgres_default"),
    "MySqlOperator": ("mysql_conn_id", "mysql_default"),
    "SqliteOperator": ("sqlite_conn_id", "sqlite_default"),
    "MsSqlOperator": ("mssql_conn_id", "mssql_default"),
    "OracleOperator": ("oracle_conn_id", "oracle_default"),
    "SnowflakeOperator": ("snowflake_conn_id", "snowflake_default"),
    "RedshiftSQLOperator": ("redshift_conn_id", "redshift_default"),
    "TrinoOperator": ("trino_conn_id", "trino_default"),
    "SQLExecuteQueryOperator": ("conn_id", "default"),
}
_GRAMMARS = {"PostgresOperator": POSTGRES, "RedshiftSQLOperator": POSTGRES, "MySqlOperator": MYSQL,
             "SqliteOperator": SQLITE}  # fmt: skip
_PARAM = re.compile(r"\{\{\s*params(?:\.(\w+)|\[['\"](\w+)['\"]\])\s*\}\}")
_PLACED = re.compile(r"%\((\w+)\)s")
_VALUE = re.compile(r"\s*\$\{[^{}]*\}\s*;?\s*")
_IN_JINJA = re.compile(r"\{\{[^}]*?(?:params|conf|value)(?:\.get\(|\.|\[)['\"]?(\w+)")


def convert(args: Args) -> None:
    """Make the task; one whose kind has no counterpart stays for a person to write."""
    kind = args.operator.kind
    known = OPERATORS.get(kind)
    if args.operator.over and kind.startswith("@") is False and "" not in args.operator.over:
        args.given |= {name: _element(args, name) for name in args.operator.over}
        if "params" in args.operator.over:
            _name_elements(args)
    why = f"{kind} has no counterpart; write it as a SHELL or PYTHON task"
    try:
        if known is not None:
            known(args)
            return
    except Refused as error:
        why = f"{kind}: {error}"
    lists = {"expand": shown(args.operator.over)} if args.operator.over else {}
    args.draft.cannot(f"line {args.operator.line}: {why}", {**args.rest(), **lists})


def _element(args: Args, name: str) -> str:
    return "{{ each }}" if len(args.operator.over) == 1 else f"{{{{ each.{name} }}}}"


def _name_elements(args: Args) -> None:
    """Of a task that gets other params for each element, templates name parts of that."""
    element = args.given.pop("params").strip("{} ")

    def named(text: str) -> str:
        return _PARAM.sub(lambda found: f"{{{{ {element}.{found[1] or found[2]} }}}}", text)

    for name, value in args.given.items():
        if isinstance(value, str):
            args.given[name] = named(value)
            if re.search(r"\{\{[^}]*\bparams\b", args.given[name]):
                args.todo(name, "it gets other params for each element; write ${each.NAME}")


def _bash(args: Args) -> None:
    given = args.given.get("bash_command")
    if isinstance(given, Unknown):
        raise Refused(f"bash_command = {given.text} is not known before it runs")
    commands = args.operator.over.get("bash_command")
    listed = commands if isinstance(commands, list | tuple) else [given]
    if any(isinstance(each, list | tuple | dict) for each in listed):
        raise Refused("its bash_command is a list, and no text: Airflow fails it; write the script")
    if isinstance(given, str):
        args.given["bash_command"] = _with_own_variables(args, given)
    if isinstance(commands, list | tuple):
        args.irrelevant("bash_command")
        # The elements are scripts, and no value is run as code: each has a branch of its own.
        cases = [f"{place})\n{args.written('bash_command', each)}\n;;" for place, each in enumerate(commands)]
        command = "\n".join(["case ${each_index} in", *cases, "esac"])
    else:
        command = args.text("bash_command")
    args.skips(SKIP)
    args.draft.params = {"script": _script(args, command)}
    args.irrelevant("output_encoding", "append_env", "do_xcom_push", "xcom_push", "output_processor")


def _bash_function(args: Args) -> None:
    """A function that gives the text of a script: one that only returns a text is that script."""
    if (text := python_tasks.text_of(args)) is None:
        python_tasks.bash(args)
        args.skips(SKIP)
    else:
        args.given["bash_command"] = text
        args.irrelevant("op_kwargs", "op_args")
        _bash(args)


def _with_own_variables(args: Args, command: str) -> str:
    """A command in which `${name}` stays a variable of bash, where a parameter has its name too."""
    own = args.given.get("params")
    names = {*args.flow.params, *(own if isinstance(own, dict) else {}), *_IN_JINJA.findall(command)}
    names -= args.flow.reader.variables.keys()
    return re.sub(r"(?<!\$)\$\{(\w+)\}", lambda found: f"${found[0]}" if found[1] in names else found[0], command)


def _script(args: Args, command: str) -> str | dict[str, str]:
    if command.endswith((".sh", ".bash")) and "\n" not in command and " " not in command.strip():
        file = command.strip()
        args.todo("bash_command", f"put the file into the project: shoal project file put {file}")
        return {"file": file}
    head = [f"cd {quote(args.text('cwd'))} || exit"] if args.has("cwd") else []
    head += [f'export {name}="{in_quotes(value)}"' for name, value in args.mapping("env").items()]
    if re.fullmatch(r"\$\{[^}]+\}", command.strip()):
        sentence = "a result of another task is no script here: values are never run as code"
        args.todo("bash_command", sentence)
    if args.flow.is_pulled(args.operator):
        args.changed("do_xcom_push", "its last line is passed on as return_value by a line of the script")
        body = ["set -o pipefail", "last=$( (", command.rstrip("\n"), ") | tee /dev/stderr | tail -n 1) || exit"]
        return "\n".join([*head, *body, 'echo "#{setValue(return_value=$last)}"', ""])
    return "\n".join([*head, command.strip("\n")]) + "\n"


def _nothing(args: Args) -> None:
    args.draft.type = "FAKE"


def _sql(args: Args) -> None:
    own, standard = _SQL_CONNECTIONS[args.operator.kind]
    name = args.text("conn_id") if args.has("conn_id") else args.text(own, standard)
    if args.given.get("parameters") == "{{ each }}":
        placed = _PLACED.findall(" ".join(map(str, _listed(args.given.get("sql", "")))))
        args.given["parameters"] = {each: f"{{{{ each.{each} }}}}" for each in placed}
    statements = [_statement(args, each) for each in _listed(args.known("sql", ""))]
    if any(isinstance(each, str) and _VALUE.fullmatch(each) for each in statements):
        args.todo("sql", "a value is no statement here: values are never run as code")
    args.draft.type = "SQL"
    args.draft.params = {"datasource": name, "sql": statements[0] if len(statements) == 1 else statements}
    parameters = args.known("parameters")
    if isinstance(parameters, dict):
        args.draft.fields["local_params"] = {
            str(key): args.written(f"parameters.{key}", each) for key, each in parameters.items()
        }
    elif parameters:
        args.todo("parameters", "parameters by place; name them, and write ${name}")
    if args.has("database") or args.has("schema"):
        args.changed("database", f"the data source {name} names the database: {args.text('database')}")
    args.irrelevant("database", "schema", "autocommit", "split_statements", "return_last", "show_return_value_in_logs",
                    "handler", "requires_result_fetch", "runtime_parameters", "hook_params",
                    "do_xcom_push")  # fmt: skip


def _statement(args: Args, given: Any) -> Any:
    text = args.written("sql", given)
    if text.strip().endswith(".sql") and " " not in text.strip():
        args.todo("sql", f"put the file into the project: shoal project file put {text.strip()}")
        return {"file": text.strip()}
    parameters = args.given.get("parameters")
    if isinstance(parameters, dict):
        for name in parameters:
            text = text.replace(f"%({name})s", f"${{{name}}}")
    named = with_names(text, _GRAMMARS.get(args.operator.kind, STANDARD))
    if named != text:
        args.changed("sql", "where ${name} names a table or column, it is !{name}")
    return named


def _http(args: Args) -> None:
    args.draft.type = "HTTP"
    args.draft.params = _request(args)
    if args.flow.is_pulled(args.operator) and (path := responses.path_of(args.operator)) is not None:
        args.draft.params["outputs"] = {"return_value": path}
    args.irrelevant("log_response", "response_filter", "extra_options", "auth_type", "tcp_keep_alive")


def _request(args: Args) -> dict[str, Any]:
    connection = args.connection(args.text("http_conn_id", "http_default"), "url")
    args.changed("http_conn_id", f'the address of the connection is the parameter "{connection}"')
    endpoint = args.text("endpoint").lstrip("/")
    found: dict[str, Any] = {"url": f"${{{connection}}}/{endpoint}" if endpoint else f"${{{connection}}}"}
    method = args.text("method", "POST" if "Sensor" not in args.operator.kind else "GET")
    if method != "GET":
        found["method"] = method
    if headers := args.mapping("headers"):
        found["headers"] = headers
    data = args.known("data", args.known("request_params"))
    if isinstance(data, dict):
        place = "query" if method == "GET" else "body"
        found[place] = {str(key): args.written(f"data.{key}", each) for key, each in data.items()}
    elif data:
        found["body"] = args.written("data", data)
    if args.has("response_check"):
        args.todo("response_check", "write it as expected_status or body_contains")
        args.irrelevant("response_check")
    return found


def _http_sensor(args: Args) -> None:
    sensors.waits(args, {"http": _request(args)})
    args.irrelevant("extra_options", "response_error_codes_allowlist")


def _spark(args: Args) -> None:
    params: dict[str, Any] = {"application": args.text("application")}
    if given := args.mapping("conf"):
        params["conf"] = given
    if listed := args.texts("application_args"):
        params["args"] = listed
    params |= args.given_texts(
        main_class="java_class", driver_memory="driver_memory", executor_memory="executor_memory"
    )
    for name in ("executor_cores", "num_executors"):
        if (number := args.number(name)) is not None:
            params[name] = int(number)
    for name, text in args.given_texts(jars="jars", py_files="py_files", files="files").items():
        params[name] = [each for each in text.split(",") if each]
    connection = args.text("conn_id", "spark_default")
    args.changed("conn_id", f"the master of the connection {connection} is not in the file; set `master`")
    args.draft.type, args.draft.params = "SPARK", params
    args.irrelevant("verbose", "name", "spark_binary", "conn_id", "total_executor_cores", "status_poll_interval")


def _latest(args: Args) -> None:
    after = [args.flow.names[each] for each in args.flow.after(args.operator)]
    args.draft.type = "SWITCH"
    args.draft.params = {"cases": [{"when": "${system.is_latest} == true", "then": after}]}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) and not isinstance(value, Label) else [value]


OPERATORS: dict[str, Convert] = {
    "BashOperator": _bash,
    "@task.bash": _bash_function,
    **dict.fromkeys(("EmptyOperator", "DummyOperator"), _nothing),
    **dict.fromkeys(python_tasks.PYTHON, python_tasks.python),
    **dict.fromkeys(
        ("BranchPythonOperator", "BranchPythonVirtualenvOperator", "BranchExternalPythonOperator", "@task.branch",
         "@task.branch_virtualenv", "@task.branch_external_python"), branches.branch
    ),
    "BranchDayOfWeekOperator": branches.day_of_week,
    "BranchDateTimeOperator": branches.date_time,
    "BranchSQLOperator": checks.branch,
    "HITLOperator": approvals.choice,
    "HITLEntryOperator": approvals.entry,
    "HITLBranchOperator": approvals.branch,
    "ApprovalOperator": approvals.approval,
    **dict.fromkeys(("ShortCircuitOperator", "@task.short_circuit"), branches.short_circuit),
    "LatestOnlyOperator": _latest,
    **dict.fromkeys(_SQL_CONNECTIONS, _sql),
    **dict.fromkeys(responses.REQUESTS, _http),
    "ExternalTaskSensor": sensors.external_task,
    "ExternalTaskMarker": other_dags.marker,
    "TriggerDagRunOperator": other_dags.trigger,
    "SubDagOperator": other_dags.child,
    "@mapped_group": other_dags.mapped_group,
    "FileSensor": sensors.file,
    "SqlSensor": sensors.sql,
    "BashSensor": sensors.bash,
    "HttpSensor": _http_sensor,
    **dict.fromkeys(python_tasks.SENSORS, sensors.python),
    "S3KeySensor": sensors.s3_key,
    **dict.fromkeys(("TimeDeltaSensor", "TimeDeltaSensorAsync"), sensors.time_delta),
    **dict.fromkeys(("TimeSensor", "TimeSensorAsync"), sensors.time),
    **dict.fromkeys(
        ("KubernetesPodOperator", "GKEStartPodOperator", "GKEPodOperator", "EksPodOperator"), containers.pod
    ),
    **dict.fromkeys(("DateTimeSensor", "DateTimeSensorAsync"), sensors.date_time),
    "DayOfWeekSensor": sensors.day_of_week,
    **dict.fromkeys(checks.KINDS, checks.check),
    "EmailOperator": mail.email,
    "SSHOperator": remote.ssh,
    "SparkSubmitOperator": _spark,
    "DockerOperator": containers.docker,
}  # fmt: skip
"""Class or decorator -> what makes its task."""
