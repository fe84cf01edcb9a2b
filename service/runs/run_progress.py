"""How far runs are, and the time that they have left, in one answer for many."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dao.runs import run_progress, usual_times
from model.runs.estimate import run_left_s
from model.runs.states import TaskState, WorkflowState
from service.runs.answers import ListedRun

if TYPE_CHECKING:
    from dao.postgres.pool import AsyncConnection
    from dao.runs.run_progress import RunExtent


@dataclass(frozen=True)
class Extent:
    """A run, its tasks by state, and what runs of its workflow usually take if it has not ended."""

    run: RunExtent
    states: Mapping[TaskState, int]
    usual_s: float | None

    @property
    def done(self) -> int:
        return sum(self.states.get(state, 0) for state in (TaskState.SUCCESS, TaskState.FORCED_SUCCESS))

    @property
    def left_s(self) -> float | None:
        """An estimate of the time left, if it runs."""
        if self.run.state is not WorkflowState.RUNNING_EXECUTION or self.run.elapsed_s is None:
            return None
        return run_left_s(self.run.elapsed_s, self.usual_s)


async def read_extents(
    connection: AsyncConnection, ids: Collection[int], visible: Collection[str] | None
) -> list[Extent]:
    """Of these runs, by id; those that do not exist, or may not be seen, are missing."""
    runs = await run_progress.extents(connection, ids, visible)
    states = await run_progress.states(connection, [run.id for run in runs])
    unfinished = {run.code for run in runs if not run.state.is_final}
    usual = await usual_times.of_runs(connection, unfinished) if unfinished else {}
    return [Extent(run, states[run.id], None if run.state.is_final else usual.get(run.code)) for run in runs]


async def with_progress(connection: AsyncConnection, items: Sequence[ListedRun]) -> list[ListedRun]:
    """The same runs with how far they are."""
    found = {each.run.id: each for each in await read_extents(connection, [item.id for item in items], None)}
    return [_with(item, found.get(item.id)) for item in items]


def _with(item: ListedRun, extent: Extent | None) -> ListedRun:
    if extent is None:
        return item
    fields = {
        "usual_s": extent.usual_s,
        "left_s": extent.left_s,
        "tasks_total": extent.run.tasks,
        "tasks_done": extent.done,
    }
    return item.model_copy(update=fields)
