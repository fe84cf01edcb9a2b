"""Formats one or several alerts as a message: subject, text, and HTML for mails. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any
from urllib.parse import urlencode

from dao.alerts.deliveries import WaitingAlert
from model.alerts.templates import FACT, filled
from model.errors import Refused

SUBJECT_LENGTH_MAX = 250
TEXT_LENGTH_MAX = 1_000_000
FACT_LENGTH_MAX = 20_000
SENDS_ALONE = frozenset({"SQL_RESULT"})
"""Kinds that are never merged: their content matters, and a list of subjects would lose it."""

_SEVERITIES = {"INFO": "info", "WARNING": "warning", "CRITICAL": "failure"}
_TABLE = ("columns", "rows", "total")
"""Facts with the result of a SQL task."""

_ORDER = ("CRITICAL", "WARNING", "INFO")


@dataclass(frozen=True)
class Message:
    """A message. `html` is empty if `text` says the same. `fault`: why the channel's template was not used."""

    subject: str
    text: str
    html: str
    severity: str
    fault: str | None = None


def next_message(alerts: Sequence[WaitingAlert], group_from: int) -> Sequence[WaitingAlert]:
    """The alerts of the next message, from the waiting ones, oldest first: one, or all before one that goes alone.

    `group_from`: this many are merged; fewer are sent one by one.
    """
    together = 0
    while together < len(alerts) and alerts[together].kind not in SENDS_ALONE:
        together += 1
    return alerts[:together] if together >= max(2, group_from) else alerts[:1]


def message_of(
    alerts: Sequence[WaitingAlert],
    subject_template: str | None = None,
    text_template: str | None = None,
    *,
    page: str | None = None,
) -> Message:
    """The message for these alerts. A faulty template is not used, and the message says so.

    `page`: the URL of the web page, for links.
    """
    if page is not None:
        alerts = [_with_link(alert, page.rstrip("/")) for alert in alerts]
    usual = _single(alerts[0]) if len(alerts) == 1 else _many(alerts)
    if subject_template is None and text_template is None:
        return usual
    values = _values(alerts, usual)
    try:
        subject = usual.subject
        if subject_template is not None:
            subject = _line(filled(subject_template, values, "the channel's subject_template"))
        text = usual.text if text_template is None else filled(text_template, values, "the channel's text_template")
    except Refused as error:
        text = _cut(f"{usual.text}\n\n({error}; so this is the usual text.)", TEXT_LENGTH_MAX)
        return Message(usual.subject, text, usual.html, usual.severity, str(error))
    html = usual.html if text_template is None else ""
    return Message(subject or usual.subject, _cut(text, TEXT_LENGTH_MAX) or usual.text, html, usual.severity)


def _with_link(alert: WaitingAlert, page: str) -> WaitingAlert:
    """The alert with the fact `link`: its run on the page, with the task and attempt selected."""
    if alert.run is None:
        return alert
    task = alert.facts.get("task")
    # The page reads the value as JSON, and a task may be called 42.
    chosen = {"task": json.dumps(task, ensure_ascii=False)} if task else {}
    if alert.task is not None:
        chosen["attempt"] = str(alert.task)
    selected = f"?{urlencode(chosen)}" if chosen else ""
    return replace(alert, facts={**alert.facts, "link": f"{page}/runs/{alert.run}{selected}"})


def _single(alert: WaitingAlert) -> Message:
    subject = _line(f"[Shoal] {alert.subject}")
    lines = [f"{name}: {value}" for name, value in _facts(alert)]
    if alert.kind in SENDS_ALONE and (table := _table(alert.facts)) is not None:
        head = f"{alert.subject}\n\n" + "\n".join(lines)
        text = f"{head}\n\n{_text_table(table)}"
        return Message(subject, _cut(text, TEXT_LENGTH_MAX), _html(alert, lines, table), _severity(alert))
    text = "\n".join([alert.subject, "", *lines])
    return Message(subject, _cut(text, TEXT_LENGTH_MAX), "", _severity(alert))


