"""How an ended run continues with another version of its workflow. Pure.

It keeps its schedule time, its given parameters and those of the project. Where the new version differs from the old
one, the new one applies. What a start set instead of the definition stays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from dao.runs.control import VersionChange
from master.drive.parameters import EPOCH
from model.definitions.newer_version import changed_parameters, changed_tasks
from model.definitions.plan import Plan
from model.errors import Refused
from model.ids import TaskCode
from model.parameters.parameters import parse_parameters
from model.parameters.precedence import base_parameters
from model.runs.instances import WorkflowInstance
from model.time.run_time import RunTime


@dataclass(frozen=True, slots=True)
class Onto:
    """The changes of the row, and the tasks of the new version whose results no longer count."""

    change: VersionChange
    changed: frozenset[TaskCode]


def onto_version(instance: WorkflowInstance, old: Plan | Refused, new: Plan, project: Mapping[str, str]) -> Onto:
    """Move a run onto another version. Raises `Refused` if it cannot have the resulting parameters.

    Args:
        instance: as it ended.
        old: the plan of its version, or why it cannot be read: then no task counts as done.
        new: the plan of the version with which it continues.
        project: the parameters of its project.
    """
    spec = new.spec
    change = VersionChange(
        instance.id,
        new.version,
        json.dumps(_parameters(instance, old, new, project), ensure_ascii=False),
        spec.worker_group if _is_standard(old, "worker_group", instance.worker_group) else instance.worker_group,
        spec.environment if _is_standard(old, "environment", instance.environment) else instance.environment,
        spec.priority if _is_standard(old, "priority", instance.priority) else instance.priority,
        spec.failure_strategy
        if _is_standard(old, "failure_strategy", instance.failure_strategy)
        else instance.failure_strategy,
    )
    return Onto(change, _changed(old, new))


def _changed(old: Plan | Refused, new: Plan) -> frozenset[TaskCode]:
    if isinstance(old, Refused) or any(old.codes.get(name, code) != code for name, code in new.codes.items()):
        return frozenset(new.tasks)  # a result belongs to a code, so one of another name would count
    names = changed_tasks(old.spec, new.spec)
    return frozenset(new.codes[name] for name in names if name in new.codes)


def _is_standard(old: Plan | Refused, field: str, value: object) -> bool:
    """Whether a value is the old definition's own, and not set by a start."""
    return isinstance(old, Plan) and value == getattr(old.spec, field)


def _parameters(
    instance: WorkflowInstance, old: Plan | Refused, new: Plan, project: Mapping[str, str]
) -> dict[str, str]:
    values = parse_parameters(instance.params, "the run's parameters")
    given = set(json.loads(instance.startup_names))
    changed = frozenset() if isinstance(old, Refused) else changed_parameters(old.spec.params, new.spec.params)
    kept = {name: value for name, value in values.items() if name in given or name not in changed}
    time = RunTime(instance.schedule_time or EPOCH, instance.time_zone, instance.interval)
    return base_parameters(new, project=project, inherited={}, startup=kept, time=time, are_made=True)
