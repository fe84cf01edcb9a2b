"""The files that an import writes: a workflow each, as Shoal itself would write it, checked by Shoal's own reader.

What a person has to do stands in `todo` at the top; while that is there, no `apply` takes the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from importers import script_checks
from importers.report import About
from service.workflows.workflow_file import TODO, BadWorkflowFile, TaskTypes, WorkflowDocument, parse_workflows
from service.workflows.workflow_text import WorkflowContent, to_yaml, yaml_of

_LENGTH_MAX = 80
"""Of a file's name, in characters: 200 of another script would be too many bytes."""
POOLS = "pools.yaml"
DEFAULT_PROJECT = "default"


@dataclass(frozen=True)
class Checked:
    """A workflow that Shoal's reader has read, or why it does not: a sentence for each problem."""

    document: WorkflowDocument | None
    problems: list[str] = field(default_factory=list)


def head_of(name: str, project: str) -> dict[str, Any]:
    """The keys with which a file begins."""
    return {"name": name, **({"project": project} if project != DEFAULT_PROJECT else {})}


def check(content: Mapping[str, Any], types: TaskTypes) -> Checked:
    """Read a workflow as `apply` will."""
    text = to_yaml(content)
    try:
        (document,) = parse_workflows(text.encode("utf-8", "replace"), "", types)
    except BadWorkflowFile as error:
        return Checked(None, list(dict.fromkeys(fault.sentence for fault in error.faults)))
    return Checked(document)


def reported(content: Mapping[str, Any], types: TaskTypes, about: About) -> Checked:
    """The same. What Shoal's readers refuse, change or do not understand of it is reported."""
    found = check(content, types)
    for problem in found.problems:
        about.todo("", f"Shoal refuses it: {problem}")
    if found.document is not None:
        for note in found.document.notes:
            about.changed("", note)
        for task, sentence in script_checks.faults(found.document.spec):
            about.of_task(task).todo("script", sentence)
        for task, sentence in script_checks.doubts(found.document.spec):
            about.of_task(task).changed("script", sentence)
    return found


def written(content: Mapping[str, Any], checked: Checked, todos: Iterable[str]) -> str:
    """The text of the file: canonical if Shoal's reader takes it, else as it was made."""
    listed = list(todos)
    head = to_yaml({TODO: listed}) if listed else ""
    document = checked.document
    if document is None:
        return head + to_yaml(content)
    schedules = [(entry.spec(document.spec.time_zone), entry.online) for entry in document.schedules]
    whole = WorkflowContent(
        document.project, document.name, document.release_state, document.spec, schedules, document.layout
    )
    return head + yaml_of(whole)


def file_names(named: Iterable[str]) -> list[str]:
    """A file's name for each workflow, each its own, also where case does not count."""
    taken = {POOLS.removesuffix(".yaml")}
    found = []
    for name in named:
        base = re.sub(r"[^\w.-]+", "_", name).strip("._")[:_LENGTH_MAX] or "workflow"
        unique, number = base, 2
        while unique.casefold() in taken:
            unique, number = f"{base}-{number}", number + 1
        taken.add(unique.casefold())
        found.append(f"{unique}.yaml")
    return found


def pools_file(pools: Mapping[str, int]) -> str:
    """The file of the pools that stand for task groups."""
    return "---\n".join(
        to_yaml({"kind": "pool", "name": name, "count": count}) for name, count in sorted(pools.items())
    )
