"""The unit of work of a master: the runs that one transaction touches, and everything that it writes for them.

Every transaction in which a master changes runs goes through `Transactions.run`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

from dao.cluster.nodes import Me
from dao.postgres.database import FencedTransaction
from dao.postgres.errors import BadData, LockTaken
from dao.runs import dependencies
from dao.runs.dependencies import Happened
from master.drive.dependents import Dependents
from master.drive.handling import feed
from master.drive.held_runs import HeldRuns
from master.drive.large_values import LargeValues
from master.drive.latest import tell_latest
from master.drive.open_transactions import OpenTransactions
from master.drive.plans import Fetched, Plans
from master.drive.writes import Writes
from metrics import master as metrics
from model.ids import WorkflowInstanceId
from node.life import Life
from node.write_loop import blaming_the_data


class Work:
    """The work of one transaction."""

    def __init__(self, connection: FencedTransaction, plans: Fetched) -> None:
        self.connection = connection
        self.writes = Writes(plans)
        self.touched: set[WorkflowInstanceId] = set()
        """Runs to drop from memory if the transaction fails: their runnables are ahead of their rows."""
        self.suspects: Sequence[Any] = ()
        """What was taken out of a table: if the transaction fails, one of these alone may be why."""

    def touch(self, ids: Iterable[WorkflowInstanceId]) -> None:
        """Drop these runs from memory if the transaction fails."""
        self.touched.update(ids)

    async def flush(self, me: Me, runs: HeldRuns, *, announces: bool) -> None:
        """Write everything; with `announces`, notify waiting tasks of ends. Raises `OwnershipLost`."""
        while ended := await self.writes.flush(self.connection, me.epoch):
            await tell_latest(self.connection, (runnable for runnable, _ in ended))
            for runnable, event in ended:
                await feed(runnable, event, self.writes)
        await self.writes.finish(self.connection, me.epoch)
        if announces:
            ends = [run.instance for end in self.writes.ends if (run := runs.get(end.id)) is not None]
            happened = [(instance, None) for instance in ends] + self.writes.succeeded
            await dependencies.notify_masters(
                self.connection,
                [
                    Happened(instance.workflow_code, instance.schedule_time, task)
                    for instance, task in happened
                    if instance.schedule_time is not None and not instance.dry_run
                ],
            )


W = TypeVar("W", bound=Work)
R = TypeVar("R")


class Transactions:
    """The transactions of one master.

    Args:
        runs: the runs in its memory; those that a failed transaction has touched are dropped.
        dependents: learns of own runs whose DEPENDENT tasks may have begun to wait.
        events: set when there are events of tasks that were over at once.
        poll: set when attempts were written that wait for a time.
    """

    def __init__(
        self,
        life: Life,
        plans: Plans,
        values: LargeValues,
        runs: HeldRuns,
        dependents: Dependents,
        *,
        events: asyncio.Event,
        poll: asyncio.Event,
    ) -> None:
        self.open = OpenTransactions()
        self.on_ended: Callable[[Iterable[WorkflowInstanceId]], None] = lambda _ids: None
        """Called with the ended runs after the commit."""
        self.announces_ends = False
        """Whether ends are announced, since DEPENDENT tasks wait for some."""
        self._life = life
        self._plans = plans
        self._values = values
        self._runs = runs
        self._dependents = dependents
        self._events = events
        self._poll = poll

    async def run(self, of: type[W], body: Callable[[W], Awaitable[R]]) -> R:
        """Run `body` in one fenced transaction (`Life.writing`), and write what it collected in its work, of type `of`.

        If a plan or a large value is missing, the transaction is rolled back, and repeated when that has been read. If
        it fails, the runs that it touched are dropped from memory.

        Raises what `Life.writing` raises, and `BadData` for an unexpected error too. `BadData` and `LockTaken` carry
        the `suspects` of the work.
        """
        with self.open.counted() as dropped:
            return await self._plans.with_plans(
                self._life.database, lambda plans: self._values.with_values(lambda: self._try(of, body, plans, dropped))
            )

    async def _try(
        self, of: type[W], body: Callable[[W], Awaitable[R]], plans: Fetched, dropped: set[WorkflowInstanceId]
    ) -> R:
        work: W | None = None
        try:
            async with self._life.writing() as connection:
                work = of(connection, plans)
                with blaming_the_data():
                    result = await body(work)
                    await work.flush(self._life.me, self._runs, announces=self.announces_ends)
        except BaseException as error:
            if work is not None:
                self._runs.drop(work.touched)
                dropped |= work.touched
                if isinstance(error, BadData | LockTaken):
                    error.suspects = work.suspects
            raise
        self._committed(work.writes)
        return result

    def _committed(self, writes: Writes) -> None:
        self._runs.drop(end.id for end in writes.ends)
        for state, count in Counter(end.state.value for end in writes.ends).items():
            metrics.runs_ended.labels(state).inc(count)
        if writes.ends:
            self.on_ended(end.id for end in writes.ends)
        self._runs.wrote(writes.touched, writes.delays)
        self._runs.failed_over.difference_update((end.id for end in writes.ends), writes.progressed)
        if writes.delays:
            self._poll.set()
        if writes.known:
            self._events.set()
        if writes.dependents:
            self.announces_ends = True
            self._dependents.began(writes.dependents)
