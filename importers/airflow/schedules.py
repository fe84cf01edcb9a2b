"""When a DAG runs: its cron expression, timetable or datasets, as schedules and triggers."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import available_timezones

from importers.airflow.dates import Step
from importers.airflow.flow import Flow, shown
from importers.airflow.values import Dag, Datasets, Timetable, Unknown
from model.definitions.triggers import TRIGGERS_MAX, UPDATES_MAX
from model.errors import Refused
from model.time.cron import Cron

_PRESETS = {"@quarterly": "0 0 1 */3 *", "@annually": "@yearly", "@midnight": "@daily"}
SCHEDULES = ("schedule", "schedule_interval", "timetable")
NOBODY = object()
_STEPS = (
    (r"\* \* \* \* \*", Step(1, "minutes")),
    (r"\d+ \* \* \* \*", Step(60, "minutes")),
    (r"\d+ \d+ \* \* \*", Step(1)),
    (r"\d+ \d+ \* \* (?:\d|[A-Za-z]{3})", Step(7)),
    (r"\d+ \d+ (?:[1-9]|1\d|2[0-8]) \* \*", Step(1, "months")),
    (r"\d+ \d+ (?:[1-9]|1\d|2[0-8]) \*/3 \*", Step(3, "months")),
    (r"\d+ \d+ (?:[1-9]|1\d|2[0-8]) \d+ \*", Step(12, "months")),
    *((rf"\*/{each} \* \* \* \*", Step(each, "minutes")) for each in range(2, 31) if 60 % each == 0),
)  # fmt: skip
"""Forms of cron expressions whose fires are always as far apart."""


def schedule_of(dag: Dag) -> Any:
    """What its schedule is given as; `NOBODY` if nothing is."""
    return next((dag.given[name] for name in SCHEDULES if name in dag.given), NOBODY)


def zone_of(dag: Dag) -> str:
    """The zone of its start date, in which its cron expression counts."""
    start = _start_of(dag)
    if (timetable := _timetable_of(dag)) is not None and timetable.zone:
        return timetable.zone
    if isinstance(start, Unknown):
        named = re.findall(r"""['"](\w+/[\w/]+)['"]""", start.text)
        return next((each for each in named if each in available_timezones()), "UTC")
    return str(getattr(start.tzinfo, "key", "UTC")) if isinstance(start, datetime) and start.tzinfo else "UTC"


def _timetable_of(dag: Dag) -> Timetable | None:
    found = schedule_of(dag)
    found = found.timetable if isinstance(found, Datasets) else found
    return found if isinstance(found, Timetable) else None


def has_intervals(dag: Dag, *, is_third: bool) -> bool:
    """Whether its runs are for the time since the fire before; in Airflow 3 only those of a timetable can be."""
    found = schedule_of(dag)
    if (timetable := _timetable_of(dag)) is not None:
        return timetable.intervals
    if isinstance(found, str | timedelta) or found is NOBODY:
        return not is_third and found not in ("@once", "@continuous")
    return isinstance(found, Unknown)


def step_of(dag: Dag) -> Step | None:
    """From one of its runs to the next; None if they are not always as far apart, or only datasets start it."""
    found = schedule_of(dag)
    if found in (None, "@once"):
        return Step(0)
    if isinstance(found, timedelta):
        minutes, rest = divmod(found.total_seconds(), 60)
        return None if rest or minutes < 1 else Step(int(minutes), "minutes")
    if isinstance(found, Timetable) and not found.others:
        found = found.cron
    if found is NOBODY:
        return Step(1)
    match _PRESETS.get(found, found) if isinstance(found, str) else None:
        case "@hourly":
            return Step(60, "minutes")
        case "@daily" | "@midnight":
            return Step(1)
        case "@weekly":
            return Step(7)
        case "@monthly":
            return Step(1, "months")
        case "@yearly":
            return Step(12, "months")
        case str(cron):
            return next((step for form, step in _STEPS if re.fullmatch(form, " ".join(cron.split()))), None)
    return None


def convert(flow: Flow, *, is_third: bool, online: bool) -> None:
    """Fill the schedules and triggers of the workflow."""
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
        case Datasets(timetable=Timetable(cron)):
            _by_datasets(flow, found)
        case _ if (datasets := Datasets.of(found)) is not None:
            _by_datasets(flow, datasets)
            return
        case list() | tuple():
            about.todo("schedule", f"its datasets {shown(found)} are not known; write triggers")
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
    timetable = _timetable_of(dag)
    crons = [cron, *(timetable.others if timetable is not None else ())]
    for each in crons:
        try:
            Cron.parse(each)
        except Refused as error:
            about.todo("schedule", f'"{each}" cannot be read: {error}')
            return
    _fires(flow, crons, is_third=is_third, online=online)


def _fires(flow: Flow, crons: list[str], *, is_third: bool, online: bool) -> None:
    dag, about = flow.dag, flow.about
    catches_up = dag.given.get("catchup", not is_third) is not False
    schedule: dict[str, Any] = {"misfire": "FIRE_ALL" if catches_up else "FIRE_ONCE"}
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
    flow.fields["schedules"] = [{"cron": cron, **schedule} for cron in crons]
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


def _by_datasets(flow: Flow, given: Datasets) -> None:
    if len(given.conditions) > TRIGGERS_MAX or any(len(each) > UPDATES_MAX for each in given.conditions):
        sentence = f"its condition on datasets has more than {TRIGGERS_MAX} parts; update a dataset for several of them"
        flow.about.todo("schedule", sentence)
        return
    flow.fields["triggers"] = [
        {"dataset": each[0]} if len(each) == 1 else {"datasets": list(each)} for each in given.conditions
    ]
    if len(given.conditions) > 1 and any(len(each) > 1 for each in given.conditions):
        sentence = "there a start forgets the updates of all its datasets, here each trigger only those that it names"
        flow.about.changed("schedule", sentence)
