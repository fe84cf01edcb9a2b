"""Tasks of Airflow that check a database: WAIT tasks by SQL that give up at once.

The statement says 1 or 0. Source: the documentation of Airflow's provider common.sql.
"""

from __future__ import annotations

import math
import re
from typing import Any

from importers.airflow import branches
from importers.airflow.flow import Args, minutes, shown, span
from importers.airflow.select_lists import query_of
from importers.airflow.values import Unknown
from model.errors import Refused

KINDS = ("SQLCheckOperator", "SQLValueCheckOperator", "SQLThresholdCheckOperator", "SQLColumnCheckOperator",
         "SQLTableCheckOperator", "SQLIntervalCheckOperator")  # fmt: skip
_MEASURES = {
    "null_check": "SUM(CASE WHEN {0} IS NULL THEN 1 ELSE 0 END)",
    "distinct_check": "COUNT(DISTINCT({0}))",
    "unique_check": "COUNT({0}) - COUNT(DISTINCT({0}))",
    "min": "MIN({0})",
    "max": "MAX({0})",
}
_LIMITS = {"geq_to": (">=", -1), "greater_than": (">", -1), "leq_to": ("<=", 1), "less_than": ("<", 1)}
"""The comparison, and which way a tolerance moves the limit."""
_QUERY = re.compile(r"(?i)\s*(select|with)\s")
_IS_CONDITION = re.compile(r"(?i)[<>=]|\b(is|between|like|in|exists|not)\b")
_IS_NUMBER = re.compile(r"(?i)(count|sum|avg)\s*\([^()]*(\([^()]*\)[^()]*)*\)")


def check(args: Args) -> None:
    """The check of its kind."""
    made = {
        "SQLCheckOperator": _row,
        "SQLValueCheckOperator": _value,
        "SQLThresholdCheckOperator": _threshold,
        "SQLColumnCheckOperator": _columns,
        "SQLTableCheckOperator": _table,
        "SQLIntervalCheckOperator": _interval,
    }[args.operator.kind](args)
    datasource = args.text("conn_id", "default")
    args.draft.type = "WAIT"
    args.draft.params = {"for": {"sql": {"datasource": datasource, "sql": made}}, "every": "1s", "timeout": "1s"}
    limit = args.number("execution_timeout", 3600) or 3600
    args.draft.params["look_timeout"] = span(limit)
    args.draft.fields.pop("timeout", None)
    args.changed("sql", "it looks again a second later before it fails")
    if not args.flag("retry_on_failure", True) and args.draft.fields.pop("retry_times", None):
        args.draft.fields.pop("retry_interval", None)
        args.changed("retry_on_failure", f"it has no retries; there an error has them: {minutes(limit)} min")
    args.irrelevant("database", "hook_params", "retry_on_failure", "do_xcom_push")


def branch(args: Args) -> None:
    """A query chooses: its result is 1 or 0, and a SWITCH follows it."""
    parts = query_of(_query(args))
    first = _true(parts.columns[0])
    result = parts.of(f"CASE WHEN {first} THEN 1 WHEN NOT ({first}) THEN 0 END AS follows")
    args.draft.type = "SQL"
    args.draft.params = {"datasource": args.text("conn_id", "default"), "sql": result}
    follows = f"${{{args.draft.name}.follows}}"
    branches.gate(args, [
        {"when": f"{follows} == {number}", "then": after}
        for number, after in zip((1, 0), branches.followed(args), strict=True) if after
    ])  # fmt: skip
    args.irrelevant("database", "hook_params")


def _row(args: Args) -> str:
    """All columns of the first row must be true; a WAIT reads one."""
    query = _query(args)
    parts = query_of(query)
    if len(parts.columns) == 1:
        return query
    return parts.of(f"CASE WHEN {' AND '.join(map(_true, parts.columns))} THEN 1 ELSE 0 END")


def _true(column: str) -> str:
    """A column as a condition. Raises `Refused` where its type, which decides, is not known."""
    if _IS_CONDITION.search(re.sub(r"'[^']*'|\([^()]*\)", "", column)):
        return f"({column})"
    if _IS_NUMBER.fullmatch(column):
        return f"({column}) <> 0"
    raise Refused(f"whether {column} is a number or a condition is not known; compare it with what it is to be")


def _value(args: Args) -> str:
    wanted, query = args.known("pass_value"), _query(args)
    tolerance = args.number("tolerance")
    number = _number(wanted)
    if number is None and not isinstance(wanted, str):
        raise Refused(f"its pass_value {shown(wanted)} is no number and no text")
    text = args.written("pass_value", wanted).replace("'", "''")

    def met(column: str) -> str:
        return f"({column}) = '{text}'" if number is None else _equal(f"({column})", number, tolerance)

    parts = query_of(query)
    if len(parts.columns) == 1:
        return _said([met(query)])
    return parts.of(f"CASE WHEN {' AND '.join(map(met, parts.columns))} THEN 1 ELSE 0 END")


def _threshold(args: Args) -> str:
    """Of its first row the first column counts."""
    query, limits = _first(_query(args)), []
    for name, comparison in (("min_threshold", ">="), ("max_threshold", "<=")):
        limit = args.known(name)
        number = _number(limit)
        if number is None and not (isinstance(limit, str) and _QUERY.match(limit)):
            raise Refused(f"its {name} {shown(limit)} is no number and no query")
        other = _plain(number) if number is not None else f"({_first(args.written(name, limit).strip().rstrip(';'))})"
        limits.append(f"({query}) {comparison} {other}")
    return _said(limits)


