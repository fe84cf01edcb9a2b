"""The operations that put the last runs of workflows side by side: as bars, and as a grid of their tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from dao.definitions import definitions
from dao.runs import last_runs, usual_times
from dao.runs.rows import Cell, LastRun
from model.accounts.rights import Right
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import TaskCode, WorkflowCode
from service.call import Call
from service.fields import Answer, Asked, Id
from service.operation import operation
from service.paging import ItemsOf
from service.workflows.listing import permitted_head

CELLS_MAX = 50_000
USUAL_MAX = 500
"""Of so many tasks the usual time is said."""


class LastRunsQuery(Asked):
    """Of which workflows, and how many of each."""

    code: Annotated[Sequence[Id], Field(min_length=1, max_length=200, description="their codes, repeated")]
    runs: Annotated[int, Field(ge=1, le=100, description="at most so many of each")] = 12


class GridQuery(Asked):
    """How many runs."""

    runs: Annotated[int, Field(ge=1, le=100, description="at most so many")] = 25


class LastRunAnswer(Answer, LastRun, without={"code"}):
    """One of the last runs of a workflow."""


class RunsOfWorkflow(Answer):
    """The last runs of a workflow, the oldest first; `usual_s` is what the successful ones usually take."""

    code: Id
    project: str
    name: str
    runs: Sequence[LastRunAnswer]
    usual_s: float | None = None


class GridTask(Answer):
    """A row of the grid. `is_current`: it is a task of the current version."""

    code: Id
    name: str
    is_current: bool
    usual_s: float | None = None


class GridCell(Answer, Cell, without={"name"}):
    """The attempt that counts of a task in a run."""


class GridAnswer(Answer):
    """The tasks of the last runs of a workflow: a column for each run, the oldest first, a row for each task.

    A task that has not begun in a run has no cell there. `is_complete`: no cell is left out, of 50,000 at most.
    """

    runs: Sequence[LastRunAnswer]
    tasks: Sequence[GridTask]
    cells: Sequence[GridCell]
    is_complete: bool


@operation("GET", "/workflow-definitions:last-runs", Right.VIEW, "workflow-definitions")
async def list_last_runs(call: Call, query: LastRunsQuery) -> ItemsOf[RunsOfWorkflow]:
    """List the last runs of some workflows, to be drawn as bars: how each ended, and how long it took.

    Workflows that do not exist, or may not be seen, are missing.
    """
    visible = call.visible()
    async with call.reading() as connection:
        heads = await definitions.heads(connection, [WorkflowCode(code) for code in query.code])
        codes = sorted(code for code, head in heads.items() if visible is None or head.project in visible)
        found = await last_runs.last_runs(connection, codes, query.runs)
        usual = await usual_times.of_runs(connection, codes)
    runs: dict[WorkflowCode, list[LastRunAnswer]] = defaultdict(list)
    for run in found:
        runs[run.code].append(LastRunAnswer.model_validate(run))
    return ItemsOf[RunsOfWorkflow](
        items=[
            RunsOfWorkflow(
                code=code,
                project=heads[code].project,
                name=heads[code].name,
                runs=runs[code],
                usual_s=usual.get(code),
            )
            for code in codes
        ]
    )


@operation("GET", "/workflow-definitions/{code}/grid", Right.VIEW, "workflow-definitions")
async def get_grid(call: Call, code: Id, query: GridQuery) -> GridAnswer:
    """Show the tasks of the last runs of a workflow side by side, as a grid."""
    async with call.reading() as connection:
        head = await permitted_head(call, connection, code)
        spec = await definitions.spec_of(connection, head.code, head.version)
        runs = await last_runs.last_runs(connection, [head.code], query.runs)
        found = await last_runs.cells(connection, [run.id for run in runs], CELLS_MAX + 1)
        cells = found[:CELLS_MAX]
        names: dict[TaskCode, str] = {cell.task_code: cell.name for cell in cells}
        current = _codes(spec)
        usual = await usual_times.of_tasks(connection, head.code, [*current, *names][:USUAL_MAX])
    rows = {**current, **{code: name for code, name in names.items() if code not in current}}
    return GridAnswer(
        runs=[LastRunAnswer.model_validate(run) for run in runs],
        tasks=[
            GridTask(code=task, name=name, is_current=task in current, usual_s=usual.get(task))
            for task, name in rows.items()
        ],
        cells=[GridCell.model_validate(cell) for cell in cells],
        is_complete=len(found) <= CELLS_MAX,
    )


def _codes(spec: WorkflowSpec | Refused | None) -> dict[TaskCode, str]:
    """The tasks of a version in their order; none if it cannot be read."""
    if not isinstance(spec, WorkflowSpec):
        return {}
    return {TaskCode(task.code): task.name for task in spec.tasks if task.code is not None}
