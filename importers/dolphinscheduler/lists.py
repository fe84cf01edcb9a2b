"""Versions 2.0 to 3.4: a definition, its relations and its tasks in lists of their own, joined by codes.

    {"processDefinition": {...}, "processTaskRelationList": [...], "taskDefinitionList": [...], "schedule": {...}}

From 3.3 on the names begin with `workflow`. The body of a request has `taskDefinitionJson` and `taskRelationJson`
beside the fields of the definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from importers.dolphinscheduler.flow import Flow, Step, coordinates
from importers.ledger import Fields, Ledger, Path
from importers.report import About

EXPORT_2 = "export of 2.0 to 3.2 (processDefinition)"
EXPORT_3 = "export of 3.3 and later (workflowDefinition)"
BODY = "body of a request (taskDefinitionJson)"
_HEADS = {"processDefinition": EXPORT_2, "workflowDefinition": EXPORT_3}
_RELATIONS = ("processTaskRelationList", "workflowTaskRelationList", "taskRelationList")
_OF_ROWS = ("id", "version", "createTime", "updateTime", "userId", "userName", "modifyBy", "operator", "operateTime")


def form_of(content: Mapping[str, Any]) -> str | None:
    """Which of these forms a mapping has; None if it has none."""
    for head, form in _HEADS.items():
        if isinstance(content.get(head), dict) and (
            isinstance(content.get("taskDefinitionList"), list) or any(name in content for name in _RELATIONS)
        ):
            return form
    return BODY if "taskDefinitionJson" in content and "taskRelationJson" in content else None


def read(content: Mapping[str, Any], path: Path, ledger: Ledger, file: str, about: About) -> Flow:
    """The workflow in a mapping of one of these forms."""
    form = form_of(content) or BODY
    whole = Fields(content, path, ledger)
    if form == BODY:
        fields, tasks, relations = whole, whole.children("taskDefinitionJson"), whole.children("taskRelationJson")
    else:
        fields = whole.child(next(name for name in _HEADS if name in content))
        tasks = whole.children("taskDefinitionList")
        relations = [each for name in _RELATIONS for each in whole.children(name)]
    fields.irrelevant(*_OF_ROWS, "globalParamList", "projectName", "scheduleReleaseState")
    copies = fields.child("globalParamMap")
    copies.irrelevant(*(str(each.get("prop")) for each in fields.seen("globalParams")))
    name = fields.text("name", "unnamed")
    steps = [_step(each) for each in tasks]
    about = about.report.about(file, name)
    _say_other_versions(tasks, relations, about)
    edges = list(_edges(relations, {step.key for step in steps}, about))
    schedule = whole.child("schedule")
    places = {each.text("taskCode"): coordinates(each) for each in fields.children("locations")}
    return Flow(
        file,
        form,
        name,
        fields,
        steps,
        [(before, after) for before, after in edges if before != "0"],
        fields.text("projectName"),
        fields.text("projectCode") or (steps[0].fields.text("projectCode") if steps else ""),
        [each for each in (fields.text("code"), fields.text("id")) if each],
        {key: place for key, place in places.items() if place is not None},
        schedule if schedule.content else None,
        frozenset(each.text(end) for each in relations for end in ("preTaskCode", "postTaskCode")),
    )


def _say_other_versions(tasks: Iterable[Fields], relations: Iterable[Fields], about: About) -> None:
    """Say where the relations name another version of a task than that which is here."""
    found = {each.text("code"): each for each in tasks}
    for relation in relations:
        task = found.get(relation.text("postTaskCode"))
        named, there = relation.text("postTaskVersion", "0"), task.text("version", "0") if task is not None else "0"
        if task is not None and "0" not in (named, there) and named != there:
            about.changed(
                "postTaskVersion",
                f'it is version {there} of "{task.text("name")}"; the workflow runs version {named}, which is not here',
            )


def _step(task: Fields) -> Step:
    task.irrelevant(*_OF_ROWS, "taskParamList", "taskParamMap", "projectName", "projectCode", "resourceIds")
    return Step(
        task.text("code") or task.text("name"),
        task.text("name", "unnamed"),
        task.text("taskType"),
        task,
        task.child("taskParams"),
    )


def _edges(relations: Iterable[Fields], keys: set[str], about: About) -> Iterable[tuple[str, str]]:
    for each in relations:
        each.irrelevant(*_OF_ROWS, "name", "projectCode", "preTaskVersion", "postTaskVersion")
        each.irrelevant("processDefinitionVersion", "processDefinitionCode")
        each.irrelevant("workflowDefinitionVersion", "workflowDefinitionCode")
        before, after = each.text("preTaskCode", "0"), each.text("postTaskCode", "0")
        if each.text("conditionType", "NONE") not in ("NONE", "0") or each.has("conditionParams"):
            each.reported("conditionParams")
            condition = f"{each.text('conditionType')} {each.text('conditionParams')}"
            sentence = f"the relation {before} -> {after} has a condition ({condition}); relations have none here"
            about.lost("conditionType", sentence)
        if unknown := [key for key in (before, after) if key not in keys and key != "0"]:
            sentence = (
                f"a relation names the task {unknown[0]}, which the file does not have; export it again, or drop it"
            )
            about.todo("relations", sentence)
        elif after != "0":
            yield before, after
