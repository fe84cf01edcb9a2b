"""DAGs as Airflow stores them: the JSON of the table `serialized_dag`, which has no code in it.

    {"__version": 1, "dag": {"_dag_id": "sales", "tasks": [{"task_id": "load", "_task_type": "BashOperator", ...}]}}

Loops, factories and `default_args` are resolved there, and of a task's arguments only the templates are left. The DAG
file, if it is given too, has the others, and the functions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from importers.airflow import encoding, python_tasks
from importers.airflow.encoding import NO_LINE, TYPE, VAR, Operators, value_of
from importers.airflow.reader import Reader
from importers.airflow.values import Dag, Function, Operator, Parameter, Unknown, link, operators_in
from importers.input_text import check_depth, storable, text_of, too_deep
from model.errors import Refused

FORM = "serialized DAG of Airflow {}"
VERSION_MAX = 3
_DEFAULTS = {"max_active_runs": 16, "max_active_tasks": 16, "concurrency": 16, "max_consecutive_failed_dag_runs": 0}
"""What Airflow writes of each DAG though nobody said it."""
_OF_DAG = frozenset(
    (
        *("dag_id", "tasks", "task_group", "timetable", "schedule_interval", "dataset_triggers", "timezone"),
        *("edge_info", "dag_dependencies", "params", "default_args", "start_date", "end_date", "relative_fileloc"),
        *("default_view", "processor_dags_folder", "disable_bundle_versioning", "rerun_with_latest_version"),
        *("dagrun_timeout", "catchup", "dag_display_property_value"),
    )
)
"""Fields of a DAG that are read apart, or say nothing of what it does."""
_OF_TASK = frozenset(
    (
        *("task_type", "task_module", "operator_name", "is_empty", "is_mapped", "is_sensor", "needs_expansion"),
        *("label", "template_ext", "template_fields_renderers", "operator_extra_links", "disallow_kwargs_override"),
        *("deps", "expand_input_attr", "start_trigger_args", "start_from_trigger", "has_retry_policy", "is_setup"),
        *("is_teardown", "can_skip_downstream", "logger_name", "log_config_logger_name", "downstream_task_ids"),
        *("partial_kwargs", "expand_input", "op_kwargs_expand_input", "mapped_kwargs", "mapped_op_kwargs"),
        *("python_callable_name", "params", "render_template_as_native_obj", "wait_for_past_depends_before_skipping"),
        *("language", "is_stub", "reschedule"),
    )
)
_RENAMED = {
    "task_display_property_value": "task_display_name",
    "pre_execute_hook": "pre_execute",
    "post_execute_hook": "post_execute",
}
_NOTHING = re.compile(r"<airflow\.[\w.]*ArgNotSet object at \w+>")
"""How Airflow 2 stores an argument that is not given."""
_NEXT = re.compile(r"\S")
_WHOLE = frozenset({"EmptyOperator", "DummyOperator", "LatestOnlyOperator", "BashOperator"} | python_tasks.PYTHON)
"""Kinds of which a serialized DAG has all that is followed here."""


class Known:
    """What the DAG file of a serialized DAG says, if it was given too; else nothing."""

    def __init__(self, reader: Reader, dag_id: str) -> None:
        self.reader = reader
        self.dag = next((dag for dag in reader.dags if dag.id == dag_id), None)
        self._operators = {each.id: each for each in self.dag.tasks} if self.dag is not None else {}
        operators = [each for dag in reader.dags for each in dag.tasks]
        found = [*reader.globals.values(), *(each.function or each.given.get("python_callable") for each in operators)]
        self._functions = {each.node.name: each for each in found if isinstance(each, Function)}

    def operator(self, id_: str) -> Operator | None:
        return self._operators.get(id_)

    def function(self, name: str) -> Function | None:
        return self._functions.get(name)


def known_of(tree: Mapping[str, Any], readers: Mapping[str, Reader]) -> Known:
    """What the file of a DAG says: that which makes a DAG of its id, or has the name of the file that made it."""
    id_, file = _origin(_named(tree["dag"]))
    made = [each for each in readers.values() if any(dag.id == id_ for dag in each.dags)]
    made += [each for path, each in readers.items() if PurePath(path).name == file]
    return Known(made[0] if made else Reader(""), id_)


def _origin(given: Mapping[str, Any]) -> tuple[str, str]:
    return str(given.get("dag_id", "")), PurePath(str(given.get("fileloc") or "its file")).name


def dags_in(data: bytes) -> Iterator[dict[str, Any]]:
    """The serialized DAGs of a file: one, a list, or one after the other, such as what `psql -At` prints of the column
    `data`. Raises `Refused`, by name for what only looks like one."""
    text, decoder, at = text_of(data), json.JSONDecoder(), 0
    while (found := _NEXT.search(text, at)) is not None:
        try:
            tree, at = decoder.raw_decode(text, found.start())
        except RecursionError:
            raise too_deep() from None
        except json.JSONDecodeError as error:
            word = "a DAG file is given without --serialized" if "import " in text[:5_000] else error.msg
            raise Refused(f"it is not valid JSON at line {error.lineno}, column {error.colno}: {word}") from None
        check_depth(tree)
        for each in tree if isinstance(tree, list) else [tree]:
            yield storable(_whole(each))


def _whole(tree: Any) -> dict[str, Any]:
    """A serialized DAG, also within a row of its table."""
    if isinstance(tree, dict) and "data" in tree and "dag_id" in tree:
        if tree["data"] is None and tree.get("data_compressed"):
            raise Refused("its DAGs are compressed (data_compressed); unpack that by zlib, and give the JSON in it")
        try:
            tree = json.loads(tree["data"]) if isinstance(tree["data"], str) else tree["data"]
        except (ValueError, RecursionError):
            raise Refused("its field data is no JSON") from None
        check_depth(tree)
    if isinstance(tree, dict) and isinstance(dag := tree.get("dag"), dict) and isinstance(dag.get("tasks"), list):
        if not isinstance(version := tree.get("__version"), int) or not 1 <= version <= VERSION_MAX:
            raise Refused(f"its __version is {version}, and those from 1 to {VERSION_MAX} are known")
        return tree
    raise Refused(f"it is no serialized DAG of Airflow: {_why(tree)}")


def _why(tree: Any) -> str:
    """What something is that only looks like a serialized DAG."""
    keys = tree.keys() if isinstance(tree, dict) else set()
    if keys & {"__classname__", "__classname", "__data__"}:
        return "it is a value that a task gave (XCom)"
    if keys & {"processDefinition", "workflowDefinition", "processDefinitionJson", "taskDefinitionJson"}:
        return "it is of DolphinScheduler; say `import dolphinscheduler`"
    if keys & {"total_entries", "dags"} or {"dag_id", "fileloc"} <= keys:
        return "it is an answer of Airflow's API, without arguments of tasks; take the column data of serialized_dag"
    if keys & {"default_args", "task_groups"} or any(isinstance(each, dict) and "tasks" in each for each in _of(tree)):
        return "it is written for dag-factory"
    return "it has no `__version` beside a `dag` with `tasks`"


def _of(tree: Any) -> list[Any]:
    return list(tree.values()) if isinstance(tree, dict) else []


def dag_of(tree: Mapping[str, Any], known: Known) -> Dag:
    """The DAG, as if it were read from a file."""
    version, given = int(tree["__version"]), _named(tree["dag"])
    defaults = (tree.get("client_defaults") or {}).get("tasks") or {}
    written = [_named({**defaults, **_inner(each)}) for each in given["tasks"] if isinstance(each, dict)]
    file = _origin(given)[1]
    start = _moment(given.get("start_date"), given.get("timezone"))
    dag = Dag(_of_whole(given, start, version), NO_LINE, is_third=not encoding.has_intervals(given, version))
    ids = [str(each.get("task_id")) for each in written]
    operators = {id_: Operator(id_, _kind(each), {}, NO_LINE) for id_, each in zip(ids, written, strict=True)}
    for id_, fields in zip(ids, written, strict=True):
        operator, other = operators[id_], known.operator(id_)
        operator.over = _over(fields, operator, operators)
        operator.is_teardown = fields.get("is_teardown") is True
        operator.given = _arguments(fields, given, operators)
        _completed(operator, fields, other, known, file)
        if other is None and operator.kind not in _WHOLE and not operator.kind.startswith("@"):
            sentence = f"a serialized DAG has only those of its arguments that are templates; import {file}, too"
            dag.notes.append((NO_LINE, f'the task "{id_}" is a {operator.kind}: {sentence}'))
    dag.tasks += operators.values()
    for fields in written:
        for later in fields.get("downstream_task_ids") or ():
            if later in operators:
                link(operators[str(fields["task_id"])], operators[later])
    if known.dag is not None:
        dag.given["params"] |= _unknown_params(known.dag.given.get("params"))
        names = ("user_defined_macros", "user_defined_filters")
        dag.given |= {name: known.dag.given[name] for name in names if name in known.dag.given}
    for group in _mapped_groups(given.get("task_group")):
        sentence = f"the group {group} runs once for each element of a list, and here once"
        dag.notes.append((NO_LINE, f"{sentence}: make it a workflow, and run that by a DYNAMIC task"))
    return dag


def _inner(given: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = given.get(VAR) if given.get(TYPE) in ("operator", "dag", "taskgroup") else given
    return inner if isinstance(inner, dict) else {}


def _named(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields without the `_` that some versions write before their names; callbacks by the names of arguments."""
    found = {}
    for name, value in given.items():
        plain = name if name in (TYPE, VAR) else name.lstrip("_")
        plain = plain.removeprefix("has_") if plain.startswith("has_on_") else plain
        found[_RENAMED.get(plain, plain)] = value
    return found


