"""The YAML of DolphinScheduler's Python SDK: `workflow:` and `tasks:`, all by name.

Its `$FILE{}`, `$ENV{}` and `${CONFIG.}` stand for what the machine has that submits it; nobody here knows that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from importers.dolphinscheduler.flow import Flow, Step
from importers.ledger import Fields, Ledger, Path
from importers.report import About

FORM = "YAML of the Python SDK (workflow, tasks)"
ZONE = "Asia/Shanghai"
"""Of a schedule that names none; source: the SDK's default_config.yaml."""
_OF_TASKS = frozenset(
    (
        *("name", "task_type", "deps", "description", "flag", "task_priority", "worker_group", "environment_name"),
        *(
            "delay_time",
            "fail_retry_times",
            "fail_retry_interval",
            "timeout_flag",
            "timeout_notify_strategy",
            "timeout",
        ),
        *("is_cache", "cpu_quota", "memory_max", "task_group_id", "task_group_priority", "task_execute_type"),
    )
)
_OF_SCHEDULE = {"crontab": "schedule", "startTime": "start_time", "endTime": "end_time", "timezoneId": "timezone"}
_TYPES = {
    "CONDITION": "CONDITIONS",
    "MAPREDUCE": "MR",
    "KUBERNETES": "K8S",
    "SUBWORKFLOW": "SUB_WORKFLOW",
    "SUBPROCESS": "SUB_WORKFLOW",
    "CUSTOMDATAX": "DATAX",
    "FLINKSTREAM": "FLINK_STREAM",
}
_FAMILIES = ("MLFLOW", "DVC")
"""The SDK has several types of each: `MLflowModels`, `DVCInit`."""
_NAMES = {
    "SHELL": {"command": "rawScript"},
    "PYTHON": {"definition": "rawScript"},
    "REMOTESHELL": {"command": "rawScript"},
    "SQL": {"datasourceType": "type"},
    "DATAX": {"datasourceName": "dataSource", "datatargetName": "dataTarget"},
    "SPARK": {"mainPackage": "mainJar"},
    "FLINK": {"mainPackage": "mainJar"},
    "MR": {"mainPackage": "mainJar"},
}
_NUMBERS = {"One": "1", "Two": "2", "Three": "3", "Seven": "7", "TwentyFour": "24"}
_ELSEWHERE = re.compile(r"\$(?:FILE|ENV)\{[^}]*\}|\$\{CONFIG\.[^}]*\}")
_TYPED = re.compile(r"(VARCHAR|INTEGER|LONG|FLOAT|DOUBLE|DATE|TIME|TIMESTAMP|BOOLEAN|LIST|FILE)\((.*)\)")


def is_form(content: Mapping[str, Any]) -> bool:
    tasks = content.get("tasks")
    return (
        isinstance(content.get("workflow"), dict)
        and isinstance(tasks, list)
        and all(isinstance(each, dict) and "task_type" in each for each in tasks)
    )


def read(content: Mapping[str, Any], path: Path, ledger: Ledger, file: str, about: About) -> Flow:
    """The workflow in a mapping of this form."""
    whole = Fields(content, path, ledger)
    whole.irrelevant(*(name for name in content if name not in ("workflow", "tasks")))  # what its anchors stand for
    fields = whole.child("workflow").renamed(
        {"globalParams": "param", "projectName": "project", "tenantCode": "tenant"}
    )
    name = fields.text("name", "unnamed")
    about = about.report.about(file, name)
    if fields.text("run", "false") == "true":
        about.lost("run", "submitting it started it, too; an import starts nothing")
    fields.irrelevant("user")
    for key in ("resource_list", "resource_plugin"):
        if fields.has(key):
            about.todo(key, "it uploads files of the machine that submits it; copy them to the workers")
            fields.reported(key)
    steps, edges = [], []
    for task in whole.children("tasks"):
        step, arrows = _step(task, about)
        steps.append(step)
        edges += arrows
    keys = {step.key for step in steps}
    for before, after in edges:
        if not {before, after} <= keys:
            absent = after if before in keys else before
            about.todo("deps", f'"{absent}" is named, and the file has no such task')
    _say_what_is_elsewhere(fields, about)
    state = fields.text("releaseState", "online")
    head = fields.replaced({**_camel(fields.content), "releaseState": state})
    for key in fields.content:
        fields.get(key)
    head.irrelevant("name", "project", "run", "user", "schedule", "startTime", "endTime", "timezone")
    head.irrelevant("resourceList", "resourcePlugin", "onlineSchedule")
    return Flow(
        file,
        FORM,
        name,
        head.renamed({"globalParams": "param", "projectName": "project", "tenantCode": "tenant"}),
        steps,
        [edge for edge in edges if set(edge) <= keys],
        fields.text("projectName"),
        "",
        [reference(file)],
        {},
        _schedule(fields, state, about),
    )


def reference(file: str) -> str:
    """What others write for the workflow in a file."""
    return f'$WORKFLOW{{"{PurePosixPath(file).name}"}}'


