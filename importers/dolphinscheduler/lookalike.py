"""Files that look like exports and are none: a list of tasks that name those before them, written by hand.

No DolphinScheduler reads them. With --lenient they are read as they seem to be meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from importers.dolphinscheduler.flow import Flow, Step
from importers.ledger import Fields, Ledger, Path
from importers.report import About

FORM = "no export: a list of tasks (--lenient)"
_BEFORE = ("preTasks", "dependsOn", "depends_on", "dependencies", "upstream", "deps")
_HEADS = ("processDefinition", "workflowDefinition", "workflow")


def is_form(content: Mapping[str, Any]) -> bool:
    """Whether a mapping has a list of tasks with names and types."""
    tasks = content.get("tasks") or _head(content).get("tasks")
    return isinstance(tasks, list) and bool(tasks) and all(isinstance(each, dict) and "name" in each for each in tasks)


def read(content: Mapping[str, Any], path: Path, ledger: Ledger, file: str, about: About) -> Flow:
    """The workflow that seems to be meant."""
    whole = Fields(content, path, ledger)
    head = next((whole.child(name) for name in _HEADS if isinstance(content.get(name), dict)), whole)
    tasks = (whole if isinstance(content.get("tasks"), list) else head).children("tasks")
    name = head.text("name", "unnamed")
    about.report.about(file, name).changed(
        "", "the file is no export of DolphinScheduler; it is read as it seems meant"
    )
    steps: list[Step] = []
    edges: list[tuple[str, str]] = []
    keys: dict[str, str] = {}
    for task in tasks:
        named = task.text("name", "unnamed")
        for id_ in (task.text("id"), task.text("code"), named):
            keys.setdefault(id_, named)
        given = next((each for each in ("params", "taskParams", "task_params") if task.has(each)), "params")
        type_ = task.text("type") or task.text("taskType") or task.text("task_type")
        before = next((each for each in _BEFORE if each in task.content), _BEFORE[0])
        edges += [(str(each), named) for each in task.listed(before) if each]
        steps.append(Step(named, named, type_, task, task.child(given)))
    known = []
    for before, after in edges:
        if (key := keys.get(before)) is None:
            about.report.about(file, name).of_task(after).todo(
                "preTasks", f'it comes after "{before}", which is no task'
            )
        else:
            known.append((key, after))
    schedule = whole.child("schedule")
    return Flow(
        file,
        FORM,
        name,
        head,
        steps,
        known,
        head.text("projectName"),
        head.text("projectCode"),
        [each for each in (head.text("code"), head.text("id")) if each],
        {},
        schedule if schedule.has("crontab") else None,
    )


def _head(content: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((content[name] for name in _HEADS if isinstance(content.get(name), dict)), {})
