"""The fields that all tasks of DolphinScheduler have, and the choice of the conversion for the type of each."""

from __future__ import annotations

import re

from importers.dolphinscheduler import parameters, resources, sdk
from importers.dolphinscheduler.choices import EXECUTES, PRIORITIES, RUN_FLAGS, SWITCHES, YES_NO, choice
from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.flow import Step
from importers.dolphinscheduler.names import said_group_name
from importers.dolphinscheduler.types.catalog import CONVERSIONS, NEVER
from importers.dolphinscheduler.types.commands import COMMANDS
from importers.draft import Draft
from importers.ledger import Fields, short
from importers.report import About
from model.choices import TimeoutStrategy
from model.definitions.defaults import RETRIES_MAX
from model.fields import MINUTES_MAX, POOL_NAME
from model.logic.catalog import LOGIC_TYPES, NOT_OF_LOGIC

_NONE = ("", "0", "-1")
INTERVAL_OF_SDK = 1
"""Minutes between two attempts, where YAML of the SDK says none."""


def convert(step: Step, context: Context) -> None:
    """Fill the draft of a task from what was exported."""
    draft = context.drafts[context.task_names[step.key]]
    type_ = step.type.upper()
    draft.about.begin(step.type or "no type")
    step.params.irrelevant("varPool")
    convert_type = CONVERSIONS.get(type_) or COMMANDS.get(type_)
    if convert_type is not None:
        convert_type(step, draft, context)
    elif type_ in NEVER:
        draft.cannot(NEVER[type_], step.params.content)
    else:
        draft.cannot(f"the type {step.type or '(none)'} has no counterpart", step.params.content)
    if type_ not in CONVERSIONS and type_ not in COMMANDS:
        for name in step.params.content:
            step.params.reported(name)
    else:
        parameters.local_params(step.params, draft, context)
        resources.copy(step.params, draft, context)
    _common(step.fields, draft, context)
    for name, value in step.params.rest().items():
        draft.about.lost(name, f"{name} = {short(value)} has no counterpart")
    for name, value in step.fields.rest().items():
        draft.about.lost(name, f"the field {name} = {short(value)} has no counterpart")


def priority_of(fields: Fields, name: str, about: About) -> str | None:
    """The priority in a field, if it is another than MEDIUM."""
    found = choice(fields, name, PRIORITIES, "MEDIUM", about)
    return found if found != "MEDIUM" else None


def _common(fields: Fields, draft: Draft, context: Context) -> None:
    wanted = draft.fields
    if description := fields.text("description"):
        wanted["description"] = description
    about = draft.about
    flag = choice(fields, "flag", YES_NO, "YES", about)
    if flag == "NO" or choice(fields, "runFlag", RUN_FLAGS, "NORMAL", about) == "FORBIDDEN":
        wanted["flag"] = "NO"
    elif context.flow.related is not None and not _is_related(draft, context):
        wanted["flag"] = "NO"
        draft.about.changed(
            "flag", "it stands in no relation, so DolphinScheduler never runs it; flag: NO does the same"
        )
    if (priority := priority_of(fields, "taskPriority", about)) is not None:
        wanted["priority"] = priority
    _where(fields, draft, context)
    _retries(fields, draft, INTERVAL_OF_SDK if context.flow.form == sdk.FORM else 0)
    _timeout(fields, draft)
    if delay := _minutes(fields, "delayTime", draft):
        wanted["delay_time"] = delay
    if choice(fields, "isCache", YES_NO, "NO", about) == "YES":
        wanted["cache"] = True
    if choice(fields, "taskExecuteType", EXECUTES, "BATCH", about) == "STREAM":
        wanted["stream"] = True
    _pool(fields, draft, context)
    for name, what in (("cpuQuota", "% of a processor"), ("memoryMax", "MB of memory")):
        if fields.text(name, "-1") not in _NONE:
            draft.about.lost(name, f"it may use {fields.text(name)} {what}; tasks have no such limit here")
            fields.reported(name)
    if draft.type in LOGIC_TYPES:
        _as_logic(draft)


def _is_related(draft: Draft, context: Context) -> bool:
    related = context.flow.related or frozenset()
    return any(context.task_names.get(key) == draft.name for key in related)


