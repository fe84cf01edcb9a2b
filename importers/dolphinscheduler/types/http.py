"""HTTP: milliseconds become seconds; parameters, headers and the body keep their places."""

from __future__ import annotations

from typing import Any

from importers.dolphinscheduler.choices import number
from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.flow import Step
from importers.draft import Draft
from importers.ledger import Fields, short
from model.choices import Direct

_ANY_STATUS = "100-599"
_TIMEOUT_MS = 60_000
"""DolphinScheduler's default, of both."""


def http(step: Step, draft: Draft, context: Context) -> None:
    params = step.params
    draft.type = "HTTP"
    method = params.text("httpMethod") or params.text("httpRequestMethod") or "GET"
    made: dict[str, Any] = {"url": params.text("url")}
    if not made["url"]:
        draft.about.todo("url", "it has no url; write one")
    if method.upper() != "GET":
        made["method"] = method.upper()
    _places(params, made, draft)
    if body := params.text("httpBody") or params.text("httpRequestBody"):
        if "body" in made:
            names = ", ".join(made["body"])
            draft.about.todo("httpParams", f"it has a body, and fields of one ({names}); write those into the body")
        made["body"] = body
    _check(params, made, draft)
    _timeouts(params, made, draft)
    context.habits.add("http")
    if named := [
        str(each.get("prop")) for each in params.seen("localParams") if str(each.get("direct")).upper() == Direct.OUT
    ]:
        sentence = f"{', '.join(named)}: HTTP gives status and body; add outputs with a path into the response"
        draft.about.todo("localParams", sentence)
    draft.params = made


def _places(params: Fields, made: dict[str, Any], draft: Draft) -> None:
    names = {"PARAMETER": "query", "BODY": "body", "HEADERS": "headers"}
    for entry in (*params.children("httpParams"), *params.children("httpRequestParams")):
        kind = entry.text("httpParametersType", "PARAMETER").upper()
        place = names.get(kind) or names.get(f"{kind}S")
        name = entry.text("prop")
        if place is None:
            draft.about.todo("httpParams", f'"{name}" stands in {kind}, which is none of parameter, body and headers')
        elif name:
            _put(made.setdefault(place, {}), place, name, entry.text("value"), draft)
        elif entry.has("value"):
            draft.about.lost("httpParams", f"one in its {place} has the value {short(entry.text('value'))} and no name")
        entry.irrelevant("direct", "type")


def _put(fields: dict[str, Any], place: str, name: str, value: str, draft: Draft) -> None:
    """Add a field of a request. Only a query may have several of one name; of others the last one counts."""
    if name in fields and place == "query":
        before = fields[name]
        fields[name] = [*(before if isinstance(before, list) else [before]), value]
        return
    if name in fields:
        draft.about.changed("httpParams", f'"{name}" is twice in its {place}; the last one counts')
    fields[name] = value


def _check(params: Fields, made: dict[str, Any], draft: Draft) -> None:
    check = params.text("httpCheckCondition", "STATUS_CODE_DEFAULT").upper()
    wanted = params.text("condition")
    if check == "STATUS_CODE_DEFAULT":
        made["expected_status"] = [200]
    elif check == "STATUS_CODE_CUSTOM" and wanted.strip().isdecimal():
        made["expected_status"] = [int(wanted)]
    elif check in ("BODY_CONTAINS", "BODY_NOT_CONTAINS") and wanted:
        made |= {"expected_status": [_ANY_STATUS], check.lower(): wanted}
    else:
        draft.about.todo("httpCheckCondition", f"it checks {check} with {wanted!r}; write expected_status")


def _timeouts(params: Fields, made: dict[str, Any], draft: Draft) -> None:
    connect, socket = (number(params, name, draft.about) for name in ("connectTimeout", "socketTimeout"))
    made["connect_timeout_s"] = (connect or _TIMEOUT_MS) / 1_000
    if socket or connect:
        made["timeout_s"] = (socket or connect) / 1_000
    if socket and socket != _TIMEOUT_MS:
        draft.about.changed("socketTimeout", "it was between two packets; timeout_s is for the whole request")
