"""Small exports of DolphinScheduler in all forms, as it writes them; and the import of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from importers.dolphinscheduler.context import Options
from importers.dolphinscheduler.convert import import_files
from importers.imported import Imported
from importers.report import Grade, Line
from service.workflows.workflow_file import WorkflowDocument, parse_workflows
from worker.tasks.catalog import TaskCatalog

TYPES = TaskCatalog()
FIRST_CODE = 13_862_175_803_105
PROJECT = 13_821_668_364_768
WORKFLOW = 13_862_212_058_080


def imported(
    *inputs: Any, names: Mapping[str, Mapping[str, str]] | None = None, online: bool = False, lenient: bool = False
) -> Imported:
    """The import of inputs: texts as they are, others as JSON."""
    files = [
        (f"in{place}.json", (each if isinstance(each, str) else json.dumps(each)).encode())
        for place, each in enumerate(inputs)
    ]
    return import_files(files, names or {}, TYPES, Options(online=online, lenient=lenient))


def documents(found: Imported) -> dict[str, WorkflowDocument]:
    """The workflows that were written, by name, as Shoal's reader reads them."""
    texts = [text for name, text in found.files.items() if name.startswith("workflows/") and "pools" not in name]
    read = [document for text in texts for document in parse_workflows(text.encode(), "", TYPES)]
    return {document.name: document for document in read}


def only(found: Imported) -> WorkflowDocument:
    """The one workflow that was written."""
    (document,) = documents(found).values()
    return document


def the_task(found: Imported, name: str = "a") -> Any:
    """A task of the one workflow."""
    return next(task for task in only(found).spec.tasks if task.name == name)


def said(found: Imported, grade: Grade, task: str | None = None) -> list[str]:
    """The sentences of a grade, of one task or of all."""
    return [line.sentence for line in lines(found, grade) if task is None or line.task == task]


def lines(found: Imported, grade: Grade) -> list[Line]:
    return [line for line in found.report.lines() if line.grade is grade]


def task(name: str, type_: str = "SHELL", params: Any = None, **fields: Any) -> dict[str, Any]:
    """A task of versions 2 and 3; its code comes with the export."""
    given = {"rawScript": f"echo {name}"} if params is None and type_ == "SHELL" else params or {}
    return {
        "id": 45,
        "name": name,
        "version": 3,
        "description": "",
        "projectCode": PROJECT,
        "userId": 1,
        "taskType": type_,
        "taskParams": {"localParams": [], "resourceList": [], **given},
        "taskParamList": [],
        "taskParamMap": None,
        "flag": "YES",
        "isCache": "NO",
        "taskPriority": "MEDIUM",
        "userName": None,
        "projectName": None,
        "workerGroup": "default",
        "environmentCode": -1,
        "failRetryTimes": 0,
        "failRetryInterval": 1,
        "timeoutFlag": "CLOSE",
        "timeoutNotifyStrategy": None,
        "timeout": 0,
        "delayTime": 0,
        "resourceIds": None,
        "createTime": "2024-06-07 10:55:32",
        "updateTime": "2024-06-07 10:57:56",
        "modifyBy": None,
        "taskGroupId": 0,
        "taskGroupPriority": 0,
        "cpuQuota": -1,
        "memoryMax": -1,
        "taskExecuteType": "BATCH",
        "operator": 1,
        "operateTime": "2024-06-07 10:57:56",
        **fields,
    }


def code_of(place: int) -> int:
    """The code of the task at a place of an export."""
    return FIRST_CODE + place


def relations(count: int, edges: Sequence[tuple[int, int]], word: str = "process") -> list[dict[str, Any]]:
    """Relations between places; a task without one before it has that of a root."""
    roots = [(None, place) for place in range(count) if place not in {after for _, after in edges}]
    return [
        {
            "id": 81,
            "name": "",
            f"{word}DefinitionVersion": 3,
            "projectCode": PROJECT,
            f"{word}DefinitionCode": WORKFLOW,
            "preTaskCode": 0 if before is None else code_of(before),
            "preTaskVersion": 0,
            "postTaskCode": code_of(after),
            "postTaskVersion": 3,
            "conditionType": "NONE",
            "conditionParams": {},
            "createTime": "2024-06-07 10:57:56",
            "updateTime": "2024-06-07 10:57:56",
            "operator": 1,
            "operateTime": "2024-06-07 10:57:56",
        }
        for before, after in [*roots, *edges]
    ]