def _first(query: str) -> str:
    parts = query_of(query)
    return query if len(parts.columns) == 1 else parts.of(parts.columns[0])


def _interval(args: Args) -> str:
    """Each metric of the day beside that of an earlier one; where either is 0, `ignore_zero` says what holds."""
    table, column = args.text("table"), args.text("date_filter_column", "ds")
    back = -abs(int(args.number("days_back", -7) or 0))
    formula = args.text("ratio_formula", "max_over_min")
    ratio = {
        "max_over_min": "CASE WHEN now_ > then_ THEN now_ * 1.0 / then_ ELSE then_ * 1.0 / now_ END",
        "relative_diff": "ABS(now_ - then_) * 1.0 / then_",
    }.get(formula)
    if ratio is None:
        raise Refused(f"its ratio_formula {formula} is not known")
    of_zero = int(args.flag("ignore_zero", True))
    day, earlier = (args.written("days_back", f"{{{{ {each} }}}}") for each in ("ds", f"macros.ds_add(ds, {back})"))
    found = []
    for metric, limit in _pairs(args.known("metrics_thresholds"), "metrics_thresholds"):
        if (number := _number(limit)) is None or "(" not in metric:
            raise Refused(f"its metric {metric} with {shown(limit)} is no aggregate with a number")
        both = ", ".join(
            f"(SELECT {metric} FROM {table} WHERE {column} = '{on}') AS {name}"
            for name, on in (("now_", day), ("then_", earlier))
        )
        met = f"WHEN now_ = 0 OR then_ = 0 THEN {of_zero} WHEN {ratio} < {_plain(number)} THEN 1 ELSE 0"
        found.append(f"(SELECT CASE {met} END FROM (SELECT {both}) AS days_) = 1")
    return _said(found)


def _columns(args: Args) -> str:
    table, whole, given = args.text("table"), args.text("partition_clause"), args.known("column_mapping")
    found = []
    for column, checks in _pairs(given, "column_mapping"):
        for name, check_ in _pairs(checks, "column_mapping"):
            if name not in _MEASURES:
                raise Refused(f"its check {name} is not known")
            limits = dict(_pairs(check_, "column_mapping"))
            where = _where(args, whole, limits.pop("partition_clause", None))
            measure = f"(SELECT {_MEASURES[name].format(column)} FROM {table}{where})"
            if args.flag("accept_none", True):
                measure = f"COALESCE({measure}, 0)"
            tolerance = _number(limits.pop("tolerance", None))
            found += [_limit(measure, limit, _number(value), tolerance) for limit, value in limits.items()]
    return _said(found)


def _table(args: Args) -> str:
    table, whole = args.text("table"), args.text("partition_clause")
    parts = []
    for _, check_ in _pairs(args.known("checks"), "checks"):
        fields = dict(_pairs(check_, "checks"))
        if not isinstance(statement := fields.get("check_statement"), str):
            raise Refused("its check_statement is no text")
        where = _where(args, whole, fields.get("partition_clause"))
        said = args.written("checks", statement)
        parts.append(f"SELECT CASE WHEN {said} THEN 1 ELSE 0 END AS is_met FROM {table}{where}")
    if not parts:
        raise Refused("it has no checks")
    listed = "\nUNION ALL\n".join(f"SELECT COALESCE(MIN(is_met), 0) AS is_met FROM ({each}) AS rows_" for each in parts)
    return f"SELECT MIN(is_met) FROM (\n{listed}\n) AS checks"


def _where(args: Args, whole: str, own: Any) -> str:
    clauses = [each for each in (whole, args.written("partition_clause", own) if own else "") if each]
    return f" WHERE {' AND '.join(clauses)}" if clauses else ""


def _limit(measure: str, name: str, limit: float | None, tolerance: float | None) -> str:
    if limit is None or (name != "equal_to" and name not in _LIMITS):
        raise Refused(f"its check {name} is not known")
    if name == "equal_to":
        return _equal(measure, limit, tolerance)
    comparison, way = _LIMITS[name]
    return f"{measure} {comparison} {_plain(limit * (1 + way * (tolerance or 0)))}"


def _equal(measure: str, number: float, tolerance: float | None) -> str:
    if tolerance is None:
        return f"{measure} = {_plain(number)}"
    return f"{measure} BETWEEN {_plain(number * (1 - tolerance))} AND {_plain(number * (1 + tolerance))}"


def _said(conditions: list[str]) -> str:
    if not conditions:
        raise Refused("it checks nothing")
    listed = "\n  AND ".join(conditions)
    return f"SELECT CASE WHEN {listed} THEN 1 ELSE 0 END"


def _query(args: Args) -> str:
    if isinstance(args.given.get("sql"), Unknown | None):
        raise Refused("its statement is not known before it runs")
    if args.has("parameters"):
        raise Refused("its statement has parameters; write their values into it, as a WAIT by SQL")
    query = args.text("sql").strip().rstrip(";")
    if query.endswith(".sql") and " " not in query:
        raise Refused(f"its statement is in the file {query}; write it here, as a WAIT by SQL")
    return query


def _pairs(given: Any, name: str) -> list[tuple[str, Any]]:
    if not isinstance(given, dict):
        raise Refused(f"its {name} is no mapping that is known")
    return [(str(key), value) for key, value in given.items()]


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (OverflowError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(round(number, 12))