def _many(alerts: Sequence[WaitingAlert]) -> Message:
    worst = min(alerts, key=lambda each: _ORDER.index(each.severity))
    began, ended = alerts[0].created_at, alerts[-1].created_at
    subject = _line(f"[Shoal] {len(alerts)} alerts, the first: {alerts[0].subject}")
    lines = [
        f"{each.created_at:%F %T} {each.severity} {_line(each.subject)} (alert {each.id})"
        + (f" {each.facts['link']}" if "link" in each.facts else "")
        for each in alerts
    ]
    head = f"{len(alerts)} alerts waited for this channel, from {began:%F %T} to {ended:%F %T} UTC:"
    return Message(subject, _cut("\n".join([head, "", *lines]), TEXT_LENGTH_MAX), "", _severity(worst))


def _severity(alert: WaitingAlert) -> str:
    is_good = alert.kind == "RECOVERED" or (alert.kind == "RUN_ENDED" and alert.severity == "INFO")
    return "success" if is_good else _SEVERITIES[alert.severity]


def _facts(alert: WaitingAlert) -> Iterator[tuple[str, str]]:
    known = {
        "project": alert.project,
        "workflow": alert.workflow,
        "run": alert.run,
        "task": alert.facts.get("task", alert.task),
    }
    yield from ((name, _value(value)) for name, value in known.items() if value is not None)
    for name, value in alert.facts.items():
        if name not in known and name not in _TABLE and value is not None:
            yield _line(name), _value(value)
    yield "severity", alert.severity
    yield "at", f"{alert.created_at:%F %T} UTC"
    yield "alert", str(alert.id)


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _cut(text, FACT_LENGTH_MAX)


def _values(alerts: Sequence[WaitingAlert], usual: Message) -> Mapping[str, str]:
    first = alerts[0]
    facts = dict(_facts(first)) if len(alerts) == 1 else {}
    return {
        "subject": first.subject if len(alerts) == 1 else usual.subject.removeprefix("[Shoal] "),
        "severity": first.severity,
        "kind": first.kind,
        "project": first.project or "",
        "workflow": first.workflow or "",
        "run": str(first.run or ""),
        "task": facts.get("task", ""),
        "alert": str(first.id),
        "at": f"{first.created_at:%F %T} UTC",
        "facts": "\n".join(f"{name}: {value}" for name, value in facts.items()),
        "text": usual.text,
        **{f"{FACT}{name}": value for name, value in facts.items()},
    }


@dataclass(frozen=True)
class _Table:
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    total: int


def _table(facts: Mapping[str, Any]) -> _Table | None:
    """The result of a SQL task; None if the facts have none, as in an alert inserted by SQL."""
    columns, rows = facts.get("columns"), facts.get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        return None
    shown = [[("NULL" if cell is None else _value(cell)) for cell in row[: len(columns)]] for row in rows]
    width = len(columns)
    total = facts.get("total")
    return _Table(
        [_value(each) for each in columns],
        [row + [""] * (width - len(row)) for row in shown],
        total if isinstance(total, int) and not isinstance(total, bool) else len(rows),
    )


def _count(table: _Table) -> str:
    total = "1 row" if table.total == 1 else f"{table.total} rows"
    return f"{total}, the first {len(table.rows)} shown" if table.total > len(table.rows) else total


def _text_table(table: _Table) -> str:
    lines = ["\t".join(map(_line, row)) for row in [table.columns, *table.rows]]
    return "\n".join([*lines, f"({_count(table)})"])


def _html(alert: WaitingAlert, lines: Sequence[str], table: _Table) -> str:
    cell = 'style="border:1px solid #bbb;padding:2px 8px;text-align:left"'
    head = "".join(f"<th {cell}>{escape(each)}</th>" for each in table.columns)
    body = "".join("<tr>" + "".join(f"<td {cell}>{escape(each)}</td>" for each in row) + "</tr>" for row in table.rows)
    return (
        f"<p><b>{escape(alert.subject)}</b></p>"
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f"<p>{escape(_count(table))}</p><p>{'<br>'.join(map(escape, lines))}</p>"
    )


def _line(text: str) -> str:
    shown = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return _cut(shown, SUBJECT_LENGTH_MAX)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 2]} …"
