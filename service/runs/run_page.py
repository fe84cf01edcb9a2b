"""All that `shoal show` shows of one run, read in one go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.runs import relations
from dao.runs.relations import ChildRun, FailedBelow
from dao.views import listings, lookups
from dao.views.listings import Run, TaskRun
from dao.views.lookups import CommandFate
from model.ids import WorkflowInstanceId
from model.plan import Plan
from service.explain.choices import read_choices
from service.explain.tasks_without_attempts import TaskWithoutAttempt, without_attempts
from service.runs.references import find_plan
from service.runs.time_left import TimeLeft, time_left

CHILDREN_NAMED_MAX = 3


@dataclass(frozen=True)
class RunPage:
    """The data of the page. `plan` is None when its definition cannot be read, `command` when its history is gone.

    `choices` say of the tasks that chose a branch which and why, by name. `failures` are the tasks of child runs for
    which tasks of this run failed. `left` are estimates of the time left.
    """

    run: Run
    tasks: Sequence[TaskRun]
    children: Sequence[ChildRun]
    plan: Plan | None
    command: CommandFate | None
    choices: Mapping[str, str]
    failures: Sequence[FailedBelow]
    left: TimeLeft

    @property
    def not_begun(self) -> dict[str, TaskWithoutAttempt]:
        """The tasks without an attempt."""
        if self.plan is None:
            return {}
        return without_attempts(self.plan, self.run.scope, self.tasks, ended=self.run.state.is_final)

    def failure_below(self, task: TaskRun) -> FailedBelow | None:
        """The task of a child run for which an attempt failed."""
        here = (task.code, task.attempt)
        return next((each for each in self.failures if (each.code, each.attempt) == here), None)

    def said_children(self, task: TaskRun) -> str:
        """The runs that an attempt represents, in words; empty without any."""
        own = [child for child in self.children if (child.code, child.attempt) == (task.code, task.attempt)]
        if len(own) <= CHILDREN_NAMED_MAX:
            return ", ".join(f"run {child.id} ({child.state})" for child in own)
        states = Counter(child.state for child in own)
        counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        return f"{len(own)} runs from {own[0].id} to {own[-1].id}: {counts}"


async def read_page(connection: AsyncConnection, id_: WorkflowInstanceId) -> RunPage:
    """Read the page of a run. Raises `NotFound`."""
    run, tasks = await listings.run(connection, id_)
    plan = await find_plan(connection, run)
    return RunPage(
        run,
        tasks,
        (await relations.children(connection, [id_]))[id_],
        plan,
        await lookups.started_by(connection, id_),
        await read_choices(connection, plan, tasks),
        await relations.failures_below(connection, id_),
        await time_left(connection, run, tasks),
    )
