"""SQL and PROCEDURE: the id of a data source becomes its name, and what was bound as a value stays bound."""

from __future__ import annotations

import re
from typing import Any

from importers.dolphinscheduler.choices import SQL_TYPES, YES_NO, choice, number
from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.flow import Step
from importers.dolphinscheduler.parameters import local_params
from importers.draft import Draft
from importers.ledger import Fields
from importers.table_names import with_names
from model.choices import Direct, ParameterType
from model.parameters.local import LocalParam
from worker.statements.grammar import MYSQL, POSTGRES, SQLITE, STANDARD, Grammar

_DRIVERS = ("MYSQL", "POSTGRESQL", "MARIADB", "SQLITE", "DUCKDB")
"""Databases whose drivers Shoal has, or has an extra for."""
_GRAMMARS = {"POSTGRESQL": POSTGRES, "SQLITE": SQLITE, "DUCKDB": POSTGRES, "ORACLE": STANDARD, "SQLSERVER": STANDARD}
"""Of others, most of which take text in double quotes, that of MySQL."""
LIMIT_MAX = 100_000
LIMIT_UNSAID = 10_000
"""Rows that DolphinScheduler reads where it says no limit."""
ROWS_SHOWN_MAX = 1_000
_CALL = re.compile(r"\s*\{?\s*call\s+([\w.$]+)\s*(?:\((.*)\))?\s*\}?\s*;?\s*", re.IGNORECASE | re.DOTALL)


def sql(step: Step, draft: Draft, context: Context) -> None:
    params = step.params
    draft.type = "SQL"
    made: dict[str, Any] = {
        "datasource": data_source(params, draft, context),
        "type": choice(params, "sqlType", SQL_TYPES, "QUERY", draft.about),
        "sql": params.text("sql"),
    }
    if params.has("sqlResource"):
        draft.about.todo("sqlResource", f"its statements are in the file {params.text('sqlResource')}; write them here")
    elif not made["sql"].strip():
        draft.about.todo("sql", "it has no statement; write one, or remove the task")
    params.irrelevant("sqlSource")
    for name, ours in (("preStatements", "pre_statements"), ("postStatements", "post_statements")):
        if statements := [str(each) for each in params.listed(name) if str(each).strip()]:
            made[ours] = statements
            context.habits.add("sql_transaction")
    if (limit := number(params, "limit", draft.about)) and 1 <= limit <= LIMIT_MAX:
        made["limit"] = int(limit)
    elif limit:
        draft.about.changed("limit", f"the limit was {limit:g} rows; it is {LIMIT_MAX:,}")
        made["limit"] = LIMIT_MAX
    _separator(params, made, draft)
    _name_names(made, _GRAMMARS.get(params.text("type").upper(), MYSQL), draft)
    _mail(params, made, draft, context)
    _outputs(params, made, draft, context)
    for name in ("udfs", "connParams"):
        if params.has(name):
            draft.about.lost(name, f"{name} have no counterpart; say them in the URL of the data source")
            params.reported(name)
    draft.params = made


def procedure(step: Step, draft: Draft, context: Context) -> None:
    """PROCEDURE: `{call p(?, ${a})}`, its arguments by place and by name."""
    params = step.params
    draft.type = "PROCEDURE"
    method = params.text("method")
    source = data_source(params, draft, context)
    listed = local_params(params, draft, context)
    found = _CALL.fullmatch(method)
    if found is None:
        draft.cannot(f"it calls {method[:100]!r}, which is no plain call; write a SQL task", {"method": method})
        return
    arguments, unnamed = [], list(listed)
    for written in _split(found[2] or ""):
        if (argument := _argument(written, unnamed, listed)) is None:
            draft.about.todo("method", f"the argument {written} has no parameter; write it")
        else:
            arguments.append(argument)
    draft.params = {"datasource": source, "name": found[1], **({"arguments": arguments} if arguments else {})}


def data_source(params: Fields, draft: Draft, context: Context, field: str = "datasource") -> str:
    """The name of a data source; a placeholder until a person has given it."""
    kind = params.text("type").upper()
    if kind and kind not in _DRIVERS:
        sentence = f"{kind} needs a dialect of SQLAlchemy that is installed on the workers"
        draft.about.changed("type", sentence)
    id_ = params.text(field)
    if name := params.text(f"{field}Name"):
        return name
    if not id_:
        draft.about.todo(field, "it names no data source; write one")
        return "TODO"
    return context.ask("datasources", id_, draft, kind) or f"TODO data source {id_}"


