"""How far a backfill has come: the dates that are done, those that run, and the chains that stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.runs import backfills
from dao.runs.backfills import DateRun, RefusedDates
from model.ids import CommandId, WorkflowCode
from model.runs.states import WorkflowState
from service.explain.answer import going_on
from service.fields import Answer, Id, Moment


@dataclass(frozen=True)
class Backfill:
    """A backfill that was asked for: the same chains of dates for each of its workflows (code -> name)."""

    command: CommandId
    workflows: Mapping[WorkflowCode, str]
    chains: Sequence[Sequence[datetime]]

    @property
    def count(self) -> int:
        return len(self.workflows) * sum(map(len, self.chains))


class RunningDate(Answer):
    """A run of a date that has not ended."""

    run_id: Id
    state: WorkflowState
    date: Moment


class RunOfDate(RunningDate):
    """The run of a date, whether it has ended or not."""

    workflow: Id
    """Its code."""
    elapsed_s: float


class StoppedChain(Answer):
    """A chain that does not go on by itself: a run ended otherwise than in success, or the command for `date` was
    refused (`run_id` is left out). `dates_left` come after it; `go_on` is the verb by which the chain goes on."""

    workflow: str
    date: Moment
    run_id: Id | None = None
    state: WorkflowState | None = None
    reason: str | None = None
    dates_left: int
    go_on: str


class BackfillProgress(Answer):
    """A backfill at one moment. `waiting` chains have a date that a master has not begun.

    `is_taken`: a master has taken its command; `reason` says why it refused it. `runs` are there if they were wanted.
    """

    total: int
    done: int
    running: Sequence[RunningDate]
    waiting: int
    stopped: Sequence[StoppedChain]
    is_taken: bool = False
    reason: str | None = None
    runs: Sequence[RunOfDate] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing of it goes on by itself."""
        return self.is_taken and not self.running and not self.waiting


def progress_of(backfill: Backfill, runs: Sequence[DateRun], refused: Sequence[RefusedDates]) -> BackfillProgress:
    """How far a backfill has come, by the runs of its dates and the commands of it that were refused. Pure."""
    found = {(run.workflow_code, run.date): run for run in runs}
    failing = {(each.workflow_code, date): each for each in refused for date in _moments(each.dates)}
    done, waiting = 0, 0
    running: list[RunningDate] = []
    stopped: list[StoppedChain] = []
    for code, name in backfill.workflows.items():
        for chain in backfill.chains:
            for left, date in zip(range(len(chain) - 1, -1, -1), chain, strict=True):
                run, failure = found.get((code, date)), failing.get((code, date))
                if run is not None and run.state is WorkflowState.SUCCESS:
                    done += 1
                    continue
                if run is not None and run.state.is_final:
                    stopped.append(_stopped_by(run, name, left))
                elif run is not None:
                    running.append(RunningDate(run_id=run.id, state=run.state, date=run.date))
                elif failure is not None:
                    retry = f"shoal queue retry {failure.id}"
                    stopped.append(
                        StoppedChain(workflow=name, date=date, reason=failure.reason, dates_left=left, go_on=retry)
                    )
                else:
                    waiting += 1
                break
    return BackfillProgress(total=backfill.count, done=done, running=running, waiting=waiting, stopped=stopped)


def _stopped_by(run: DateRun, workflow: str, left: int) -> StoppedChain:
    return StoppedChain(
        workflow=workflow,
        date=run.date,
        run_id=run.id,
        state=run.state,
        reason=run.reason,
        dates_left=left,
        go_on=going_on(run.id, run.state),
    )


async def read_progress(connection: AsyncConnection, backfill: Backfill, *, with_runs: bool) -> BackfillProgress:
    dates = {date for chain in backfill.chains for date in chain}
    runs = await backfills.runs_of_dates(connection, backfill.workflows, dates, backfill.command)
    refused = await backfills.refused_dates(connection, backfill.workflows, backfill.command)
    progress = progress_of(backfill, runs, refused)
    if not with_runs:
        return progress
    return progress.model_copy(update={"runs": [_run_of_date(run) for run in runs]})


def _run_of_date(run: DateRun) -> RunOfDate:
    return RunOfDate.showing(run, run_id=run.id, workflow=run.workflow_code)


def _moments(dates: Sequence[str]) -> Iterator[datetime]:
    for date in dates:
        try:
            yield datetime.fromisoformat(date)
        except (ValueError, TypeError):  # written by hand
            continue
