"""Versions 1.2 and 1.3: a definition with its tasks in `processDefinitionJson`; tasks refer to each other by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from importers.dolphinscheduler.flow import Flow, Step, coordinates
from importers.ledger import Fields, Ledger, Path
from importers.report import About

FORM = "export of 1.2 and 1.3 (processDefinitionJson)"
_SCHEDULE = {
    "crontab": "scheduleCrontab",
    "startTime": "scheduleStartTime",
    "endTime": "scheduleEndTime",
    "failureStrategy": "scheduleFailureStrategy",
    "releaseState": "scheduleReleaseState",
    "processInstancePriority": "scheduleProcessInstancePriority",
    "workerGroup": "scheduleWorkerGroupName",
    "workerGroupId": "scheduleWorkerGroupId",
    "warningType": "scheduleWarningType",
    "warningGroupId": "scheduleWarningGroupId",
    "warningGroupName": "scheduleWarningGroupName",
}
_TASK = {
    "failRetryTimes": "maxRetryTimes",
    "failRetryInterval": "retryInterval",
    "taskPriority": "taskInstancePriority",
    "description": "desc",
}


def is_form(content: Mapping[str, Any]) -> bool:
    inner = content.get("processDefinitionJson")
    return isinstance(inner, dict) and isinstance(inner.get("tasks"), list)


def read(content: Mapping[str, Any], path: Path, ledger: Ledger, file: str, about: About) -> Flow:
    """The workflow in a mapping of this form."""
    whole = Fields(content, path, ledger)
    inner = whole.child("processDefinitionJson")
    name = whole.text("processDefinitionName") or whole.text("name", "unnamed")
    whole.irrelevant("processDefinitionConnects", "connects", "id", "version", "createTime", "updateTime", "userId")
    whole.irrelevant("userName", "modifyBy", "resourceIds", "scheduleReleaseState", "globalParamList", "globalParamMap")
    about = about.report.about(file, name)
    steps, edges, keys = [], [], {}
    for task in inner.children("tasks"):
        step = _step(task)
        steps.append(step)
        keys[task.text("id")] = step.key
        edges += [(str(before), step.key) for before in task.listed("preTasks") if before]
    known = {step.key for step in steps}
    for before, after in edges:
        if before not in known:
            sentence = f'it comes after "{before}", which the file does not have; export it again, or drop it'
            about.of_task(after).todo("preTasks", sentence)
    locations = whole.child("processDefinitionLocations" if "processDefinitionLocations" in content else "locations")
    places = {}
    for id_ in locations.content:
        entry = locations.child(id_)
        entry.irrelevant("name", "targetarr", "nodenumber")
        if (place := coordinates(entry)) is not None and id_ in keys:
            places[keys[id_]] = place
    head = whole.replaced(_head(whole, inner))
    return Flow(
        file,
        FORM,
        name,
        head,
        steps,
        [edge for edge in edges if edge[0] in known],
        whole.text("projectName"),
        whole.text("projectId"),
        [each for each in (whole.text("processDefinitionId") or whole.text("id"),) if each],
        places,
        whole.renamed(_SCHEDULE) if whole.text("scheduleCrontab") else None,
    )


def _head(whole: Fields, inner: Fields) -> dict[str, Any]:
    """The fields of the definition with the names of later versions. An answer of the API has some outside, too."""
    both = {name: (inner.get(name), whole.get(name)) for name in ("globalParams", "timeout", "tenantId", "tenantCode")}
    return {
        **{name: outer if said in (None, "", []) else said for name, (said, outer) in both.items()},
        "description": whole.text("processDefinitionDescription") or whole.text("description") or whole.text("desc"),
        **{name: whole.get(name) for name in ("releaseState", "flag", "warningType", "warningGroupId")},
    }


def _step(task: Fields) -> Step:
    named = task.renamed({new: old for new, old in _TASK.items() if old in task.content})
    task.irrelevant("id", "loc", "depList", "extras", "preTaskNodeList", "taskTimeoutParameter")
    name = named.text("name", "unnamed")
    return Step(name, name, named.text("type"), named, named.child("params"))
