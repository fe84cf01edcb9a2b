"""A saved workflow as a YAML file, which `apply` reads as the same definition."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from model.choices import ReleaseState
from model.cost import YAML_US, spend
from model.definitions.defaults import TaskDefaults
from model.definitions.layout import Layout
from model.definitions.project_defaults import kept_from
from model.definitions.workflow import WorkflowSpec
from model.parameters.declared import together
from model.parameters.parameters import parse_parameters
from model.time.schedules import ScheduleSpec
from model.time.zones import zone

_ODD = re.compile(r"[^\x20-\x7e\n\xa1-\ud7ff\ue000-\ufefe\uff00-\ufffd]|[\u2028\u2029]|[ \t](?:\n|$)")


@dataclass(frozen=True)
class WorkflowContent:
    """All that a workflow's file says; a schedule comes with whether it is ONLINE. The file says too in what its tasks
    are not as the defaults of their project would have them."""

    project: str
    name: str
    release_state: ReleaseState
    spec: WorkflowSpec
    schedules: Sequence[tuple[ScheduleSpec, bool]] = ()
    layout: Layout | None = None
    project_defaults: TaskDefaults | None = None


def yaml_of(content: WorkflowContent) -> str:
    """The file, with the codes of the tasks where a new save would not give them the same."""
    return to_yaml(_whole_file(content, codes=True))


def comparable_yaml_of(content: WorkflowContent) -> str:
    """The same for a comparison: without codes, and the names in each `params` in order, since theirs has no meaning:
    the database stores them in one of its own."""
    whole = _whole_file(content, codes=False)
    for each in (whole, *whole["tasks"], *whole.get("schedules", ())):
        if "params" in each:
            each["params"] = _in_order(each["params"])
    return to_yaml(whole)


def _in_order(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _in_order(each) for name, each in sorted(value.items())}
    return [_in_order(each) for each in value] if isinstance(value, list | tuple) else value


def section_of(content: WorkflowContent, name: str) -> str | None:
    """One key of the file with its value; None if the file has none, since the value is what it is without."""
    fields = _whole_file(content, codes=True)
    return to_yaml({name: fields[name]}) if fields.get(name) else None


def _whole_file(content: WorkflowContent, *, codes: bool) -> dict[str, Any]:
    head: dict[str, Any] = {"name": content.name}
    if content.project != "default":
        head["project"] = content.project
    if content.release_state is not ReleaseState.ONLINE:
        head["release_state"] = str(content.release_state)
    fields = together(_fields(content.spec, codes=codes))
    tasks = fields.pop("tasks")
    if content.project_defaults is not None:
        kept = [kept_from(content.project_defaults, task) for task in content.spec.tasks]
        tasks = [task | _whole(own) for task, own in zip(tasks, kept, strict=True)]
    if content.schedules:
        fields["schedules"] = [_schedule(spec, content.spec, online=on) for spec, on in content.schedules]
    layout = {"layout": content.layout.model_dump(exclude_defaults=True)} if content.layout else {}
    return {**head, **fields, "tasks": tasks, **layout}


def to_yaml(value: Any) -> str:
    """Plain data as YAML for people: texts of several lines as blocks."""
    spend(len(json.dumps(value, default=str)) * YAML_US)
    yaml = YAML(pure=True)
    yaml.width = 2**30
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(_styled(value), out)
    return out.getvalue()


def _fields(spec: WorkflowSpec, *, codes: bool) -> dict[str, Any]:
    spec = spec.model_copy(update={"file_contents": {}})
    bare = spec.model_copy(update={"tasks": tuple(task.model_copy(update={"code": None}) for task in spec.tasks)})
    chosen = bare if not codes or bare.coded() == spec.coded() else spec
    found = _whole(chosen.model_dump(mode="json", exclude_defaults=True))
    return {**found, "tasks": [_whole(_flow(task)) for task in found["tasks"]]}


def _flow(task: Mapping[str, Any]) -> dict[str, Any]:
    after = CommentedSeq(map(_styled, task.get("after", ())))
    after.fa.set_flow_style()
    return {**task, **({"after": after} if after else {})}


def _whole(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Durations without a needless `.0`."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in fields.items()
    }


def _schedule(spec: ScheduleSpec, workflow: WorkflowSpec, *, online: bool) -> dict[str, Any]:
    default = ScheduleSpec(spec.crontab)
    found: dict[str, Any] = {"cron": spec.crontab}
    if spec.time_zone != workflow.time_zone:
        found["time_zone"] = spec.time_zone
    for name in ("start_time", "end_time"):
        if isinstance(time := getattr(spec, name), datetime):
            found[name] = time.astimezone(zone(spec.time_zone)).isoformat()
    if not online:
        found["state"] = str(ReleaseState.OFFLINE)
    if params := parse_parameters(spec.params, "params"):
        found["params"] = params
    others = ("misfire", "misfire_grace_s", "priority", "failure_strategy", "warning_type", "alert_group")
    for name in (*others, "worker_group", "environment"):
        if (value := getattr(spec, name)) != getattr(default, name):
            found[name] = value if isinstance(value, float) else str(value)
    return _whole(found)


def _styled(value: Any) -> Any:
    if isinstance(value, CommentedSeq):
        return value
    if isinstance(value, Mapping):
        return {_text(name): _styled(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_styled(each) for each in value]
    return _text(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    styled = text
    if _ODD.search(text):
        styled = DoubleQuotedScalarString(text)
    elif "\n" in text and text[0] not in " \t\n":
        styled = LiteralScalarString(text)
    return styled
