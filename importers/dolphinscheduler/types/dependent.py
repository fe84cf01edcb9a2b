"""DEPENDENT: the workflows and tasks that it waits for, by name; date cycles have the same names."""

from __future__ import annotations

from typing import Any

from importers.dolphinscheduler.choices import number
from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.flow import Step
from importers.dolphinscheduler.legacy import FORM as LEGACY
from importers.dolphinscheduler.types.logic import relation_of
from importers.draft import Draft
from importers.ledger import Fields
from model.logic.date_cycles import DateCycle

_WHOLE, _EACH = ("", "0"), "-1"
_WAITING, _FAILING = "DEPENDENT_FAILURE_WAITING", "DEPENDENT_FAILURE_FAILURE"


def dependent(step: Step, draft: Draft, context: Context) -> None:
    draft.type = "DEPENDENT"
    dependence = step.part("dependence")
    groups = [
        {"items": items, **relation_of(group, draft.about)}
        for group in dependence.children("dependTaskList")
        if (items := [_item(each, draft, context) for each in group.children("dependItemList")])
    ]
    dependence.irrelevant("checkInterval")
    if not groups:
        draft.about.todo("dependence", "it waits for nothing; write groups, or remove the task")
    made: dict[str, Any] = {"groups": groups, **relation_of(dependence, draft.about)}
    policy = dependence.text("failurePolicy")
    minutes = number(dependence, "failureWaitingTime", draft.about)
    if policy not in ("", _WAITING, _FAILING):
        draft.about.changed("failurePolicy", f'there is no policy "{policy}"; a failed run fails it at once')
    if policy == _WAITING:
        made["on_failure"] = "WAIT"
        if minutes:
            made["wait_minutes"] = minutes
            draft.about.changed("failureWaitingTime", "it limits the wait for a run that is not there, too")
    _start_timeout(step, made, draft)
    if context.flow.form == LEGACY:
        context.habits.add("legacy_dependent")
    draft.params = made


def _item(item: Fields, draft: Draft, context: Context) -> dict[str, Any]:
    id_ = item.text("definitionCode") or item.text("definitionId")
    task = item.text("depTaskCode") or item.text("depTasks")
    named, project = item.text("definitionName"), item.text("projectName")
    labels = {each.text("value"): each.text("label") for each in item.children("definitionList")}
    item.irrelevant(
        "depTasksList", "dateValueList", "state", "status", "projectCode", "projectId", "cycle", "dependentType"
    )
    if item.text("dependentType") == "DEPENDENT_ON_WORKFLOW":
        task = task if task == _EACH else ""
    if id_ or named:
        there = f'"{labels[id_]}" there' if labels.get(id_) else ""
        made = context.workflow(draft, id_, named, project, there)
    else:
        made = {"workflow": "TODO"}
        draft.about.todo("definitionCode", "it waits for a workflow that is not named; write it")
    if task == _EACH:
        made["task"] = "*"
    elif task.upper() == "ALL" and context.flow.form == LEGACY:
        pass  # the whole workflow
    elif task not in _WHOLE:
        made["task"] = _task_name(task, draft, context)
    cycle = item.text("dateValue", "today")
    if cycle not in set(DateCycle):
        draft.about.todo("dateValue", f'"{cycle}" is no date cycle; write cycle or at')
    if cycle == DateCycle.LAST_24_HOURS:
        context.habits.add("last_24_hours")
    made["cycle"] = cycle
    if item.text("parameterPassing", "false") == "true":
        if made.get("task") == "*":
            draft.about.lost("parameterPassing", "the outputs of all tasks cannot be passed; name one task")
        else:
            made["pass_outputs"] = True
    return made


def _task_name(task: str, draft: Draft, context: Context) -> str:
    if not task.lstrip("-").isdecimal():
        return context.index.tasks.get(task, task)
    if (name := context.index.tasks.get(task)) is not None:
        return name
    return context.ask("tasks", task, draft) or f"TODO task {task}"


def _start_timeout(step: Step, made: dict[str, Any], draft: Draft) -> None:
    """Version 1 may limit the wait for what has not begun."""
    waits = step.part("waitStartTimeout")
    if waits.text("enable", "false") == "true" and (minutes := number(waits, "interval", draft.about)):
        made["wait_minutes"] = minutes
        if waits.text("strategy").upper() not in ("FAILED", ""):
            draft.about.changed("waitStartTimeout", "after it the task fails; there it only warned")
    waits.irrelevant("checkInterval", "strategy", "interval")