def _of_whole(given: Mapping[str, Any], start: Any, version: int) -> dict[str, Any]:
    found = {name: value_of(each, {}) for name, each in given.items() if name not in _OF_DAG}
    found = {name: each for name, each in found.items() if each != _DEFAULTS.get(name)}
    found |= {"dag_id": given.get("dag_id"), "schedule": encoding.schedule_of(given)}
    found["params"] = encoding.named_of(given.get("params"), {})
    found["catchup"] = given.get("catchup", version == 1) is True
    if start is not None:
        found["start_date"] = start
    if (end := _moment(given.get("end_date"), given.get("timezone"))) is not None:
        found["end_date"] = end
    if isinstance(limit := given.get("dagrun_timeout"), int | float):
        found["dagrun_timeout"] = timedelta(seconds=limit)
    told = value_of(given.get("default_args"), {})
    alerts = ("email", "email_on_failure", "email_on_retry", "sla")
    found["default_args"] = {name: told[name] for name in alerts if name in told} if isinstance(told, dict) else {}
    return found


def _unknown_params(written: Any) -> dict[str, Any]:
    """Parameters whose default was made when the DAG was stored, such as the day of that."""
    named = written if isinstance(written, dict) else {}
    return {name: each for name, each in named.items()
            if isinstance(each.default if isinstance(each, Parameter) else each, Unknown)}  # fmt: skip


