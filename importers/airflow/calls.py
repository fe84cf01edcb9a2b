"""Calls in a DAG file: what makes DAGs, tasks, groups and arrows, and the few functions whose results are known."""

from __future__ import annotations

import ast
import json
import os.path
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from importers.airflow import own_functions, placing
from importers.airflow.templates import parameter_name
from importers.airflow.values import (
    Dag,
    Dataset,
    Datasets,
    Dotted,
    Function,
    Group,
    Label,
    Operator,
    Output,
    Parameter,
    Partial,
    Timetable,
    Unknown,
    link,
)

if TYPE_CHECKING:
    from importers.airflow.reader import Reader

_KNOWN = {"str": str, "int": int, "float": float, "bool": bool, "len": len, "list": list, "tuple": tuple, "dict": dict,
          "set": list, "sorted": sorted, "reversed": lambda of: list(reversed(of)), "min": min, "max": max, "sum": sum,
          "zip": lambda *of: list(zip(*of, strict=False)), "enumerate": lambda of, start=0: list(enumerate(of,
          start))}  # fmt: skip
_OF_TEXT = ("format", "join", "replace", "upper", "lower", "strip", "lstrip", "rstrip", "split", "startswith",
            "endswith",
            "title", "capitalize", "zfill", "removeprefix", "removesuffix")  # fmt: skip
_OF_DICT = ("get", "items", "keys", "values", "copy", "update")
_OF_LIST = ("append", "extend", "copy", "index", "insert")
BUILT_IN = {*_KNOWN, "range"}
RANGE_MAX = 20_000
_HARMLESS = ("print", "log", "warnings.", "sys.", "os.")


def call(reader: Reader, node: ast.Call) -> Any:
    """What a call gives. What it makes is added to the DAG around it."""
    if isinstance(node.func, ast.Attribute):
        holder = reader.value(node.func.value)
        if not isinstance(holder, Dotted):
            return _of_object(reader, node, holder, node.func.attr)
    function = reader.value(node.func)
    given, named = _arguments(reader, node)
    match function:
        case Dotted():
            return _of_import(reader, node, function, given, named)
        case Function():
            return own_functions.called(reader, node, function, given, named)
    if "task_id" in named:
        return placing.operator(reader, node, Dotted(ast.unparse(node.func)), named)
    return reader.unknown(node)


def is_harmless(node: ast.expr) -> bool:
    """Whether an expression makes no tasks, though it is not known."""
    return not isinstance(node, ast.Call) or ast.unparse(node.func).lower().startswith(_HARMLESS)


def takes_dag(reader: Reader, node: ast.expr) -> bool:
    """Whether an expression is a call that is given a DAG, or makes a group: it may make tasks."""
    if not isinstance(node, ast.Call):
        return False
    given = [*node.args, *(each.value for each in node.keywords)]
    is_given = any(isinstance(each, ast.Name) and isinstance(reader.value(each), Dag) for each in given)
    return is_given or any(each.arg == "group_id" for each in node.keywords)


def variable(reader: Reader, name: str, default: Any) -> str:
    """A variable of Airflow or of the environment: a parameter."""
    known = default if isinstance(default, str | int | float) and not isinstance(default, bool) else None
    made = parameter_name(name)
    reader.variables.setdefault(made, None if known is None else str(known))
    return f"${{{made}}}"


