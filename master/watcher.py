"""No run without a reason to wait: each master asks it of its own, now and then, and puts right what has none.

State is in rows, events only wake. A run that nothing of it moves any more, though it is not over, is a bug: an event
was lost, or somebody changed its rows. So is memory that differs from rows. Whatever is found in two looks in a row,
so that no race is an alarm, is logged, counted, and driven again from its rows. Memory is compared only while no
transaction hangs and every outcome is known (`master/settled.py`). One that stays stuck ends as FAILURE:
it must not be left RUNNING for ever, nor be tried for ever. Source: design.md 8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from itertools import islice

import structlog

from dao import nodes, reasons
from dao.reasons import NO_CHILD, NO_TIME, NOTHING_UNDER_WAY, UnderWay
from master.batch import AdaptiveBatch
from master.driver import Driver
from master.runnable import WorkflowRunnable
from master.settings import MasterSettings
from model.errors import Fenced, ShoalError
from model.ids import WorkflowInstanceId
from registry.contact import boottime_s
from registry.life import Life
from registry.rounds import blaming_what_is_held

log = structlog.get_logger()

STRETCH_MAX = 1_000
"""At most so many runs are asked for at once; fewer while that takes long."""
STRETCH_PAUSE_S = 0.5
"""Between two stretches: a master that drives thousands must not ask for all of them in one breath."""
UNDER_WAY_MAX = 20_000
"""So many attempts that are believed to be under way are asked for; the others when some of those have ended."""
TRIES_MAX = 3
"""A run that is still stuck after it was driven again so often ends as FAILURE."""

NOTHING_MOVES = (NOTHING_UNDER_WAY, NO_CHILD, NO_TIME)
"""Faults by which a run would never end. With any other something of it may run, and ends by itself."""
UNKNOWN = "its row says that it is this master's, which does not have it in memory"
NOT_OURS = "this master has it in memory, and its row says that it has ended or is another's"


class Watcher:
    """Watches the runs of one master. `ever` counts what it had to put right; it should stay 0."""

    def __init__(self, life: Life, driver: Driver, settings: MasterSettings) -> None:
        self.ever = 0
        self._life = life
        self._driver = driver
        self._settings = settings
        self._stretches = AdaptiveBatch(STRETCH_MAX)
        self._suspects: dict[WorkflowInstanceId, str] = {}
        self._tries: dict[WorkflowInstanceId, int] = {}
        self._begun = 0
        """How many transactions had begun when the last look ended."""

    async def run(self) -> None:
        """Look until cancelled. Raises `Fenced`."""
        while True:
            await asyncio.sleep(self._settings.watch_every.total_seconds())
            try:
                with blaming_what_is_held():
                    await self.look()
            except Fenced:
                raise
            except ShoalError as error:
                log.warning("watch_failed", error=str(error))

    async def look(self) -> None:
        """One look at all that this master drives or owns, stretch by stretch."""
        found: dict[WorkflowInstanceId, str] = {}
        suspects: dict[WorkflowInstanceId, str] = {}
        after: WorkflowInstanceId | None = WorkflowInstanceId(0)
        while after is not None:
            stretch, after = await self._stretch(after)
            found |= stretch
            for id_, missing in stretch.items():
                # What is driven again is new: that it stays stuck is to be seen twice as well.
                if self._suspects.get(id_) == missing and not self._driver.is_about_to_drive_again(id_):
                    del self._suspects[id_]
                    await self._put_right(id_, missing)
                else:
                    suspects[id_] = missing
            if after is not None:
                await asyncio.sleep(STRETCH_PAUSE_S)
        self._tries = {id_: tries for id_, tries in self._tries.items() if id_ in found}
        self._suspects = suspects
        self._begun = self._driver.settled.begun

    async def _stretch(
        self, after: WorkflowInstanceId
    ) -> tuple[dict[WorkflowInstanceId, str], WorkflowInstanceId | None]:
        """What is wrong with the runs that follow on `after`, and the last of them, None if there are no more."""
        # Before the rows are read: what comes into memory later is in no transaction that they could have missed.
        held = {id_: runnable for id_, runnable in self._driver.held().items() if id_ > after}
        is_settled = self._driver.settled.is_so(self._begun)
        size, began_s, stuck_after = self._stretches.size, boottime_s(), self._settings.stuck_after
        try:
            async with self._life.database.reading() as connection:
                walked = await reasons.walk(connection, self._life.me.epoch, after, size, stuck_after)
                last = walked.ids[-1] if len(walked.ids) == size else None
                if last is not None:
                    held = {id_: runnable for id_, runnable in held.items() if id_ <= last}
                unheard = await reasons.unheard(connection, _under_way(held), stuck_after) if is_settled else ()
        except ShoalError:
            self._stretches.failed()
            raise
        self._stretches.took(len(walked.ids), boottime_s() - began_s)
        wrong: dict[WorkflowInstanceId, str] = {}
        if is_settled:
            wrong |= dict.fromkeys(held.keys() - set(walked.ids), NOT_OURS)
            wrong |= dict.fromkeys(set(walked.ids) - self._driver.held().keys(), UNKNOWN)
            wrong |= self._still_unheard(unheard, held)
        return wrong | {each.id: each.missing for each in walked.stuck}, last

    def _still_unheard(
        self, unheard: Collection[UnderWay], held: dict[WorkflowInstanceId, WorkflowRunnable]
    ) -> dict[WorkflowInstanceId, str]:
        """Of those whose runnable is the same, and has not heard while the rows were read."""
        now = self._driver.held()
        return {
            each.instance: f"attempt {each.attempt} of its task {each.code} is over, and its master never heard of it"
            for each in unheard
            if now.get(each.instance) is held[each.instance]
            and (each.code, each.attempt) in held[each.instance].under_way()
        }

    async def _put_right(self, id_: WorkflowInstanceId, missing: str) -> None:
        if missing == NO_TIME:
            async with self._life.database.writing() as connection:
                await nodes.hold_alive(connection, self._life.me)
                await reasons.end_timeless_waits(connection, [id_], self._life.me.epoch)
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
            self._driver.give_up(id_, why)
        else:
            self._tries[id_] = tries + 1
            self._driver.drive_again([id_])


def _under_way(held: dict[WorkflowInstanceId, WorkflowRunnable]) -> list[UnderWay]:
    believed = (UnderWay(id_, *attempt) for id_, runnable in held.items() for attempt in runnable.under_way())
    return list(islice(believed, UNDER_WAY_MAX))