def _where(fields: Fields, draft: Draft, context: Context) -> None:
    group = fields.text("workerGroup", "default")
    if group not in ("", "default"):
        draft.fields["worker_group"] = said_group_name(group, draft.about)
    if (id_ := fields.text("workerGroupId")) not in _NONE and (name := context.ask("worker_groups", id_, draft)):
        draft.fields["worker_group"] = said_group_name(name, draft.about)
    if environment := fields.text("environmentName"):
        draft.fields["environment"] = environment
    if (code := fields.text("environmentCode")) not in _NONE and (name := context.ask("environments", code, draft)):
        draft.fields["environment"] = name


def _retries(fields: Fields, draft: Draft, unsaid: float) -> None:
    times = fields.number("failRetryTimes")
    interval = _minutes(fields, "failRetryInterval", draft) if fields.has("failRetryInterval") else unsaid
    if times is None or times < 0 or times != int(times):
        draft.about.todo(
            "failRetryTimes", f'"{fields.text("failRetryTimes")}" is no number of retries; set retry_times'
        )
    elif times:
        if times > RETRIES_MAX:
            draft.about.changed("failRetryTimes", f"it was retried {int(times)} times, here at most {RETRIES_MAX}")
        draft.fields |= {"retry_times": min(int(times), RETRIES_MAX), "retry_interval": interval}


def _timeout(fields: Fields, draft: Draft) -> None:
    if isinstance(fields.peek("timeout"), dict):  # version 1
        inner = fields.child("timeout")
        is_open, strategy, field = inner.text("enable") == "true", inner.text("strategy"), "interval"
        minutes = _minutes(inner, "interval", draft)
    else:
        minutes, field = _minutes(fields, "timeout", draft), "timeout"
        unsaid = "OPEN" if minutes else "CLOSE"
        is_open = choice(fields, "timeoutFlag", SWITCHES, unsaid, draft.about) == "OPEN"
        strategy = fields.text("timeoutNotifyStrategy")
    if not is_open or not minutes:
        return
    words = set(re.findall(r"WARNFAILED|WARN|FAILED|[0-2]", strategy.upper()))
    chosen = TimeoutStrategy.WARN
    if strategy and not words:
        draft.about.changed("timeoutNotifyStrategy", f'there is no strategy "{strategy}"; it is read as WARN')
    if words & {"WARNFAILED", "2"} or words >= {"WARN", "FAILED"}:
        chosen = TimeoutStrategy.WARNFAILED
    elif words & {"FAILED", "1"}:
        chosen = TimeoutStrategy.FAILED
    draft.fields |= {"timeout": minutes, "timeout_strategy": str(chosen)}
    if chosen is not TimeoutStrategy.WARN and draft.fields.get("retry_times") and draft.type not in LOGIC_TYPES:
        draft.about.changed(field, "after its timeout it is retried here; in DolphinScheduler it is killed for good")


def _minutes(fields: Fields, name: str, draft: Draft) -> float:
    minutes = fields.number(name)
    if minutes is None or not 0 <= minutes <= MINUTES_MAX:
        if minutes is None or minutes > 0:
            draft.about.todo(name, f'"{fields.text(name)}" is no number of minutes that a task may have; set it')
        return 0
    return int(minutes) if minutes.is_integer() else minutes


def _pool(fields: Fields, draft: Draft, context: Context) -> None:
    id_ = fields.text("taskGroupId")
    if fields.text("taskGroupPriority") not in _NONE:
        draft.about.lost("taskGroupPriority", "who waits for a pool is served in the order of priority and time")
        fields.reported("taskGroupPriority")
    if id_ in _NONE:
        return
    name = context.ask("task_groups", id_, draft)
    size = context.ask("task_group_sizes", id_, draft)
    if name is None:
        return
    pool = name if re.fullmatch(POOL_NAME, name) else re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip("_.-") or "pool"
    draft.fields["resources"] = {pool: 1}
    if size is not None and size.isdecimal():
        context.pools[pool] = int(size)
    elif size is not None:
        draft.about.todo("taskGroupId", f'"{size}" is no number of places; correct it in catalog.yaml')


def _as_logic(draft: Draft) -> None:
    """Remove what tasks in the master do not have."""
    allowed = {"timeout", "timeout_strategy"} if draft.type == "DEPENDENT" else set()
    gone = [name for name in (*NOT_OF_LOGIC, "timeout_strategy") if name in draft.fields and name not in allowed]
    for name in gone:
        value = draft.fields.pop(name)
        if value and name not in ("timeout_strategy", "retry_interval"):
            draft.about.lost(name, f"a {draft.type} task runs in the master and has no {name} (it was {value})")
    draft.fields.pop("retry_interval", None)
