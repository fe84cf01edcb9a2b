"""What `__type` and `__var` stand for in a serialized DAG: the values that a DAG file would give."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from importers.airflow.values import Dataset, Datasets, Operator, Output, Parameter, Timetable, Unknown

TYPE, VAR = "__type", "__var"
Operators = Mapping[str, Operator]
"""The tasks of the DAG, by id."""
NO_LINE = 0
"""Of what has no lines."""
_RESULT = re.compile(r"\bXComArg\(<(?:Task|Mapped)\(\w+\): ([\w.-]+)>(?:, '([^']+)')?\)")
_ALIASES = ("asset_alias", "dataset_alias", "asset_ref", "asset_name_ref", "asset_uri_ref")


def value_of(given: Any, operators: Operators) -> Any:
    """A value. What has no counterpart in a DAG file, such as a trigger, is `Unknown`."""
    match given:
        case list():
            return [value_of(each, operators) for each in given]
        case {"__type": str(kind)}:
            return _typed(kind, given.get(VAR, given), operators)
        case {"__class": str(), "default": default}:
            return _parameter(given, value_of(default, operators), operators)
        case dict():
            return {str(name): value_of(each, operators) for name, each in given.items()}
        case str() if "XComArg(" in given:
            return _written(given, operators)
    return given


def named_of(given: Any, operators: Operators) -> dict[str, Any]:
    """Parameters by name: a mapping, or from version 2 on a list of pairs."""
    pairs = given.items() if isinstance(given, dict) else given if isinstance(given, list) else ()
    return {str(each[0]): value_of(each[1], operators) for each in pairs if len(each) == 2}


def schedule_of(given: Mapping[str, Any]) -> Any:
    if not isinstance(timetable := given.get("timetable"), dict):
        return value_of(given.get("schedule_interval"), {})
    kind, found = str(timetable.get(TYPE)).rpartition(".")[2], timetable.get(VAR) or {}
    if kind.removesuffix("OrTimeSchedule") in ("Asset", "Dataset"):
        datasets, inner = _datasets(found, given), schedule_of({"timetable": found.get("timetable")})
        if datasets is not None and isinstance(inner, Timetable):
            return replace(datasets, timetable=inner)
    elif kind in ("AssetTriggeredTimetable", "DatasetTriggeredTimetable"):
        if (datasets := _datasets(found, given)) is not None:
            return datasets
    elif kind in ("NullTimetable", "OnceTimetable", "ContinuousTimetable"):
        return {"N": None, "O": "@once", "C": "@continuous"}[kind[0]]
    elif kind in ("CronDataIntervalTimetable", "CronTriggerTimetable"):
        cron, zone = found.get("expression"), found.get("timezone")
        if isinstance(cron, str) and isinstance(zone, str | None) and not found.get("interval"):
            return Timetable(cron, zone, kind == "CronDataIntervalTimetable")
    elif kind in ("DeltaDataIntervalTimetable", "DeltaTriggerTimetable"):
        seconds = found.get("delta")
        if isinstance(seconds, int | float) and not found.get("interval"):
            return timedelta(seconds=seconds)
    return Unknown(f"{kind} {found}", NO_LINE)


def has_intervals(given: Mapping[str, Any], version: int) -> bool:
    """Whether its runs are for the time since the fire before: in Airflow 2 all are, in 3 those of a timetable."""
    timetable = given.get("timetable")
    kind = str(timetable.get(TYPE)) if isinstance(timetable, dict) else ""
    return version == 1 or kind.endswith("DataIntervalTimetable")


def _datasets(timetable: Mapping[str, Any], given: Mapping[str, Any]) -> Datasets | None:
    condition = timetable.get("asset_condition", timetable.get("dataset_condition"))
    if condition is not None:
        return Datasets.of(value_of(condition, {}))
    listed = given.get("dataset_triggers") or []
    return Datasets.of([_dataset(each) if TYPE not in each else value_of(each, {}) for each in listed])


def _dataset(given: Mapping[str, Any]) -> Dataset:
    return Dataset(str(given.get("name") or given.get("uri")))


def _typed(kind: str, given: Any, operators: Operators) -> Any:
    match kind, given:
        case "dict", dict():
            return {str(name): value_of(each, operators) for name, each in given.items()}
        case (("set" | "tuple" | "frozenset"), list()):
            return [value_of(each, operators) for each in given]
        case "datetime", int() | float():
            return datetime.fromtimestamp(given, UTC)
        case "timedelta", int() | float():
            return timedelta(seconds=given)
        case (("timezone" | "k8s.V1Pod"), _):
            return given
        case "param", dict():
            return _parameter(given, value_of(given.get("default"), operators), operators)
        case "arg_not_set", _:
            return None
        case "xcomref", {"task_id": str(id_), "key": key} if id_ in operators:
            return _result(operators[id_], str(key))
        case (("asset" | "dataset"), dict()):
            return _dataset(given)
        case (("asset_any" | "dataset_any" | "asset_all" | "dataset_all"), {"objects": list(parts)}):
            inner = [value_of(each, operators) for each in parts]
            if found := Datasets.of(inner) if kind.endswith("all") else Datasets.any_of(inner):
                return found
        case _ if kind in _ALIASES and isinstance(given, dict):
            return Unknown(f"the {kind} {given.get('name', given.get('uri'))}", NO_LINE)
    return Unknown(f"a value of the type {kind}", NO_LINE)


def _parameter(given: Mapping[str, Any], default: Any, operators: Operators) -> Parameter:
    schema = value_of(given.get("schema"), operators) or {}
    text = given.get("description")
    return Parameter(default, {**schema, **({"description": text} if text else {})})


def _result(of: Operator, key: str) -> Output:
    """A result of a task: of a function it is the part of what it returns."""
    return Output(of, f"return_value.{key}" if of.kind.startswith("@") and key != "return_value" else key)


def _written(text: str, operators: Operators) -> Any:
    """A value that was written as Python prints it, since results of tasks are in it."""
    made = _RESULT.sub(lambda found: f"XComArg({found[1]!r}, {found[2] or 'return_value'!r})", text)
    try:
        return _literal(ast.parse(made, mode="eval").body, operators)
    except (SyntaxError, ValueError, KeyError):
        return Unknown(text, NO_LINE)


def _literal(node: ast.expr, operators: Operators) -> Any:
    match node:
        case ast.Call(ast.Name("XComArg"), [ast.Constant(str(id_)), ast.Constant(str(key))]):
            return _result(operators[id_], key)
        case ast.Tuple(parts) | ast.List(parts):
            return [_literal(each, operators) for each in parts]
        case ast.Dict(keys, values) if None not in keys:
            names = [ast.literal_eval(each) for each in keys if each is not None]
            return dict(zip(names, [_literal(each, operators) for each in values], strict=True))
    return ast.literal_eval(node)
