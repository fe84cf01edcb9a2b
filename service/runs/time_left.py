"""Estimates of the time that runs and their tasks have left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dao.runs import usual_times
from model.ids import TaskInstanceId
from model.runs.estimate import run_left_s, task_left_s
from model.runs.states import TaskState, WorkflowState

if TYPE_CHECKING:
    from dao.postgres.pool import AsyncConnection
    from dao.runs.rows import Run, TaskRun

TASKS_MAX = 200
"""More running tasks of a run are estimated by their own progress only."""


@dataclass(frozen=True)
class TimeLeft:
    """Seconds: of the run and of each of its running tasks; what is unknown is None or missing. `usual_s` is what runs
    of this workflow usually take."""

    usual_s: float | None = None
    run_s: float | None = None
    tasks_s: dict[TaskInstanceId, float] = field(default_factory=dict)


async def time_left(connection: AsyncConnection, run: Run, tasks: Sequence[TaskRun]) -> TimeLeft:
    """The estimate for one run, with its attempts."""
    if run.state.is_final or any(task.is_stream and task.valid and not task.state.is_final for task in tasks):
        return TimeLeft()  # it is not expected to end
    running = [task for task in tasks if task.state is TaskState.RUNNING_EXECUTION and task.valid]
    usual_s = (await usual_times.of_runs(connection, [run.workflow_code])).get(run.workflow_code)
    codes = [task.code for task in running if task.progress is None][:TASKS_MAX]
    usual_of = await usual_times.of_tasks(connection, run.workflow_code, codes) if codes else {}
    tasks_s = {
        task.id: left_s for task in running if (left_s := _task_left_s(task, usual_of.get(task.code))) is not None
    }
    is_halted = run.state is not WorkflowState.RUNNING_EXECUTION
    return TimeLeft(usual_s, None if is_halted else run_left_s(run.elapsed_s, usual_s, tasks_s.values()), tasks_s)


def _task_left_s(task: TaskRun, usual_s: float | None) -> float | None:
    took_s = task.took_s or 0.0
    if task.progress is None or task.progress_at is None or task.started_at is None:
        return task_left_s(None, took_s, usual_s)
    then_s = (task.progress_at - task.started_at).total_seconds()
    left_s = task_left_s(task.progress, then_s, usual_s)
    return None if left_s is None else max(0.0, left_s - max(0.0, took_s - then_s))