def _moment(given: Any, zone: Any) -> datetime | None:
    if not isinstance(given, int | float):
        return None
    try:
        return datetime.fromtimestamp(given, ZoneInfo(zone) if isinstance(zone, str) and zone != "UTC" else UTC)
    except (ZoneInfoNotFoundError, ValueError, OverflowError):
        return None


def _kind(fields: Mapping[str, Any]) -> str:
    name, type_ = str(fields.get("operator_name") or ""), str(fields.get("task_type") or "BaseOperator")
    return name if name.startswith("@") else "@task" if type_ == "_PythonDecoratedOperator" else type_


def _arguments(fields: Mapping[str, Any], dag: Mapping[str, Any], operators: Operators) -> dict[str, Any]:
    """The arguments of a task; what all tasks have of their DAG is left out."""
    inner = fields.get("partial_kwargs") or {}
    inner = _named(inner.get(VAR, inner))
    found = {}
    for name, each in {**fields, **inner}.items():
        of_dag = dag.get(name) if name in ("start_date", "end_date") else None
        if name in _OF_TASK or each in (None, False, [], {}, of_dag, {TYPE: "datetime", VAR: of_dag}):
            continue
        value = value_of(each, operators)
        if isinstance(value, str) and _NOTHING.fullmatch(value):
            continue
        found[name] = value > 0 if name == "retry_exponential_backoff" and isinstance(value, float) else value
    shared = encoding.named_of(dag.get("params"), {})
    params = encoding.named_of(fields.get("params") or inner.get("params"), operators)
    if own := {name: each for name, each in params.items() if each != shared.get(name)}:
        found["params"] = own
    return found


def _over(fields: Mapping[str, Any], operator: Operator, operators: Operators) -> dict[str, Any]:
    names = [fields.get("expand_input_attr"), "expand_input", "op_kwargs_expand_input", "mapped_op_kwargs"]
    given = next((fields[name] for name in names if isinstance(name, str) and fields.get(name)), None)
    if given is None or not fields.get("is_mapped"):
        return {}
    value = value_of(given.get("value", given), operators)
    if not isinstance(value, dict) or given.get("type") == "list-of-dicts":
        return {"": value}
    return {"": value["op_kwargs"]} if operator.kind in python_tasks.PYTHON and list(value) == ["op_kwargs"] else value


def _completed(operator: Operator, fields: Mapping[str, Any], other: Operator | None, known: Known, file: str) -> None:
    """Add what only the DAG file says of a task: its function, and the arguments that are no templates."""
    name = str(fields.get("python_callable_name") or re.sub(r"__\d+$", "", operator.id)).rpartition(".")[2]
    function = known.function(name)
    templates = fields.get("template_fields") or ()
    if other is not None:
        plain = {key: each for key, each in other.given.items() if key not in templates and not any(operators_in(each))}
        operator.given = {**plain, **operator.given}
        function = other.function or other.given.get("python_callable", function)
    if operator.kind.startswith("@") and isinstance(function, Function):
        operator.function = function
    elif "python_callable_name" in fields or "op_kwargs" in templates:
        operator.given["python_callable"] = function or Unknown(f"{name} (give {file}, too)", NO_LINE)


def _mapped_groups(given: Any) -> Iterator[str]:
    if not isinstance(given, dict):
        return
    fields = _named(_inner(given))
    if fields.get("is_mapped"):
        yield str(fields.get("group_id"))
    for each in (fields.get("children") or {}).values():
        if isinstance(each, list) and len(each) == 2:
            yield from _mapped_groups(each[1])