def _schedule(fields: Fields, state: str, about: About) -> Fields | None:
    if not fields.has("schedule"):
        return None
    made = {ours: fields.get(theirs) for ours, theirs in _OF_SCHEDULE.items()}
    if not made["timezoneId"]:
        made["timezoneId"] = ZONE
        about.changed("timezone", f"it names no time zone: the SDK takes {ZONE}, unless its configuration has another")
    state = state if fields.text("onlineSchedule", "true") == "true" else "offline"
    return fields.replaced({**made, "releaseState": state})


def _step(task: Fields, about: About) -> tuple[Step, list[tuple[str, str]]]:
    name = task.text("name", "unnamed")
    written = task.text("task_type")
    type_ = re.sub(r"[^A-Z0-9_]", "", written.upper())
    type_ = next((family for family in _FAMILIES if type_.startswith(family)), _TYPES.get(type_, type_))
    edges = [(str(before), name) for before in task.listed("deps")]
    own = {key: task.get(key) for key in task.content if key not in _OF_TASKS}
    _say_what_is_elsewhere(task, about.of_task(name))
    if written.upper() == "CUSTOMDATAX":
        own["customConfig"] = 1
    if type_ == "SWITCH":
        params, more = _switch(own, name)
    elif type_ == "CONDITIONS":
        params, more = _conditions(own, name)
    elif type_ == "DEPENDENT":
        params, more = _dependent(own), []
    else:
        params, more = own, []
    params = {**_camel(params), "localParams": _local_params(own)}
    for key in ("inputParams", "outputParams"):
        params.pop(key, None)
    for theirs, ours in _NAMES.get(type_, {}).items():
        if theirs in params:
            params[ours] = params.pop(theirs)
    return Step(name, name, type_, task, task.replaced(params)), [*edges, *more]


def _switch(own: dict[str, Any], name: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    cases = [each for each in own.pop("condition", None) or [] if isinstance(each, dict)]
    result: dict[str, Any] = {"dependTaskList": []}
    for each in cases:
        if each.get("condition") is None:
            result["nextNode"] = each.get("task")
        else:
            result["dependTaskList"].append({"condition": each["condition"], "nextNode": each.get("task")})
    return {**own, "switchResult": result}, [(name, str(each.get("task"))) for each in cases]


def _conditions(own: dict[str, Any], name: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    groups, edges = [], []
    for group in own.pop("groups", None) or []:
        items = []
        for each in group.get("groups", []):
            items.append({"depTaskCode": each.get("task"), "status": "SUCCESS" if each.get("flag") else "FAILURE"})
            edges.append((str(each.get("task")), name))
        groups.append({"relation": str(group.get("op", "and")).upper(), "dependItemList": items})
    branches = {"successNode": own.pop("success_task", None), "failedNode": own.pop("failed_task", None)}
    edges += [(name, str(branch)) for branch in branches.values() if branch]
    dependence = {"relation": str(own.pop("op", "and")).upper(), "dependTaskList": groups}
    return {**own, "dependence": dependence, "conditionResult": branches}, edges


def _dependent(own: dict[str, Any]) -> dict[str, Any]:
    groups = []
    for group in own.pop("groups", None) or []:
        items = [
            {
                "projectName": each.get("project_name"),
                "definitionName": each.get("workflow_name"),
                "depTaskCode": each.get("dependent_task_name"),
                "dateValue": _date_value(str(each.get("dependent_date") or "today")),
            }
            for each in group.get("groups", [])
        ]
        groups.append({"relation": str(group.get("op", "and")).upper(), "dependItemList": items})
    dependence = {"relation": str(own.pop("op", None) or "and").upper(), "dependTaskList": groups}
    own.pop("denpendence", None)
    return {**own, "dependence": dependence}


def _date_value(written: str) -> str:
    """LAST_TWO_DAYS is last2Days; names of cycles stay."""
    if not re.fullmatch(r"[A-Z_0-9]+", written):
        return written
    words = "".join(word.capitalize() for word in written.split("_"))
    for word, number in sorted(_NUMBERS.items(), key=lambda each: -len(each[0])):
        words = words.replace(word, number)
    return words[:1].lower() + words[1:]


def _local_params(own: dict[str, Any]) -> list[dict[str, Any]]:
    found = [each for each in own.pop("local_params", None) or [] if isinstance(each, dict)]
    for key, direct in (("input_params", "IN"), ("output_params", "OUT")):
        for name, value in (own.get(key) or {}).items():
            typed = _TYPED.fullmatch(str(value))
            type_, text = (typed[1], typed[2]) if typed else ("VARCHAR", value)
            found.append({"prop": name, "direct": direct, "type": type_, "value": text})
    return found


def _say_what_is_elsewhere(fields: Fields, about: About) -> None:
    for key, value in fields.content.items():
        for found in sorted(set(_ELSEWHERE.findall(str(value)))):
            about.todo(key, f"{found} is known to the machine that submits it; write the value")


def _camel(content: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_each_camel(content))


def _each_camel(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        first, *others = key.split("_")
        yield first + "".join(word.capitalize() for word in others), value
