"""What another version of a workflow changes for a run that goes on with it. Pure.

A task that succeeded and is the same in both versions keeps its result: it counts as done. A parameter that has another
value in the new version changes the tasks that use it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.parameters.parameters import references

_TAKES_ALL = ("SUB_PROCESS", "DYNAMIC")
"""They give every parameter to their child runs."""


def changed_tasks(old: WorkflowSpec, new: WorkflowSpec) -> list[str]:
    """The tasks that are new or do something else in the new version, in its order; then those that it has no more."""
    values = changed_parameters(old.params, new.params)
    before = {task.name: _work(task, old) for task in old.tasks}
    changed = [
        task.name for task in new.tasks if _work(task, new) != before.get(task.name) or _uses(_work(task, new), values)
    ]
    present = {task.name for task in new.tasks}
    return changed + [task.name for task in old.tasks if task.name not in present]


def changed_parameters(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """The global parameters whose values differ, those that refer to such ones among them."""
    changed = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    while more := {
        name for name, value in new.items() if name not in changed and not changed.isdisjoint(references(value))
    }:
        changed |= more
    return frozenset(changed)


def _work(task: TaskSpec, spec: WorkflowSpec) -> TaskSpec:
    """What a task does, and what it takes from its workflow; neither its number nor the order of its predecessors."""
    own = {
        "code": None,
        "description": "",
        "after": tuple(sorted(task.after)),
        "worker_group": task.worker_group or spec.worker_group,
        "environment": task.environment or spec.environment,
        "tenant": task.tenant or spec.tenant,
    }
    return task.model_copy(update=own)


def _uses(task: TaskSpec, values: frozenset[str]) -> bool:
    if not values:
        return False
    if task.type in _TAKES_ALL:
        return True
    written = json.dumps([task.params, [param.value for param in task.local_params]], ensure_ascii=False)
    return not values.isdisjoint(references(written))
