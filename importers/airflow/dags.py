"""What a DAG says of itself: its schedule, its limits, its parameters."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from importers.airflow import schedules, unheeded
from importers.airflow.flow import Flow, minutes, shown
from importers.airflow.templates import parameter_name
from importers.airflow.values import Parameter, Unknown

_TYPES = {
    "string": "VARCHAR",
    "integer": "INTEGER",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "array": "LIST",
    "object": "JSON",
}
_HEEDED = (*schedules.SCHEDULES, "tags", "start_date", "end_date", "catchup", "max_active_runs", "max_active_tasks",
           "dagrun_timeout", "dag_id", "default_view", "orientation", "template_searchpath",
           "render_template_as_native_obj", "jinja_environment_kwargs", "fileloc", "access_control", "owner_links",
           "auto_register", "fail_stop", "fail_fast", "dag_display_name", "params", "default_args", "concurrency",
           "is_paused_upon_creation", "full_filepath", "group_id", "doc_md", "description")  # fmt: skip
"""Arguments that are read, or say nothing of what runs."""
DESCRIPTION_MAX = 1_000


def convert(flow: Flow, *, is_third: bool, online: bool) -> None:
    dag, about, fields = flow.dag, flow.about, flow.fields
    given = dag.given
    texts = [_text(given.get("description")), _text(given.get("doc_md")), dag.doc]
    if text := "\n\n".join(dict.fromkeys(each.strip() for each in texts if each.strip())):
        fields["description"] = text[:DESCRIPTION_MAX]
        if len(text) > DESCRIPTION_MAX:
            about.lost("doc_md", f"what its description has beyond {DESCRIPTION_MAX} characters")
    given_tags = given.get("tags") or []
    tags = list(given_tags) if isinstance(given_tags, list | tuple) else [given_tags]
    if known_tags := [each.strip() for each in tags if isinstance(each, str)]:
        fields["tags"] = list(dict.fromkeys(known_tags))
    if len(known_tags) < len(tags):
        about.lost("tags", f"not all of its tags are known: {shown(tags)}")
    if (zone := schedules.zone_of(dag)) != "UTC":
        fields["time_zone"] = zone
    _limits(flow)
    schedules.convert(flow, is_third=is_third, online=online)
    _params(flow)
    _defaults(flow)
    for name, value in given.items():
        if name in _HEEDED or value in (None, False, [], {}):
            continue
        if name.startswith("**"):
            about.todo(name, f"line {dag.line}: what {name} gives is not known")
        elif name.endswith("_callback") or name.startswith("sla"):
            about.changed(name, "its callback is not called; alert rules tell of runs: shoal alert rule set")
        elif name in ("user_defined_macros", "user_defined_filters"):
            named = ", ".join(value) if isinstance(value, dict) else shown(value)
            about.changed(name, f"its own {name.removeprefix('user_defined_')} are not known: {named}")
        else:
            about.lost(name, f"{name} = {shown(value)} has no counterpart")
    for line, sentence in dict.fromkeys(dag.notes):
        about.todo("", f"line {line}: {sentence}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _limits(flow: Flow) -> None:
    given, fields, about = flow.dag.given, flow.fields, flow.about
    active = given.get("max_active_runs")
    if isinstance(active, int) and not isinstance(active, bool):
        fields["execution_type"] = "SERIAL_WAIT"
        if active > 1:
            fields["max_active"] = active
    elif isinstance(active, Unknown):
        about.todo("max_active_runs", f"line {active.line}: {active.text} is not known; write max_active")
    if isinstance(limit := given.get("dagrun_timeout"), timedelta):
        fields["timeout_minutes"] = minutes(limit.total_seconds())
        fields["timeout_strategy"] = "FAILED"
    if True in (given.get("fail_stop"), given.get("fail_fast")):
        fields["failure_strategy"] = "END"
    for name in ("max_active_tasks", "concurrency"):
        if given.get(name) is not None:
            about.changed(name, "how many of its tasks run at once is not limited; give them a pool")


def _params(flow: Flow) -> None:
    given = flow.dag.given.get("params")
    if isinstance(given, Unknown):
        flow.about.todo("params", f"line {given.line}: its params {given.text} are not known")
        return
    for name, value in (given or {}).items() if isinstance(given, dict) else ():
        default = value.default if isinstance(value, Parameter) else value
        if (called := parameter_name(str(name))) != name:
            flow.about.changed("params", f'the parameter "{name}" is called {called}, which ${{...}} can hold')
        if isinstance(default, Unknown):
            sentence = (
                f'line {default.line}: the default of "{name}", {default.text}, is not known; a start must give it'
            )
            flow.about.changed("params", sentence)
        flow.params[called] = declaration_of(value)
        if isinstance(value, Parameter) and _is_none(value) and value.schema.keys() & {"enum", "minimum", "maximum"}:
            flow.about.changed("params", f'the values of "{name}" are not checked, since it may be None')


def declaration_of(value: Any) -> Any:
    """A parameter as it is declared here."""
    if not isinstance(value, Parameter):
        return {"type": "VARCHAR", "required": True} if isinstance(value, Unknown) else declared_of(value)
    kind = value.schema.get("type")
    first = next((each for each in (kind if isinstance(kind, list) else [kind]) if each != "null"), None)
    declared: dict[str, Any] = {"type": _TYPES.get(str(first), _type_of(value.default))}
    if isinstance(value.default, Unknown):
        declared["required"] = True
    elif value.default is not None:
        declared["value"] = _written(value.default)
    elif _is_none(value):  # no value of another type stands for it
        said = value.schema.get("description")
        return {"type": "VARCHAR", "value": "", **({"description": said} if isinstance(said, str) else {})}
    else:
        declared["required"] = True
    for own, there in (("enum", "enum"), ("min", "minimum"), ("max", "maximum"), ("description", "description")):
        if (limit := value.schema.get(there)) is not None and not isinstance(limit, Unknown):
            declared[own] = limit
    return declared


def _is_none(given: Parameter) -> bool:
    """Whether it is None unless a start gives it."""
    kind = given.schema.get("type")
    return given.default is None and isinstance(kind, list) and "null" in kind


def declared_of(value: Any) -> Any:
    """A parameter with this value; it has a type where functions would get a text in place of the value."""
    kind = _type_of(value)
    return _written(value) if kind == "VARCHAR" else {"type": kind, "value": _written(value)}


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    return "JSON" if isinstance(value, dict) else "LIST" if isinstance(value, list | tuple) else "VARCHAR"


def _written(value: Any) -> Any:
    return (
        json.dumps(shown(value))
        if isinstance(value, dict | list | tuple)
        else ""
        if value is None
        else str(shown(value))
    )


def _defaults(flow: Flow) -> None:
    """Of what `default_args` say of people and alerts, once."""
    defaults = flow.dag.given.get("default_args")
    if isinstance(defaults, Unknown):
        flow.about.todo("default_args", f"line {defaults.line}: default_args {defaults.text} are not known")
        return
    known = defaults if isinstance(defaults, dict) else {}
    for name, value in known.items():
        if (sentence := unheeded.of_defaults(name, value, unheeded.is_mailed(known))) is not None:
            flow.about.changed(name, sentence)
        elif name in ("depends_on_past", "wait_for_downstream") and value not in (None, False):
            flow.fields["after_last"] = "succeeded"
            flow.about.changed(name, "a run waits for the success of the one before it as a whole, by after_last")
