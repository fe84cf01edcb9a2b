"""CONDITIONS, SWITCH, SUB_PROCESS and DYNAMIC: branches by name, other workflows by name."""

from __future__ import annotations

from typing import Any

from importers.dolphinscheduler.choices import ENDS, RELATIONS, choice, number
from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.flow import Step
from importers.dolphinscheduler.types.javascript import condition_of
from importers.draft import Draft
from importers.ledger import Fields
from importers.report import About


def conditions(step: Step, draft: Draft, context: Context) -> None:
    """CONDITIONS; a task that it asks for must come directly before it here."""
    draft.type = "CONDITIONS"
    dependence, result = step.part("dependence"), step.part("conditionResult")
    groups = []
    for group in dependence.children("dependTaskList"):
        items = []
        for item in group.children("dependItemList"):
            key = item.text("depTaskCode") or item.text("depTasks")
            item.irrelevant("projectCode", "definitionCode", "definitionId", "projectId", "cycle", "dateValue", "state")
            item.irrelevant("dependentType")
            status = choice(item, "status", ENDS, "SUCCESS", draft.about)
            if (name := context.name_of(key)) is None:
                draft.about.todo("dependItemList", f"it asks for a task {key}, which the file does not have")
                continue
            context.link(name, draft.name, "it asks how that task ended")
            items.append({"task": name, "status": status})
        if items:
            groups.append({"items": items, **relation_of(group, draft.about)})
    dependence.irrelevant("checkInterval", "failurePolicy", "failureWaitingTime")
    if not groups:
        draft.about.todo("dependence", "it asks for no task; write when")
    made: dict[str, Any] = {"when": groups, **relation_of(dependence, draft.about)}
    for field, ours in (("successNode", "on_success"), ("failedNode", "on_failure")):
        if branch := _branch(result.listed(field), field, draft, context):
            made[ours] = branch
    draft.params = made


def switch(step: Step, draft: Draft, context: Context) -> None:
    """SWITCH; its conditions are JavaScript there and CEL here."""
    draft.type = "SWITCH"
    result = step.part("switchResult")
    cases = []
    for case in result.children("dependTaskList"):
        written = case.text("condition")
        when, sentence = condition_of(written)
        if sentence:
            draft.about.todo("condition", f"{written}: {sentence}")
        elif when != written:
            draft.about.changed("condition", f"{written} is now {when}")
        if branch := _branch(case.listed("nextNode"), "nextNode", draft, context):
            cases.append({"when": when, "then": branch})
        else:
            draft.about.todo(
                "nextNode", f"{written} chooses no task, so none of the others either; write what is meant"
            )
    made: dict[str, Any] = {"cases": cases}
    if default := _branch(result.listed("nextNode"), "nextNode", draft, context):
        made["default"] = default
    step.params.irrelevant("nextBranch")
    if not cases:
        draft.about.todo("switchResult", "it has no condition; write cases, or remove the task")
    draft.params = made


def sub_process(step: Step, draft: Draft, context: Context) -> None:
    draft.type = "SUB_PROCESS"
    draft.params = _child(step.params, draft, context)


def dynamic(step: Step, draft: Draft, context: Context) -> None:
    params = step.params
    draft.type = "DYNAMIC"
    lists = []
    for each in params.children("listParameters"):
        separator = each.text("separator", ",")
        entry = {"name": each.text("name") or each.text("prop"), "value": each.text("value")}
        lists.append({**entry, **({"separator": separator} if separator != "," else {})})
        each.irrelevant("disabled")
    made: dict[str, Any] = {**_child(params, draft, context), "lists": lists}
    if left_out := params.text("filterCondition"):
        made["filter"] = [value for part in left_out.split(",") if (value := part.strip())]
    for field, ours in (("degreeOfParallelism", "parallelism"), ("maxNumOfSubWorkflowInstances", "max_instances")):
        if wanted := number(params, field, draft.about):
            made[ours] = int(wanted)
    draft.params = made


def _child(params: Fields, draft: Draft, context: Context) -> dict[str, Any]:
    names = ("workflowDefinitionCode", "processDefinitionCode", "processDefinitionId", "workflowCode")
    id_ = next((params.text(name) for name in names if params.has(name)), "")
    named = params.text("processDefinitionName") or params.text("workflowName")
    if not id_ and not named:
        draft.about.todo("processDefinitionCode", "it names no workflow; write one")
        return {"workflow": "TODO"}
    return context.workflow(draft, id_, named)


def relation_of(fields: Fields, about: About) -> dict[str, str]:
    """The relation between groups or items, if it is not AND."""
    return {"relation": "OR"} if choice(fields, "relation", RELATIONS, "AND", about) == "OR" else {}


def _branch(keys: list[Any], field: str, draft: Draft, context: Context) -> list[str]:
    found: list[str] = []
    for key in keys:
        if key in (None, "", 0, "0"):
            continue
        if (name := context.name_of(key)) is None:
            draft.about.todo(field, f"it chooses a task {key}, which the file does not have")
        elif name not in found:
            context.link(draft.name, name, f'"{draft.name}" chooses it')
            found.append(name)
    return found
