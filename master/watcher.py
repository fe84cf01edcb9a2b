"""The watcher: each master checks its own runs periodically, and repairs those that have no reason to wait.

State is in rows; events only wake. If a run is not over and nothing can advance it, that is a bug: an event was lost,
or somebody changed its rows. Memory that differs from rows is a bug too. Only a fault that two checks in a row find
counts, so that no race raises an alarm; it is logged and counted, and the run is driven again from its rows. Memory is
compared only while no transaction is open and every outcome is known (`master/drive/open_transactions.py`). A run that
stays stuck ends as FAILURE: it must neither stay RUNNING nor be retried forever.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import islice

import structlog

from dao.checks import stuck_runs
from dao.checks.stuck_runs import NO_CHILD, NO_TIME, NOTHING_UNDER_WAY, UnderWay
from master.claim.batch import AdaptiveBatch
from master.drive.driver import Driver
from master.drive.runnable import WorkflowRunnable
from model.cluster.master_settings import MasterSettings
from model.errors import Fenced, ShoalError
from model.ids import WorkflowInstanceId
from node.life import Life
from node.write_loop import blaming_the_data
from registry.clock import boottime_s

log = structlog.get_logger()

STRETCH_MAX = 1_000
"""The maximum number of runs in one query; fewer while it takes long."""
STRETCH_PAUSE_S = 0.5
"""The pause between two stretches: a master that drives thousands must not query all of them at once."""
UNDER_WAY_MAX = 20_000
"""How many attempts believed to be in flight are checked; the others follow when some of those have ended."""
TRIES_MAX = 3
"""A run that is still stuck after it was driven again this often ends as FAILURE."""

NOTHING_MOVES = (NOTHING_UNDER_WAY, NO_CHILD, NO_TIME)
"""Faults with which a run would never end. With any other, some of its tasks may run, and end by themselves."""
UNKNOWN = "its row says that it is this master's, which does not have it in memory"
NOT_OURS = "this master has it in memory, and its row says that it has ended or is another's"


class Watcher:
    """Watches the runs of one master. `ever` counts the repairs; it should stay 0."""

    def __init__(self, life: Life, driver: Driver, settings: MasterSettings) -> None:
        self.ever = 0
        self._life = life
        self._driver = driver
        self._settings = settings
        self._stretches = AdaptiveBatch(STRETCH_MAX)
        self._suspects: dict[WorkflowInstanceId, str] = {}
        self._tries: dict[WorkflowInstanceId, int] = {}
        self._begun = 0
        """How many transactions had begun when the last check ended."""

    async def run(self) -> None:
        """Check until cancelled. Raises `Fenced`."""
        while True:
            await asyncio.sleep(self._settings.watch_every.total_seconds())
            self._driver.runs.lengths.ring_late()
            try:
                with blaming_the_data():
                    await self.check()
            except Fenced:
                raise
            except ShoalError as error:
                log.warning("watch_failed", error=str(error))

    async def check(self) -> None:
        """Check everything that this master drives or owns, stretch by stretch."""
        found: dict[WorkflowInstanceId, str] = {}
        suspects: dict[WorkflowInstanceId, str] = {}
        ids = sorted(self._driver.runs.ids())
        after: WorkflowInstanceId | None = WorkflowInstanceId(0)
        while after is not None:
            stretch, after = await self._stretch(ids, after)
            found |= stretch
            for id_, missing in stretch.items():
                # A run that is driven again counts as new: that it is still stuck must be seen twice as well.
                if self._suspects.get(id_) == missing and not self._driver.is_about_to_drive_again(id_):
                    del self._suspects[id_]
                    await self._put_right(id_, missing)
                else:
                    suspects[id_] = missing
            if after is not None:
                await asyncio.sleep(STRETCH_PAUSE_S)
        self._tries = {id_: tries for id_, tries in self._tries.items() if id_ in found}
        self._suspects = suspects
        self._begun = self._driver.transactions.open.begun

    async def _stretch(
        self, ids: Sequence[WorkflowInstanceId], after: WorkflowInstanceId
    ) -> tuple[dict[WorkflowInstanceId, str], WorkflowInstanceId | None]:
        """The faults of the runs after `after`, and the last of these runs, None if there are no more.

        `ids` are the runs in this master's memory when the check began, in order.
        """
        runs, size = self._driver.runs, self._stretches.size
        first = bisect_right(ids, after)
        ends = [ids[first + size - 1]] if first + size < len(ids) else []
        # Read memory before the rows: then the rows contain the transactions of every run in `held`.
        held = {id_: runnable for id_ in ids[first : first + size] if (runnable := runs.get(id_)) is not None}
        may_compare = self._driver.transactions.open.none_of(self._begun)
        began_s, stuck_after = boottime_s(), self._settings.stuck_after
        try:
            async with self._life.database.reading() as connection:
                walked = await stuck_runs.walk(connection, self._life.me.epoch, after, size, stuck_after)
                if len(walked.ids) == size:
                    ends.append(walked.ids[-1])
                last = min(ends, default=None)
                held = {id_: runnable for id_, runnable in held.items() if last is None or id_ <= last}
                unheard = await stuck_runs.unheard(connection, _under_way(held), stuck_after) if may_compare else ()
        except ShoalError:
            self._stretches.failed()
            raise
        self._stretches.took(len(walked.ids), boottime_s() - began_s)
        rows = {id_ for id_ in walked.ids if last is None or id_ <= last}
        wrong: dict[WorkflowInstanceId, str] = {}
        if may_compare:
            wrong |= dict.fromkeys(held.keys() - rows, NOT_OURS)
            wrong |= dict.fromkeys(runs.not_held(rows) - self._driver.transactions.open.dropped(), UNKNOWN)
            wrong |= self._still_unheard(unheard, held)
        return wrong | {each.id: each.missing for each in walked.stuck if each.id in rows}, last

    def _still_unheard(
        self, unheard: Collection[UnderWay], held: dict[WorkflowInstanceId, WorkflowRunnable]
    ) -> dict[WorkflowInstanceId, str]:
        """The faults among these whose runnable is unchanged, and got no event while the rows were read."""
        return {
            each.instance: f"attempt {each.attempt} of its task {each.code} has ended, but its master does not know"
            for each in unheard
            if self._driver.runs.get(each.instance) is held[each.instance]
            and (each.code, each.attempt) in held[each.instance].under_way()
        }

    async def _put_right(self, id_: WorkflowInstanceId, missing: str) -> None:
        if missing == NO_TIME:
            await self._life.write(stuck_runs.end_timeless_waits, [id_], self._life.me.epoch)
        self.ever += 1
        tries = self._tries.get(id_, 0)
        is_hopeless = missing in NOTHING_MOVES and tries >= TRIES_MAX
        log.warning(
            "workflow_instance_stuck",
            workflow_instance=id_,
            missing=missing,
            tries=tries,
            ever=self.ever,
            so="it ends as FAILURE" if is_hopeless else "it is driven again from its rows; please report it",
        )
        if is_hopeless:
            why = f"{missing}, and driving it again from its rows {TRIES_MAX} times changed nothing"
            self._driver.fail(id_, why)
        else:
            self._tries[id_] = tries + 1
            self._driver.drive_again([id_])


def _under_way(held: dict[WorkflowInstanceId, WorkflowRunnable]) -> list[UnderWay]:
    believed = (UnderWay(id_, *attempt) for id_, runnable in held.items() for attempt in runnable.under_way())
    return list(islice(believed, UNDER_WAY_MAX))