def definition(name: str = "daily", **fields: Any) -> dict[str, Any]:
    """The head of an export of versions 2 and 3."""
    return {
        "id": 42,
        "code": WORKFLOW,
        "name": name,
        "version": 3,
        "releaseState": "OFFLINE",
        "projectCode": PROJECT,
        "description": "",
        "globalParams": "[]",
        "globalParamList": [],
        "globalParamMap": {},
        "createTime": "2024-06-07 10:55:32",
        "updateTime": "2024-06-07 10:57:56",
        "flag": "YES",
        "userId": 1,
        "userName": None,
        "projectName": None,
        "locations": None,
        "scheduleReleaseState": None,
        "timeout": 0,
        "modifyBy": None,
        "warningGroupId": None,
        "executionType": "PARALLEL",
        **fields,
    }


def schedule(**fields: Any) -> dict[str, Any]:
    """A schedule of versions 2 and 3."""
    return {
        "id": 8,
        "processDefinitionCode": WORKFLOW,
        "processDefinitionName": None,
        "projectName": None,
        "definitionDescription": None,
        "startTime": "2024-06-07 00:00:00",
        "endTime": "2124-06-07 00:00:00",
        "timezoneId": "Asia/Shanghai",
        "crontab": "0 0 2 * * ? *",
        "failureStrategy": "CONTINUE",
        "warningType": "NONE",
        "createTime": "2024-06-07 10:58:44",
        "updateTime": "2024-06-07 10:58:44",
        "userId": 1,
        "userName": None,
        "releaseState": "OFFLINE",
        "warningGroupId": 0,
        "processInstancePriority": "MEDIUM",
        "workerGroup": "default",
        "tenantCode": "default",
        "environmentCode": -1,
        "environmentName": None,
        **fields,
    }


def export(
    *tasks: Mapping[str, Any],
    edges: Sequence[tuple[int, int]] = (),
    head: Mapping[str, Any] | None = None,
    schedule: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """An export of 2.0 to 3.2 with one workflow; edges are between places."""
    coded = [{"code": code_of(place), **each} for place, each in enumerate(tasks)]
    return [
        {
            "processDefinition": dict(head) if head is not None else definition(),
            "processTaskRelationList": relations(len(tasks), edges),
            "taskDefinitionList": coded,
            "schedule": dict(schedule) if schedule is not None else None,
        }
    ]


def newer(exported: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same as 3.3 exports it."""
    found = []
    for each in exported:
        tasks = [{**task, "taskParams": json.dumps(task["taskParams"])} for task in each["taskDefinitionList"]]
        renamed = [
            {name.replace("processDefinition", "workflowDefinition"): value for name, value in relation.items()}
            for relation in each["processTaskRelationList"]
        ]
        found.append(
            {
                "workflowDefinition": each["processDefinition"],
                "workflowTaskRelationList": renamed,
                "taskDefinitionList": tasks,
                "schedule": each["schedule"],
            }
        )
    return found


def body(exported: Sequence[Mapping[str, Any]], *, as_texts: bool = False) -> dict[str, Any]:
    """The same as the body of a request; numbers are texts."""
    (one,) = exported
    tasks = [
        {name: str(value) if name in ("delayTime", "failRetryTimes") else value for name, value in each.items()}
        for each in one["taskDefinitionList"]
    ]
    kept = {"name", "description", "globalParams", "timeout", "executionType", "locations", "releaseState"}
    head = {name: value for name, value in one["processDefinition"].items() if name in kept}
    lists = {"taskDefinitionJson": tasks, "taskRelationJson": one["processTaskRelationList"]}
    return {**head, **({name: json.dumps(each) for name, each in lists.items()} if as_texts else lists)}


def legacy_task(name: str, type_: str = "SHELL", params: Any = None, **fields: Any) -> dict[str, Any]:
    """A task of version 1."""
    return {
        "type": type_,
        "id": f"tasks-{name}",
        "name": name,
        "params": {"rawScript": f"echo {name}", "localParams": [], "resourceList": []} if params is None else params,
        "description": "",
        "runFlag": "NORMAL",
        "dependence": {},
        "conditionResult": {"successNode": [""], "failedNode": [""]},
        "maxRetryTimes": "0",
        "retryInterval": "1",
        "timeout": {"strategy": "", "interval": None, "enable": False},
        "taskInstancePriority": "MEDIUM",
        "workerGroup": "default",
        "preTasks": [],
        **fields,
    }


def legacy(*tasks: Mapping[str, Any], name: str = "daily", **fields: Any) -> list[dict[str, Any]]:
    """An export of 1.3 with one workflow."""
    inner = {"globalParams": [], "tasks": list(tasks), "tenantId": -1, "timeout": 0}
    places = {
        each["id"]: {"name": each["name"], "targetarr": "", "nodenumber": "0", "x": 10, "y": 20} for each in tasks
    }
    return [
        {
            "projectName": "sales",
            "processDefinitionName": name,
            "processDefinitionJson": json.dumps(inner),
            "processDefinitionDescription": "",
            "processDefinitionLocations": json.dumps(places),
            "processDefinitionConnects": "[]",
            **fields,
        }
    ]