def _arguments(reader: Reader, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    named: dict[str, Any] = {}
    for each in node.keywords:
        if each.arg == "subdag" and isinstance(each.value, ast.Call):
            made = reader.value(each.value.func)  # a factory of another file makes a DAG, though it takes a task_id
            value = reader.value(each.value) if isinstance(made, Function) else reader.unknown(each.value)
        else:
            value = reader.value(each.value)
        if each.arg is not None:
            named[each.arg] = value
        elif isinstance(value, dict):
            named.update(value)
        else:
            named[f"**{ast.unparse(each.value)}"] = value
    return list(reader.parts(node.args)), named


def _of_import(reader: Reader, node: ast.Call, function: Dotted, given: list[Any], named: dict[str, Any]) -> Any:
    match function.name:
        case kind if kind.endswith(("DAG", "Dag")) and (kind == "DAG" or "dag_id" in named or given):
            given_ = dict(zip(("dag_id", "description", "schedule"), given, strict=False))
            dag = reader.add_dag(Dag({**given_, **named}, node.lineno))
            if kind != "DAG":
                dag.notes.append((node.lineno, f"what {function.path} makes beside a plain DAG is not known"))
            return dag
        case "timedelta" | "duration":
            return _made(reader, node, timedelta, given, named)
        case "time" if function.path in ("datetime.time", "pendulum.time"):
            return _made(reader, node, time, given, named)
        case "datetime" | "create":
            return _datetime(reader, node, given, named)
        case "timezone" | "Timezone" | "ZoneInfo" if given and isinstance(given[0], str):
            return given[0]
        case "TaskGroup":
            return placing.group(reader, str(named.get("group_id", given[0] if given else "group")), named)
        case "Mount" if "docker" in function.path:
            return {**dict(zip(("target", "source", "type"), given, strict=False)), **named}
        case "Dataset" | "Asset" | "DatasetAlias" | "AssetAlias" if name := next(
            filter(None, (*given, named.get("uri"), named.get("name"))), None
        ):
            asset = Dataset(str(named.get("name") or named.get("uri") or name), function.name.endswith("Alias"))
            if named.get("watchers"):
                sentence = "start what it starts by a webhook or a WAIT, or update it in a task"
                reader.note(node.lineno, f'nothing watches "{asset.name}" here: {sentence}')
            return asset
        case "AssetAll" if (found := Datasets.of(given)) is not None:
            return found
        case "AssetAny" if (found := Datasets.any_of(given)) is not None:
            return found
        case "DatasetOrTimeSchedule" | "AssetOrTimeSchedule" if isinstance(
            timetable := named.get("timetable", given[0] if given else None), Timetable
        ) and (found := Datasets.of(named.get("datasets", named.get("assets", given[1] if given[1:] else None)))):
            return replace(found, timetable=timetable)
        case "XComArg" if given and isinstance(given[0], Operator):
            return Output(given[0], str(named.get("key", "return_value")))
        case "ParamsDict" if given and isinstance(given[0], dict):
            return given[0]
        case "Param":
            return Parameter(given[0] if given else named.pop("default", None), named)
        case "V1EnvVar" if {"name", "value"} == named.keys():
            return named
        case "Secret" if "kubernetes" in function.path:
            return {**dict(zip(("deploy_type", "deploy_target", "secret", "key"), given, strict=False)), **named}
        case "V1LocalObjectReference" if given:
            return {"name": given[0]}
        case name if name.startswith("V1") and not given and not _unknown(list(named.values())):
            return named
        case "Label" | "EdgeModifier":
            return Label()
        case "MultipleCronTriggerTimetable" if "interval" not in named and given:
            zone = named.get("timezone", "UTC")
            if all(isinstance(each, str) for each in (*given, zone)):
                return Timetable(given[0], zone, intervals=False, others=tuple(given[1:]))
        case "CronTriggerTimetable" | "CronDataIntervalTimetable" if "interval" not in named:
            cron, zone = [*given, named.get("cron")][0], [*given, None, None][1] or named.get("timezone")
            zone = "UTC" if isinstance(zone, Dotted) and zone.name.lower() == "utc" else zone
            if isinstance(cron, str) and (zone is None or isinstance(zone, str)):
                return Timetable(cron, zone, function.name == "CronDataIntervalTimetable")
        case "get" if function.path.endswith("Variable.get") and given and isinstance(given[0], str):
            return variable(
                reader, given[0], named.get("default_var", named.get("default", given[1] if given[1:] else None))
            )
        case "getenv" | "get" if function.path in ("os.getenv", "os.environ.get") and given:
            return variable(reader, str(given[0]), given[1] if given[1:] else None)
        case "chain" | "chain_linear":
            return placing.chained(reader, node, given, is_linear=function.name == "chain_linear")
        case "cross_downstream":
            ends = [named.get("from_tasks"), named.get("to_tasks")]
            before, after = [*given, *(each for each in ends if each is not None), None, None][:2]
            return placing.linked(reader, node, before, after)
        case "dict" if function.path == "dict" and not given:
            return named
        case "is_venv_installed":
            return True
        case "dumps" if function.path == "json.dumps" and given and not set(named) - {"indent", "sort_keys"}:
            return _made(reader, node, json.dumps, given, named)
        case "dedent" if given and isinstance(given[0], str):
            return textwrap.dedent(given[0])
        case "join" if function.path == "os.path.join" and all(isinstance(each, str) for each in given):
            return os.path.join(*given)  # noqa: PTH118 - a path there, not here
        case "Path" | "PurePath" if given and all(isinstance(each, str) for each in given):
            return "/".join(given)
        case "partial" if placing.is_class(function.path.rpartition(".")[0]):
            return Partial(Dotted(function.path.rpartition(".")[0]), named)
        case "range" if all(isinstance(each, int) for each in given) and len(made := range(*given)) <= RANGE_MAX:
            return list(made)
        case name if function.path == name and name in _KNOWN and not _unknown([*given, *named.values()]):
            if name != "str" and any(map(reader.is_told, given)):
                return reader.unknown(node)
            return _made(reader, node, _KNOWN[name], given, named)
    is_near = bool(reader.current) and function.path.endswith(("Operator", "Sensor"))
    is_known = function.path.startswith(("airflow", "astronomer")) or is_near
    if "task_id" in named or (is_known and placing.is_class(function.path)):
        return placing.operator(reader, node, function, named)
    return reader.unknown(node)


def _of_object(reader: Reader, node: ast.Call, holder: Any, name: str) -> Any:
    given, named = _arguments(reader, node)
    match holder, name:
        case (Operator() | Group() | list(), "set_downstream" | "set_upstream"):
            other = next(iter([*given, *named.values()]), None)
            return placing.linked(reader, node, *((holder, other) if name == "set_downstream" else (other, holder)))
        case Operator(), "as_teardown":
            holder.is_teardown = True
            link([each for each in [named.get("setups")] if each is not None], holder)
            return holder
        case Operator(), "as_setup":
            return holder
        case Function(), "override":
            return replace(holder, given={**holder.given, **named})
        case Function(), "partial":
            return replace(holder, partial={**holder.partial, **named})
        case Function(kind="task_group"), "expand" | "expand_kwargs":
            return own_functions.mapped_group(
                reader, node, holder, given[0] if name == "expand_kwargs" and given else named
            )
        case Function(), "expand" | "expand_kwargs":
            over = {"": given[0]} if name == "expand_kwargs" and given else named
            return placing.task(reader, node, holder, dict(holder.partial), over)
        case Partial(), "expand" | "expand_kwargs":
            over = {"": given[0]} if name == "expand_kwargs" and given else named
            if holder.of.name.endswith("PythonOperator") and list(over) == ["op_kwargs"]:
                over = {"": over["op_kwargs"]}
            is_split = holder.of.name == "TriggerDagRunOperator" or list(over) == ["sql"]
            if is_split and (rounds := placing.rounds(holder.given, over)) is not None:
                return [placing.operator(reader, node, holder.of, each) for each in rounds]
            return placing.operator(reader, node, holder.of, dict(holder.given), over)
        case str(), _ if name in _OF_TEXT and not _unknown([*given, *named.values()]):
            if reader.is_told(holder) and not (name == "strip" and not given):
                return reader.unknown(node)
            return _made(reader, node, getattr(holder, name), given, named)
        case dict(), _ if name in _OF_DICT:
            found = _made(reader, node, getattr(holder, name), given, named)
            return list(found) if name in ("items", "keys", "values") else found
        case list(), _ if name in _OF_LIST:
            return _made(reader, node, getattr(holder, name), given, named)
        case datetime(), "strftime" | "isoformat":
            return _made(reader, node, getattr(holder, name), given, named)
        case timedelta(), "total_seconds" if not given and not named:
            return holder.total_seconds()
        case datetime(), "subtract" | "add":
            step = _made(reader, node, timedelta, given, named)
            if isinstance(step, timedelta):
                return holder + step if name == "add" else holder - step
    return reader.unknown(node)


def _made(reader: Reader, node: ast.Call, function: Any, given: list[Any], named: Mapping[str, Any]) -> Any:
    try:
        return function(*given, **named)
    except Exception:  # noqa: BLE001 - whatever its arguments are, they are not known here
        return reader.unknown(node)


def _datetime(reader: Reader, node: ast.Call, given: list[Any], named: dict[str, Any]) -> Any:
    zone = named.pop("tz", named.pop("tzinfo", None))
    if isinstance(zone, Unknown):
        return reader.unknown(node)
    found = _made(reader, node, datetime, given, named)
    if not isinstance(found, datetime):
        return found
    try:
        return found.replace(tzinfo=ZoneInfo(zone) if isinstance(zone, str) else UTC)
    except (ZoneInfoNotFoundError, ValueError):
        return found.replace(tzinfo=UTC)


def _unknown(values: list[Any]) -> bool:
    return any(isinstance(each, Unknown | Operator | Output | Function | Group | Dotted) for each in values)
