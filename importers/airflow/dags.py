"""What a DAG says of itself: its schedule, its limits, its parameters."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import available_timezones

from importers.airflow import unheeded
from importers.airflow.flow import Flow, minutes, shown
from importers.airflow.values import Dag, Dataset, Parameter, Timetable, Unknown
from model.errors import Refused
from model.time.cron import Cron

_PRESETS = {"@quarterly": "0 0 1 */3 *", "@annually": "@yearly", "@midnight": "@daily"}
_TYPES = {
    "string": "VARCHAR",
    "integer": "INTEGER",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "array": "LIST",
    "object": "JSON",
}
_SCHEDULES = ("schedule", "schedule_interval", "timetable")
_IRRELEVANT = ("dag_id", "default_view", "orientation", "template_searchpath", "render_template_as_native_obj",
               "jinja_environment_kwargs",
               "fileloc", "access_control", "owner_links", "auto_register", "fail_stop", "fail_fast",
               "dag_display_name", "params",
               "default_args", "is_paused_upon_creation", "concurrency", "full_filepath", "group_id", "doc_md",
               "description")  # fmt: skip
NOBODY = object()
DESCRIPTION_MAX = 1_000


def schedule_of(dag: Dag) -> Any:
    """What its schedule is given as; `NOBODY` if nothing is."""
    return next((dag.given[name] for name in _SCHEDULES if name in dag.given), NOBODY)


def zone_of(dag: Dag) -> str:
    """The zone of its start date, in which its cron expression counts."""
    start = _start_of(dag)
    timetable = schedule_of(dag)
    if isinstance(timetable, Timetable) and timetable.zone:
        return timetable.zone
    if isinstance(start, Unknown):
        named = re.findall(r"""['"](\w+/[\w/]+)['"]""", start.text)
        return next((each for each in named if each in available_timezones()), "UTC")
    return str(getattr(start.tzinfo, "key", "UTC")) if isinstance(start, datetime) and start.tzinfo else "UTC"


def has_intervals(dag: Dag, *, is_third: bool) -> bool:
    """Whether its runs are for the time since the fire before; in Airflow 3 only those of a timetable can be."""
    found = schedule_of(dag)
    if isinstance(found, Timetable):
        return found.intervals
    if isinstance(found, str | timedelta) or found is NOBODY:
        return not is_third and found not in ("@once", "@continuous")
    return isinstance(found, Unknown)


def convert(flow: Flow, *, is_third: bool, online: bool) -> None:
    """Fill the fields of the workflow."""
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
    if (zone := zone_of(dag)) != "UTC":
        fields["time_zone"] = zone
    _limits(flow)
    _schedule(flow, is_third=is_third, online=online)
    _params(flow)
    _defaults(flow)
    known = {
        *_IRRELEVANT,
        *_SCHEDULES,
        "tags",
        "start_date",
        "end_date",
        "catchup",
        "max_active_runs",
        "max_active_tasks",
        "dagrun_timeout",
    }
    for name, value in given.items():
        if name in known or value in (None, False, [], {}):
            continue
        if name.startswith("**"):
            about.todo(name, f"line {dag.line}: what {name} gives is not known")
        elif name.endswith("_callback") or name.startswith("sla"):
            about.changed(name, "its callback is not called; alert rules tell of runs: shoal alert rule set")
        elif name in ("user_defined_macros", "user_defined_filters"):
            about.changed(
                name,
                f"its own macros are not known: {', '.join(value) if isinstance(value, dict) else shown(value)}",
            )
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


def _schedule(flow: Flow, *, is_third: bool, online: bool) -> None:
    dag, about = flow.dag, flow.about
    found = schedule_of(dag)
    match found:
        case None:
            return
        case "@once":
            about.changed("schedule", "it ran once; start it by hand")
            return
        case "@continuous":
            about.todo("schedule", "it began again whenever it ended; write it as a stream, or give it a schedule")
            return
        case list() | tuple() | Dataset():
            _by_datasets(flow, found)
            return
        case Unknown(text, line):
            about.todo("schedule", f"line {line}: its schedule {text} is not known; write schedules")
            return
        case Timetable(cron):
            pass
        case timedelta():
            if (cron := _cron_of(found, _start_of(dag))) == "":
                about.todo("schedule", f"every {found} is no cron expression; write one that is near")
                return
        case str():
            cron = _PRESETS.get(found, found)
            if (fields := cron.split())[5:]:  # seconds come last there, and first in Quartz
                if fields[5:] != ["0"]:
                    about.todo("schedule", f'"{cron}" ends with seconds, and here a cron begins with them; write it')
                    return
                cron = " ".join(fields[:5])
            if fields[4:] and "*" not in (fields[2], fields[4]) and "*" in fields[2][:1] + fields[4][:1]:
                about.changed("schedule", f'"{cron}" fires there on days of either kind, here on those of both')
        case _ if found is NOBODY and is_third:
            return
        case _ if found is NOBODY:
            cron = "@daily"
            about.changed("schedule", "it names none, which is once a day in Airflow 2")
        case _:
            about.todo("schedule", f"its schedule {shown(found)} has no counterpart; write schedules")
            return
    try:
        Cron.parse(cron)
    except Refused as error:
        about.todo("schedule", f'"{cron}" cannot be read: {error}')
        return
    _fires(flow, cron, is_third=is_third, online=online)