def _name_names(made: dict[str, Any], grammar: Grammar, draft: Draft) -> None:
    """Write `!{x}` where the name of a table or column is meant: `${x}` is bound as a value."""
    for field in ("sql", "pre_statements", "post_statements"):
        given = made.get(field, [])
        listed = [with_names(each, grammar) for each in (given if isinstance(given, list) else [given])]
        if listed != (given if isinstance(given, list) else [given]):
            made[field] = listed if isinstance(given, list) else listed[0]
            draft.about.changed(field, "where ${name} names a table or column, it is !{name} now")


def _separator(params: Fields, made: dict[str, Any], draft: Draft) -> None:
    separator = params.text("segmentSeparator")
    if separator and separator != ";":
        made["sql"] = [part for each in made["sql"].split(separator) if (part := each.strip())]
        draft.about.changed("segmentSeparator", f'it was divided at "{separator}"; now it is a list of statements')


def _mail(params: Fields, made: dict[str, Any], draft: Draft, context: Context) -> None:
    """What is sent of its rows, and to whom."""
    field = "sendEmail" if params.has("sendEmail") else "sendAlert"  # as later versions call it
    unsaid = "YES" if params.has("receivers") and not params.has(field) else "NO"  # version 1 always sends
    sends = choice(params, field, YES_NO, unsaid, draft.about) == "YES"
    rows = number(params, "displayRows", draft.about, 10)
    title, group = params.text("title"), params.text("groupId")
    receivers = [params.text(name) for name in ("receivers", "receiversCc") if params.has(name)]
    show = params.text("showType")
    if not sends or made["type"] == "NON_QUERY":  # which has no rows; DolphinScheduler sends nothing either
        return
    if receivers:
        sentence = f"it is sent to {', '.join(receivers)}; make an alert group of them, and name that in alert_group"
        draft.about.todo("receivers", sentence)
    elif group in ("", "0"):
        draft.about.todo("groupId", "its rows are sent to a group that is not named; write alert_group")
    elif (name := context.ask("alert_groups", group, draft)) is not None:
        made["alert_group"] = name
        if title:
            made["title"] = title
        if rows and rows != 10:
            made["display_rows"] = max(1, min(int(rows), ROWS_SHOWN_MAX))
    if "ATTACHMENT" in show.upper():
        draft.about.lost("showType", "its rows are sent as a table in the message, never as a file")


def _outputs(params: Fields, made: dict[str, Any], draft: Draft, context: Context) -> None:
    local = params.seen("localParams")
    out = [str(each.get("type", "")).upper() for each in local if str(each.get("direct")).upper() == Direct.OUT]
    if not out and made["type"] != "NON_QUERY":
        context.habits.add("sql_outputs")
    if out and made["type"] == "NON_QUERY":
        sentence = "its OUT was the number of changed rows; NON_QUERY gives no value here: write what others need of it"
        draft.about.todo("localParams", sentence)
    elif out and all(type_ == ParameterType.LIST for type_ in out):
        made |= {"as_list": True, "limit": made.get("limit", LIMIT_UNSAID)}
    elif ParameterType.LIST in out:
        draft.about.todo("localParams", "some of its OUT are LIST and some not; here all columns are lists, or none")
    elif out:
        context.habits.add("sql_first_row")


def _argument(written: str, unnamed: list[LocalParam], listed: list[LocalParam]) -> dict[str, str] | None:
    if written == "?":
        return _of_param(unnamed.pop(0)) if unnamed else None
    if named := re.fullmatch(r"\$\{([\w.]+)\}", written):
        param = next((each for each in listed if each.name == named[1]), None)
        if param in unnamed:
            unnamed.remove(param)
        return _of_param(param) if param is not None else {"value": written}
    if text := re.fullmatch(r"'([^']*)'", written):
        return {"value": text[1]}
    return {"type": "DOUBLE" if "." in written else "INTEGER", "value": written} if _is_number(written) else None


def _of_param(param: LocalParam) -> dict[str, str]:
    kind = {} if param.type in (ParameterType.VARCHAR, ParameterType.LIST) else {"type": str(param.type)}
    if param.direct is Direct.OUT:
        return {"direct": "OUT", "name": param.name, **kind}
    return {**kind, "value": f"${{{param.name}}}"}


def _split(arguments: str) -> list[str]:
    """At the commas outside of quotes."""
    found = re.findall(r"(?:'[^']*'|[^,'])+", arguments)
    return [each for part in found if (each := part.strip())]


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None
