"""The schedule of a workflow: Quartz cron in its own zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from importers.dolphinscheduler.choices import FAILURE, RELEASES, WARNINGS, choice
from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.names import said_group_name
from importers.dolphinscheduler.tasks import priority_of
from importers.ledger import Fields
from importers.report import About
from model.choices import Misfire, ReleaseState
from model.errors import Refused
from model.time.cron import Cron
from model.time.moments import YEAR_MAX
from model.time.zones import zone

SCHEDULE = "its schedule"
"""What the report calls it: it has no name."""
_MILLISECONDS = r"[0-9]{12,13}"
"""Since 1970, as an answer of the API may have a time."""
_NONE = ("", "0", "-1")


def convert(fields: Fields, context: Context) -> None:
    about = context.about.of_task(SCHEDULE)
    about.begin("schedule")
    fields.irrelevant("id", "processDefinitionCode", "workflowDefinitionCode", "processDefinitionName", "projectName")
    fields.irrelevant("workflowDefinitionName", "definitionDescription", "createTime", "updateTime", "userId")
    fields.irrelevant("userName", "environmentName", "tenantCode", "processDefinitionId", "projectId")
    made: dict[str, Any] = {"cron": _cron(fields, about)}
    _times(fields, made, context, about)
    if choice(fields, "releaseState", RELEASES, "OFFLINE", about) == "OFFLINE":
        made["state"] = str(ReleaseState.OFFLINE)
    elif not context.options.online:
        made["state"] = str(ReleaseState.OFFLINE)
        about.changed("releaseState", "it is ONLINE there; `shoal schedule on` turns it on, or an import with --online")
    made["misfire"] = str(Misfire.FIRE_ALL)
    context.habits.add("misfire")
    if choice(fields, "failureStrategy", FAILURE, "CONTINUE", about) == "END":
        made["failure_strategy"] = "END"
    for name in ("processInstancePriority", "workflowInstancePriority"):
        if fields.has(name) and (priority := priority_of(fields, name, about)):
            made["priority"] = priority
    _where(fields, made, context, about)
    warning = choice(fields, "warningType", WARNINGS, "NONE", about)
    group, name = fields.text("warningGroupId"), fields.text("warningGroupName")
    if warning != "NONE":
        made["warning_type"] = warning
        if name:
            made["alert_group"] = name
        elif group in _NONE:
            about.changed("warningType", f"its ends ({warning}) are told to no group; add alert_group")
        elif (alerted := context.ask("alert_groups", group)) is not None:
            made["alert_group"] = alerted
    context.fields["schedules"] = [made]


def _cron(fields: Fields, about: About) -> str:
    text = fields.text("crontab")
    try:
        return Cron.parse(text).text
    except Refused as error:
        about.todo("crontab", f'"{text}" cannot be read: {error}')
        return text


def _times(fields: Fields, made: dict[str, Any], context: Context, about: About) -> None:
    name = fields.text("timezoneId")
    if not name:
        about.changed("timezoneId", "it names no time zone: it ran in that of the server, and is in UTC; set time_zone")
    else:
        try:
            zone(name)
            context.fields["time_zone"] = name
        except Refused as error:
            about.todo("timezoneId", str(error))
    start, end = _time(fields.text("startTime")), _time(fields.text("endTime"))
    if start:
        made["start_time"] = start
    if end and end[:4].isdecimal() and int(end[:4]) > YEAR_MAX:
        about.changed("endTime", f"it ended at {end}, which is never")
    elif end:
        made["end_time"] = end


def _time(text: str) -> str:
    """As Shoal writes it. A day alone begins it: here the end of a schedule would be the end of that day."""
    text = text.strip()
    if text.lower() in ("", "null"):
        return ""
    if re.fullmatch(_MILLISECONDS, text):
        return datetime.fromtimestamp(int(text) / 1_000, UTC).isoformat(timespec="seconds")
    text = re.sub(r"^(\d{4})/?(\d\d)/?(\d\d)(?!\d)", r"\1-\2-\3", text).replace(" ", "T", 1)
    return f"{text}T00:00:00" if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else text


def _where(fields: Fields, made: dict[str, Any], context: Context, about: About) -> None:
    if (group := fields.text("workerGroup", "default")) not in ("", "default"):
        made["worker_group"] = said_group_name(group, about)
    if (id_ := fields.text("workerGroupId")) not in _NONE and (name := context.ask("worker_groups", id_)) is not None:
        made["worker_group"] = said_group_name(name, about)
    if (code := fields.text("environmentCode")) not in _NONE and (name := context.ask("environments", code)):
        made["environment"] = name