def _fires(flow: Flow, cron: str, *, is_third: bool, online: bool) -> None:
    dag, about = flow.dag, flow.about
    catches_up = dag.given.get("catchup", not is_third) is not False
    schedule: dict[str, Any] = {"cron": cron, "misfire": "FIRE_ALL" if catches_up else "FIRE_ONCE"}
    if isinstance(end := _dated(dag, "end_date"), datetime):
        schedule["end_time"] = _aware(end).isoformat()
        if flow.templates.intervals:
            about.changed("end_date", "there the run for the last interval follows it, here nothing fires after it")
    elif isinstance(end, Unknown):
        about.changed("end_date", f"line {end.line}: {end.text} is not known; write end_time")
    if isinstance(known := dag.given.get("catchup"), Unknown):
        about.changed("catchup", f"line {known.line}: {known.text} is not known; it is read as True")
    if not online:
        schedule["state"] = "OFFLINE"
    flow.fields["schedules"] = [schedule]
    start = _start_of(dag)
    if catches_up and isinstance(start, datetime):
        since = f"{start:%Y-%m-%d}"
        sentence = f"with catchup it ran for each date since then: shoal backfill {flow.name} --from {since} --to DATE"
        about.changed("catchup", sentence)
    elif isinstance(start, Unknown):
        about.changed(
            "start_date",
            f"line {start.line}: {start.text} is not known; its times count from when it is saved, in {zone_of(dag)}",
        )


def _start_of(dag: Dag) -> Any:
    return _dated(dag, "start_date")


def _dated(dag: Dag, name: str) -> Any:
    """A date of the DAG, which may stand in its `default_args`."""
    defaults = dag.given.get("default_args")
    found = dag.given.get(name)
    if found is None and isinstance(defaults, dict):
        found = defaults.get(name)
    if not isinstance(found, str):
        return found
    try:
        return _aware(datetime.fromisoformat(found))
    except ValueError:
        return Unknown(repr(found), dag.line)


def _aware(time: datetime) -> datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _cron_of(every: timedelta, start: Any) -> str:
    """A cron expression that fires as often, at the minute and hour of the start; empty if there is none."""
    at = start if isinstance(start, datetime) else datetime(2026, 1, 1, tzinfo=UTC)
    minutes_, rest = divmod(every.total_seconds(), 60)
    if rest or minutes_ < 1:
        return ""
    whole = int(minutes_)
    if whole < 60 and 60 % whole == 0:
        return f"{at.minute % whole}/{whole} * * * *" if at.minute % whole else f"*/{whole} * * * *"
    if whole % 60 == 0 and whole < 1440 and 1440 % whole == 0:
        hours = whole // 60
        listed = ",".join(str(hour) for hour in range(at.hour % hours, 24, hours))
        return f"{at.minute} {'*' if hours == 1 else listed} * * *"
    if whole == 1440:
        return f"{at.minute} {at.hour} * * *"
    return f"{at.minute} {at.hour} * * {(at.weekday() + 1) % 7}" if whole == 7 * 1440 else ""


def _by_datasets(flow: Flow, given: Any) -> None:
    listed = list(given) if isinstance(given, list | tuple) else [given]
    names = [each.name for each in listed if isinstance(each, Dataset)]
    if len(names) < len(listed):
        flow.about.todo("schedule", f"its datasets {shown(given)} are not known; write triggers")
    flow.fields["triggers"] = [{"dataset": name} for name in names]
    if len(names) > 1:
        flow.about.changed(
            "schedule", "there it waits until all of its datasets were updated, here each of them starts it"
        )


def _params(flow: Flow) -> None:
    given = flow.dag.given.get("params")
    if isinstance(given, Unknown):
        flow.about.todo("params", f"line {given.line}: its params {given.text} are not known")
        return
    for name, value in (given or {}).items() if isinstance(given, dict) else ():
        default = value.default if isinstance(value, Parameter) else value
        if isinstance(default, Unknown):
            sentence = (
                f'line {default.line}: the default of "{name}", {default.text}, is not known; a start must give it'
            )
            flow.about.changed("params", sentence)
        if not isinstance(value, Parameter):
            unknown = {"type": "VARCHAR", "required": True}
            flow.params[name] = unknown if isinstance(value, Unknown) else declared_of(value)
            continue
        kind = value.schema.get("type")
        first = next((each for each in (kind if isinstance(kind, list) else [kind]) if each != "null"), None)
        declared: dict[str, Any] = {"type": _TYPES.get(str(first), _type_of(default))}
        if isinstance(default, Unknown):
            declared["required"] = True
        elif value.default is not None:
            declared["value"] = _written(value.default)
        elif not (isinstance(kind, list) and "null" in kind):
            declared["required"] = True
        for own, there in (("enum", "enum"), ("min", "minimum"), ("max", "maximum"), ("description", "description")):
            if (limit := value.schema.get(there)) is not None and not isinstance(limit, Unknown):
                declared[own] = limit
        flow.params[name] = declared


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
    for name, value in (defaults or {}).items() if isinstance(defaults, dict) else ():
        if (sentence := unheeded.of_defaults(name, value)) is not None:
            flow.about.changed(name, sentence)
        elif name in ("depends_on_past", "wait_for_downstream") and value not in (None, False):
            flow.fields["after_last"] = "succeeded"
            flow.about.changed(name, "a run waits for the success of the one before it as a whole, by after_last")
