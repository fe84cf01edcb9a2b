"""How far a backfill has come: the dates that are done, those that run, and the chains that stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.postgres.database import Database
from dao.runs import backfills
from dao.runs.backfills import DateRun, RefusedDates
from dao.views import lookups
from model.errors import Refused, Unavailable
from model.ids import CommandId, WorkflowCode
from model.states import WorkflowState
from service.explain.answer import going_on
from service.runs.waiting import poll


@dataclass(frozen=True)
class Backfill:
    """A backfill that was asked for: the same chains of dates for each of its workflows (code -> name)."""

    command: CommandId
    workflows: Mapping[WorkflowCode, str]
    chains: Sequence[Sequence[datetime]]

    @property
    def count(self) -> int:
        """The number of its runs."""
        return len(self.workflows) * sum(map(len, self.chains))


@dataclass(frozen=True)
class StoppedChain:
    """A chain that does not go on by itself: `run` ended otherwise than in success, or the command for `date` was
    refused (`run` is None). `left` dates come after it; `go_on` is the command by which the chain goes on."""

    workflow: str
    date: datetime
    run: DateRun | None
    reason: str | None
    left: int
    go_on: str


@dataclass(frozen=True)
class BackfillProgress:
    """A backfill at one moment. `waiting` chains have a date that a master has not begun."""

    total: int
    done: int
    running: Sequence[DateRun]
    waiting: int
    stopped: Sequence[StoppedChain]

    @property
    def is_over(self) -> bool:
        """Whether nothing of it goes on by itself."""
        return not self.running and not self.waiting


def progress_of(backfill: Backfill, runs: Sequence[DateRun], refused: Sequence[RefusedDates]) -> BackfillProgress:
    """How far a backfill has come, by the runs of its dates and the commands of it that were refused. Pure."""
    found = {(run.workflow_code, run.date): run for run in runs}
    failing = {(each.workflow_code, date): each for each in refused for date in _moments(each.dates)}
    done, waiting = 0, 0
    running: list[DateRun] = []
    stopped: list[StoppedChain] = []
    for code, name in backfill.workflows.items():
        for chain in backfill.chains:
            for left, date in zip(range(len(chain) - 1, -1, -1), chain, strict=True):
                run, failure = found.get((code, date)), failing.get((code, date))
                if run is not None and run.state is WorkflowState.SUCCESS:
                    done += 1
                    continue
                if run is not None and run.state.is_final:
                    stopped.append(StoppedChain(name, date, run, run.reason, left, going_on(run.id, run.state)))
                elif run is not None:
                    running.append(run)
                elif failure is not None:
                    retry = f"shoal errors retry {failure.id}"
                    stopped.append(StoppedChain(name, date, None, failure.reason, left, retry))
                else:
                    waiting += 1
                break
    return BackfillProgress(backfill.count, done, running, waiting, stopped)


async def follow_backfill(
    database: Database,
    backfill: Backfill,
    *,
    polled: Callable[[BackfillProgress], None] = lambda _progress: None,
    away: Callable[[Unavailable], None] = lambda _error: None,
) -> BackfillProgress:
    """Wait until nothing of a backfill goes on by itself. Waits for a database that is away.

    Args:
        polled: called with the progress each time that it was read.
        away: called each time that the database did not answer.
    Raises:
        Refused: its command became an error command; the sentence is its reason.
    """
    is_taken = False

    async def read(connection: AsyncConnection) -> BackfillProgress | None:
        nonlocal is_taken
        if not is_taken:
            fate = await lookups.fate_of(connection, backfill.command)
            if fate.reason is not None:
                raise Refused(f"command {backfill.command} was refused: {fate.reason}")
            is_taken = fate.handled_at is not None
        now = await read_progress(connection, backfill)
        polled(now)
        return now if is_taken and now.is_over else None

    return await poll(database, read, away)


async def read_progress(connection: AsyncConnection, backfill: Backfill) -> BackfillProgress:
    """How far a backfill has come now."""
    dates = {date for chain in backfill.chains for date in chain}
    runs = await backfills.runs_of_dates(connection, backfill.workflows, dates, backfill.command)
    refused = await backfills.refused_dates(connection, backfill.workflows, backfill.command)
    return progress_of(backfill, runs, refused)


def _moments(dates: Sequence[str]) -> Iterator[datetime]:
    for date in dates:
        try:
            yield datetime.fromisoformat(date)
        except (ValueError, TypeError):  # written by hand
            continue
