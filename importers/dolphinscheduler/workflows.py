"""The fields of a workflow: what DolphinScheduler says of a definition, and what its schedule says of all starts."""

from __future__ import annotations

import json

from importers.dolphinscheduler import parameters
from importers.dolphinscheduler.choices import RELEASES, WARNINGS, YES_NO, choice
from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.names import said_group_name
from model.choices import ExecutionType, ReleaseState
from model.fields import MINUTES_MAX
from model.parameters.parameters import references

_TYPES = {str(number): type_ for number, type_ in enumerate(ExecutionType)}
_NONE = ("", "0", "-1", "default")


def convert(context: Context) -> None:
    """Fill the fields of the workflow; its tasks are converted apart."""
    flow, fields, about = context.flow, context.flow.fields, context.about
    about.begin("workflow")
    if description := fields.text("description"):
        context.fields["description"] = description
    parameters.global_params(fields, context)
    _of_project(context)
    type_ = fields.text("executionType", "PARALLEL").upper()
    type_ = _TYPES.get(type_, type_)
    if type_ not in set(ExecutionType):
        about.todo("executionType", f"there is no execution type {type_}; write execution_type")
    elif type_ != ExecutionType.PARALLEL:
        context.fields["execution_type"] = str(type_)
    _timeout(context)
    _tenant(context)
    _alerts(context)
    if (group := fields.text("workerGroup", "default")) not in _NONE:
        context.fields["worker_group"] = said_group_name(group, about)
    _layout(context)
    state = choice(fields, "releaseState", RELEASES, "OFFLINE", about)
    is_valid = choice(fields, "flag", YES_NO, "YES", about) == "YES"
    if not is_valid:
        about.changed("flag", "it is not valid there (flag NO); it is OFFLINE here")
    if state == "ONLINE" and is_valid and context.options.online:
        context.fields["release_state"] = str(ReleaseState.ONLINE)
    else:
        context.fields["release_state"] = str(ReleaseState.OFFLINE)
        context.habits.add("offline")
    if not flow.steps:
        about.todo("tasks", "it has no task; Shoal saves none without")


def _of_project(context: Context) -> None:
    """The parameters of its project that it reads; a database alone tells which there are."""
    given = context.flow.fields.listed("projectParameters")
    content = json.dumps([context.fields, *(step.fields.content for step in context.flow.steps)], ensure_ascii=False)
    read = set(references(content)) - set(context.fields.get("params", ()))
    if wanted := [str(name) for name in given if name in read]:
        sentence = f"it reads parameters of its project: give {', '.join(wanted)} by shoal project set"
        context.about.todo("projectParameters", sentence)


def _timeout(context: Context) -> None:
    minutes = context.flow.fields.number("timeout")
    if minutes is None or not 0 <= minutes <= MINUTES_MAX:
        text = context.flow.fields.text("timeout")
        context.about.todo("timeout", f'"{text}" is no number of minutes that a run may take; set timeout_minutes')
    elif minutes:
        context.fields["timeout_minutes"] = int(minutes) if minutes.is_integer() else minutes


def _tenant(context: Context) -> None:
    fields = context.flow.fields
    tenant, id_ = fields.text("tenantCode"), fields.text("tenantId")
    if tenant in _NONE and context.flow.schedule is not None:
        tenant = context.flow.schedule.text("tenantCode")
    if tenant in _NONE and id_ not in _NONE:
        tenant = context.ask("tenants", id_) or ""
    if tenant not in _NONE:
        context.fields["tenant"] = tenant
        context.about.changed("tenantCode", f'its tasks run as the user "{tenant}", which the workers must have')


def _alerts(context: Context) -> None:
    """A definition names a group only; which ends are told, each start says."""
    fields = context.flow.fields
    id_, type_ = fields.text("warningGroupId"), choice(fields, "warningType", WARNINGS, "NONE", context.about)
    if id_ in _NONE:
        return
    scheduled = context.flow.schedule.text("warningGroupId") if context.flow.schedule is not None else ""
    if type_ == "NONE":
        if scheduled != id_:
            context.about.lost("warningGroupId", f"it names the alert group {id_}, and no end that is told to it")
    elif (name := context.ask("alert_groups", id_)) is not None:
        context.fields |= {"alert_group": name, "warning_type": type_}


def _layout(context: Context) -> None:
    """Where the tasks stand on the canvas."""
    named = {name: place for key, place in context.flow.places.items() if (name := context.name_of(key)) is not None}
    if named:
        context.fields["layout"] = {"tasks": {name: {"x": x, "y": y} for name, (x, y) in sorted(named.items())}}
