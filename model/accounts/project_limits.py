"""What a project may use: tenants, worker groups, environments, data sources and alert groups.

A limit is a boundary, so this module gathers all that a run uses, whether the definition, a start, a schedule, a
backfill, a parent run or a row inserted by SQL names it. A task without a tenant would run as the worker's own user, so
it is refused where tenants are limited. Masters check when they create or resume a run. Workers check names that are
known only when the task runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Protocol

from model.alerts.alerts import DEFAULT_GROUP
from model.choices import WarningType
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.errors import Refused
from model.logic.catalog import LOGIC_TYPES
from model.runs.looks import sourced_of

Used = frozenset[tuple["Resource", str | None]]
"""Kinds and names; a name is None if nothing is named."""


class StartOptions(Protocol):
    """What a start, a schedule, a command or a run sets beside its definition."""

    @property
    def worker_group(self) -> str | None:
        """The group of tasks that name none."""

    @property
    def environment(self) -> str | None:
        """The environment of tasks that name none."""

    @property
    def alert_group(self) -> str | None:
        """The group that its warnings go to."""

    @property
    def warning_type(self) -> str | None:
        """Which warnings it sends."""


class Resource(StrEnum):
    """A kind of thing that a limit of a project can restrict."""

    TENANT = "tenant"
    WORKER_GROUP = "worker group"
    ENVIRONMENT = "environment"
    DATA_SOURCE = "data source"
    ALERT_GROUP = "alert group"


@dataclass(frozen=True, slots=True)
class ProjectLimits:
    """The names of each kind that a project may use; empty = all."""

    tenants: frozenset[str] = frozenset()
    worker_groups: frozenset[str] = frozenset()
    environments: frozenset[str] = frozenset()
    data_sources: frozenset[str] = frozenset()
    alert_groups: frozenset[str] = frozenset()

    def allowed(self, kind: Resource) -> frozenset[str]:
        found: frozenset[str] = getattr(self, f"{kind.name.lower()}s")
        return found

    def check(self, project: str, used: Iterable[tuple[Resource, str | None]]) -> None:
        """Return if the project may use all of these. Raises `Refused`."""
        if self == NO_LIMITS:
            return
        for kind, name in sorted(used, key=lambda each: (each[1] is None, each[0], each[1] or "")):
            allowed = self.allowed(kind)
            if not allowed or name in allowed:
                continue
            what = f'the {kind} "{name}"' if name is not None else f"a worker's own {kind}: a task names none"
            raise Refused(
                f'project "{project}" may not use {what}, only {", ".join(sorted(allowed))}; name one of those, or ask '
                f"an admin"
            )


NO_LIMITS = ProjectLimits()
LIMIT_COLUMNS = tuple(each.name for each in fields(ProjectLimits))
"""In the order of `ProjectLimits`."""
_NAMED_IN_PARAMS = {"datasource": Resource.DATA_SOURCE, "alert_group": Resource.ALERT_GROUP}


def used_by(spec: WorkflowSpec) -> Used:
    """What the runs of a version use, whatever their starts set. Only the worker can resolve a name with a `$`."""
    found: set[tuple[Resource, str | None]] = {(Resource.WORKER_GROUP, spec.worker_group)}
    if spec.environment is not None:
        found.add((Resource.ENVIRONMENT, spec.environment))
    if spec.tenant is not None:
        found.add((Resource.TENANT, spec.tenant))
    if spec.alert_group is not None or spec.warning_type is not WarningType.NONE:
        found.add((Resource.ALERT_GROUP, spec.alert_group or DEFAULT_GROUP))
    for task in spec.tasks:
        found.update(_used_by_task(task, spec))
    return frozenset(found)


def _used_by_task(task: TaskSpec, spec: WorkflowSpec) -> Iterator[tuple[Resource, str | None]]:
    if task.worker_group is not None:
        yield Resource.WORKER_GROUP, task.worker_group
    if task.environment is not None:
        yield Resource.ENVIRONMENT, task.environment
    if task.type in LOGIC_TYPES:
        return
    yield Resource.TENANT, task.tenant or spec.tenant
    for data_source in task.data_sources:
        yield Resource.DATA_SOURCE, data_source
    for field, kind in _NAMED_IN_PARAMS.items():
        for params in (task.params, sourced_of(task.params)):
            name = params.get(field)
            if isinstance(name, str) and "$" not in name:
                yield kind, name


def used_by_start(start: StartOptions, spec: WorkflowSpec | None) -> Used:
    """What a start names beside its definition. Warnings go to the start's alert group, else to the definition's."""
    found: set[tuple[Resource, str | None]] = set()
    if start.worker_group:
        found.add((Resource.WORKER_GROUP, start.worker_group))
    if start.environment:
        found.add((Resource.ENVIRONMENT, start.environment))
    if start.alert_group or (start.warning_type or WarningType.NONE) != WarningType.NONE:
        of_definition = None if spec is None else spec.alert_group
        found.add((Resource.ALERT_GROUP, start.alert_group or of_definition or DEFAULT_GROUP))
    return frozenset(found)


def limits_of(row: object) -> ProjectLimits:
    """The limits in a row that has the columns of `project`; null = all."""
    named = [getattr(row, name) for name in LIMIT_COLUMNS]
    return ProjectLimits(*(frozenset(each or ()) for each in named)) if any(named) else NO_LIMITS
