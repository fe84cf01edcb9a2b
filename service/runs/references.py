"""How people name a run or a task: by id, by `@last` and `@failed`, by a workflow's name, by `RUN/task`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from shlex import quote

from dao.definitions import definitions
from dao.definitions.definitions import Definition
from dao.postgres.pool import AsyncConnection
from dao.run_lists import element_listings
from dao.run_lists import run_listings as listings
from dao.run_lists.wanted_runs import WantedRuns
from dao.runs import lookups
from dao.runs.rows import Run, TaskRun
from model.accounts.rights import is_seen
from model.choices import ReleaseState
from model.definitions.names import as_id
from model.definitions.plan import Plan
from model.definitions.workflow import WorkflowSpec
from model.errors import NotFound, Refused
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.states import WorkflowState
from service.workflows.typed_names import typed

LAST = "@last"
FAILED = "@failed"


async def named_run(
    connection: AsyncConnection, named: str, project: str | None = None, visible: Collection[str] | None = None
) -> Run:
    """Find a run: an id, `@last`, `@failed` (both never a child run), or a workflow's name for its last run.

    All but an id only in `project`, if one is given; all only in the `visible` projects. Raises `NotFound`, and
    `Refused` for a name that workflows of several projects have.
    """
    number = as_id(named)
    if number is not None:
        run = await listings.run_head(connection, WorkflowInstanceId(number))
        if not is_seen(run.project, visible):
            raise listings.no_run(run.id)
        return run
    wanted = WantedRuns(1, project=project, visible=visible)
    if named == LAST:
        wanted = replace(wanted, children=False)
    elif named == FAILED:
        wanted = replace(wanted, states=[WorkflowState.FAILURE], children=False)
    else:
        projects = await definitions.projects_with(connection, named) if project is None else []
        projects = [each for each in projects if visible is None or each in visible]
        if len(projects) > 1:
            raise Refused(
                f'several projects have a workflow "{named}": {", ".join(projects)}; say which one is meant: --project'
            )
        wanted = replace(wanted, workflow=named)
    found = await listings.runs(connection, wanted)
    if not found:
        what = {LAST: "there is no run yet", FAILED: "no run has failed"}
        where = f' in project "{project}"' if project is not None else ""
        said = what.get(named, f'no run of a workflow "{named}"')
        raise NotFound(f"{said}{where}; `shoal runs` lists the runs")
    return found[0]


async def find_task(
    connection: AsyncConnection, named: str, project: str | None = None, visible: Collection[str] | None = None
) -> tuple[Run, TaskRun]:
    """Find a task instance: its id, or RUN/name for the last attempt of that task. Raises as `named_run`."""
    number = as_id(named)
    if number is not None:
        id_ = TaskInstanceId(number)
        run, tasks = await element_listings.run_of(connection, id_)
        if not is_seen(run.project, visible):
            raise lookups.no_task(id_)
        return run, next(task for task in tasks if task.id == number)
    of_run, slash, name = named.partition("/")
    if not slash:
        raise NotFound(f'"{named}" names no task; give its id, or RUN/name such as {quote(f"12/{named}")}')
    run, tasks = await listings.run(connection, (await named_run(connection, of_run, project, visible)).id)
    attempts = [task for task in tasks if task.name == name]
    attempts = attempts or await element_listings.attempts_named(connection, run.id, tasks, name)
    if not attempts:
        known = ", ".join(dict.fromkeys(task.name for task in tasks)) or "none"
        raise NotFound(f'no task "{name}" has begun in run {run.id}; begun are: {known}')
    return run, attempts[-1]


def check_startable(head: Definition) -> None:
    """Raises `Refused` for a workflow that is OFFLINE."""
    if head.release_state is not ReleaseState.ONLINE:
        named = typed(head.name, head.project, head.code)
        raise Refused(
            f'workflow "{head.name}" is OFFLINE; put it ONLINE before starting it: shoal workflow online {named}'
        )


async def find_plan(connection: AsyncConnection, run: Run) -> Plan | None:
    """The definition of a run; None when it is deleted or cannot be read."""
    return plan_of(run, await definitions.specs(connection, [(run.workflow_code, run.version)]))


def plan_of(run: Run, specs: Mapping[tuple[WorkflowCode, int], WorkflowSpec | Refused]) -> Plan | None:
    """The same, from what was read."""
    code, version = run.workflow_code, run.version
    spec = specs.get((code, version))
    if not isinstance(spec, WorkflowSpec):
        return None
    try:
        return Plan.of(code, version, spec, name=run.workflow or "", project=run.project or "")
    except Refused:
        return None
