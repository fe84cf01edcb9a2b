"""Tasks of Airflow that check a database: WAIT tasks by SQL that give up at once.

The statement says 1 or 0. Source: the documentation of Airflow's provider common.sql.
"""

from __future__ import annotations

import math
import re
from typing import Any

from importers.airflow.flow import Args, minutes, shown, span
from importers.airflow.values import Unknown
from model.errors import Refused

KINDS = ("SQLCheckOperator", "SQLValueCheckOperator", "SQLThresholdCheckOperator", "SQLColumnCheckOperator",
         "SQLTableCheckOperator")  # fmt: skip
_MEASURES = {
    "null_check": "SUM(CASE WHEN {0} IS NULL THEN 1 ELSE 0 END)",
    "distinct_check": "COUNT(DISTINCT({0}))",
    "unique_check": "COUNT({0}) - COUNT(DISTINCT({0}))",
    "min": "MIN({0})",
    "max": "MAX({0})",
}
_LIMITS = {"geq_to": (">=", -1), "greater_than": (">", -1), "leq_to": ("<=", 1), "less_than": ("<", 1)}
"""The comparison, and which way a tolerance moves the limit."""
_SELECT = re.compile(r"(?i)\s*select\s")


def check(args: Args) -> None:
    """The check of its kind."""
    made = {
        "SQLCheckOperator": _row,
        "SQLValueCheckOperator": _value,
        "SQLThresholdCheckOperator": _threshold,
        "SQLColumnCheckOperator": _columns,
        "SQLTableCheckOperator": _table,
    }[args.operator.kind](args)
    datasource = args.text("conn_id", "default")
    args.draft.type = "WAIT"
    args.draft.params = {"for": {"sql": {"datasource": datasource, "sql": made}}, "every": "1s", "timeout": "1s"}
    limit = args.number("execution_timeout", 3600) or 3600
    args.draft.params["look_timeout"] = span(limit)
    args.draft.fields.pop("timeout", None)
    args.draft.about.changed("sql", "it looks again a second later before it fails")
    if not args.flag("retry_on_failure", True) and args.draft.fields.pop("retry_times", None):
        args.draft.fields.pop("retry_interval", None)
        args.draft.about.changed(
            "retry_on_failure", f"it has no retries; there an error has them: {minutes(limit)} min"
        )
    args.irrelevant("database", "hook_params", "retry_on_failure", "do_xcom_push")


def _row(args: Args) -> str:
    """All columns of the first row must be true; a WAIT reads one."""
    _one_column(args)
    return _query(args)


def _value(args: Args) -> str:
    wanted, query = args.known("pass_value"), _query(args)
    tolerance = args.number("tolerance")
    _one_column(args)
    number = _number(wanted)
    if number is None:
        if not isinstance(wanted, str):
            raise Refused(f"its pass_value {shown(wanted)} is no number and no text")
        text = args.written("pass_value", wanted).replace("'", "''")
        return _said([f"({query}) = '{text}'"])
    return _said([_equal(f"({query})", number, tolerance)])


def _threshold(args: Args) -> str:
    _one_column(args)
    query, limits = _query(args), []
    for name, comparison in (("min_threshold", ">="), ("max_threshold", "<=")):
        limit = args.known(name)
        number = _number(limit)
        if number is None and not (isinstance(limit, str) and _SELECT.match(limit)):
            raise Refused(f"its {name} {shown(limit)} is no number and no query")
        other = _plain(number) if number is not None else f"({args.written(name, limit).strip().rstrip(';')})"
        limits.append(f"({query}) {comparison} {other}")
    return _said(limits)


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
    query = args.text("sql").strip().rstrip(";")
    if query.endswith(".sql") and " " not in query:
        raise Refused(f"its statement is in the file {query}; write it here, as a WAIT by SQL")
    return query


def _one_column(args: Args) -> None:
    """Refuse what is no query for one column: how many `*` gives is not known, nor what each of several is."""
    query = args.given.get("sql")
    if isinstance(query, Unknown | None):
        raise Refused("its statement is not known before it runs")
    if args.has("parameters"):
        raise Refused("its statement has parameters; write their values into it, as a WAIT by SQL")
    found = _SELECT.match(str(query))
    listed = re.split(r"(?i)\bfrom\b", str(query)[found.end() :], maxsplit=1)[0] if found else "*"
    text = re.sub(r"'[^']*'|\([^()]*\)", "", listed).strip().removesuffix(";")
    while "(" in text and (shorter := re.sub(r"\([^()]*\)", "", text)) != text:
        text = shorter
    if "," in text or re.search(r"(^|[.\s])\*$", text) or "(" in text:
        raise Refused("each column of its first row counts, and a WAIT by SQL looks at the first one; join them by AND")


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
