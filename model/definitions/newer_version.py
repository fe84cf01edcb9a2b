"""What a newer version of a workflow changes for a run that continues with it. Pure.

A succeeded task that is the same in both versions keeps its result. A parameter with another value changes the tasks
that use it.
"""

from __future__ import annotations

from collections.abc import Mapping

from model.definitions.after_last import GATE
from model.definitions.result_references import texts_of
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.parameters.parameters import references
from model.parameters.results import bases

_TAKES_ALL = ("SUB_PROCESS", "DYNAMIC")
"""Task types that pass every parameter to their child runs."""


def changed_tasks(old: WorkflowSpec, new: WorkflowSpec) -> list[str]:
    """The tasks that are new or differ in the new version, in its order; then the removed ones."""
    values = changed_parameters(old.params, new.params)
    before = {task.name: _work(task, old) for task in old.tasks}
    changed = [
        task.name for task in new.tasks if _work(task, new) != before.get(task.name) or _uses(_work(task, new), values)
    ]
    present = {task.name for task in new.tasks}
    return changed + [task.name for task in old.tasks if task.name not in present]


def changed_parameters(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """The global parameters whose values differ, including those that refer to such parameters."""
    changed = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    while more := {
        name for name, value in new.items() if name not in changed and not changed.isdisjoint(_named(value))
    }:
        changed |= more
    return frozenset(changed)


def _work(task: TaskSpec, spec: WorkflowSpec) -> TaskSpec:
    """A task reduced to what it does and takes from its workflow: without code and order of predecessors."""
    own = {
        "code": None,
        "description": "",
        "group": None,
        "after": tuple(sorted(name for name in task.after if name != GATE)),
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
    return any(not values.isdisjoint(_named(text)) for text in texts_of(task))


def _named(text: str) -> set[str]:
    """The parameters that a text refers to; `${files[0].name}` may refer to `files`."""
    return {base for name in references(text) for base, _ in bases(name)}
