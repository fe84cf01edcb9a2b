"""Whether a project may use what is saved, started or let go on: an early answer. The master decides, for each run."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from dao.accounts import members
from dao.definitions import definitions
from model.accounts.project_limits import NO_LIMITS, StartOptions, used_by, used_by_start
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import WorkflowInstanceId

if TYPE_CHECKING:
    from dao.definitions.definitions import Definition
    from dao.postgres.pool import AsyncConnection


async def check_limits(
    connection: AsyncConnection, project: str, spec: WorkflowSpec, starts: Iterable[StartOptions] = ()
) -> None:
    """Return if the project may use all that a definition and its schedules name. Raises `Refused`."""
    limits = await members.limits(connection, project)
    limits.check(project, used_by(spec).union(*(used_by_start(start, spec) for start in starts)))


async def check_limits_of_start(
    connection: AsyncConnection, head: Definition, version: int | None, *starts: StartOptions
) -> None:
    """Refuse to start what was saved before its project was limited, and what a start names beside.

    A version that is missing or cannot be read is left to the master. Raises `Refused`.
    """
    limits = await members.limits(connection, head.project)
    if limits == NO_LIMITS:
        return
    spec = await definitions.spec_of(connection, head.code, version or head.version)
    if isinstance(spec, WorkflowSpec):
        limits.check(head.project, used_by(spec).union(*(used_by_start(start, spec) for start in starts)))


async def check_limits_of_reruns(connection: AsyncConnection, runs: Collection[WorkflowInstanceId]) -> None:
    """Refuse to run again what was started before its project was limited. Raises `Refused`."""
    for reason in (await refused_reruns(connection, runs)).values():
        raise Refused(reason)


async def refused_reruns(
    connection: AsyncConnection, runs: Collection[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, str]:
    """Those of these runs that may not run again, since their project may not use what they need; with the reason."""
    limited = await members.limited_runs(connection, runs)
    specs = await definitions.specs(connection, {(run.workflow_code, run.workflow_version) for run in limited})
    refused: dict[WorkflowInstanceId, str] = {}
    for run in limited:
        try:
            spec = specs.get((run.workflow_code, run.workflow_version))
            known = spec if isinstance(spec, WorkflowSpec) else None
            run.limits.check(run.project, used_by_start(run, known).union(used_by(known) if known else ()))
        except Refused as reason:
            refused[run.id] = str(reason)
    return refused
