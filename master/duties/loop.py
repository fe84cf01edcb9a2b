"""Does this master's duties, and overdue ones of others (docs/internals/duties.md).

The rows say what is due; this loop sleeps until something is, and polls rarely besides, so that a row changed by plain
SQL or a changed clock costs only a delay. Each step is one fenced transaction, with its record.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import structlog

from dao.duties import duties, queue_statistics
from dao.duties.duties import Next, TakenDuty
from master.duties.steps import STEPS, Context
from master.membership.membership import Membership
from model.cluster.duties import (
    PAUSE_SHARE,
    PERIODS,
    STEP_PAUSE_S_MIN,
    DutyName,
    Step,
    is_turn_of,
    pause_after,
    pause_between_steps_s,
    turns_of,
)
from model.cluster.master_settings import MasterSettings
from model.errors import Fenced, ShoalError, Unknown
from node.life import Life
from node.write_loop import blaming_the_data
from registry.clock import boottime_s

log = structlog.get_logger()

POLL_EVERY_S = 10.0
"""How often the rows are read without a due duty."""
LOCKED_PAUSE_S = 0.5
"""The pause if what is due is locked: another master does a step of it, or hangs in one."""


class _Done(NamedTuple):
    """A finished step: how many of this duty's period with it, and seconds until the next one.

    `pause_share`: the pause in multiples of the step's duration.
    """

    steps: int
    in_s: float
    pause_share: int = PAUSE_SHARE


class Duties:
    """Does duties until cancelled."""

    def __init__(self, life: Life, membership: Membership, settings: MasterSettings) -> None:
        self._life = life
        self._membership = membership
        # As long as the nodes need to detect a loss and to find what it left, with a few seconds to do it.
        failed_over_after = life.timing.master_fence_after + settings.sweep_every * 2
        self._context = Context(failed_over_after, settings.kept_days, lambda: life.living)

    async def run(self) -> None:
        """Do what is due until cancelled. Raises `Fenced`."""
        while True:
            pause_s = POLL_EVERY_S
            try:
                pause_s = await self._round()
            except Fenced:
                raise
            except ShoalError as error:
                log.warning("duties_wait", error=str(error))
                pause_s = LOCKED_PAUSE_S
            await asyncio.sleep(pause_s)

    async def _round(self) -> float:
        """Do what is due, a step at a time; returns seconds until more may be."""
        following = await self._read_next()
        due, reads_again_s = following.due, boottime_s() + POLL_EVERY_S
        wakes_s = reads_again_s if following.in_s is None else boottime_s() + following.in_s
        while due and boottime_s() < min(wakes_s, reads_again_s):
            began_s = boottime_s()
            done = await self._step()
            if done is None:
                return LOCKED_PAUSE_S
            if done.in_s > 0:
                due -= 1
                wakes_s = min(wakes_s, boottime_s() + done.in_s)
            busy = self._membership.is_overloaded
            steps = 0 if done.in_s > 0 else done.steps
            took_s = boottime_s() - began_s
            await asyncio.sleep(pause_between_steps_s(steps, took_s, busy=busy, share=done.pause_share))
        return max(0.0, min(wakes_s, reads_again_s) - boottime_s()) + STEP_PAUSE_S_MIN

    def _turns(self) -> list[str]:
        return turns_of(self._membership.slot, list(DutyName))

    async def _read_next(self) -> Next:
        following = await self._life.database.read(duties.read_next, self._life.me.epoch, self._turns(), list(DutyName))
        if following.rows < len(DutyName):
            await self._life.write(duties.add, PERIODS)
            return Next(len(DutyName), 0, 0.0)
        return following

    async def _step(self) -> _Done | None:
        """Do one step of what is due; None if others do all of it."""
        taken: TakenDuty | None = None
        try:
            with blaming_the_data():
                async with self._life.writing() as connection:
                    taken = await duties.take(connection, self._life.me.epoch, self._turns(), list(DutyName))
                    if taken is None:
                        return None
                    step = await STEPS[DutyName(taken.name)](connection, self._context, taken.progress)
                    late = not is_turn_of(self._membership.slot, taken.name)
                    in_s = await duties.record(connection, self._life.me, taken, step, late=late)
                    if in_s is None:
                        return None
        except Fenced:
            raise
        except Unknown as error:
            log.warning("duty_outcome_unknown", error=str(error), so="waits for its end; the rows say what was done")
            await self._life.barrier()
            return _Done(0 if taken is None else taken.steps, 0.0)
        except ShoalError as error:
            if taken is None:
                raise
            await self._failed(taken, error)
            return _Done(taken.steps, pause_after(taken.failures + 1).total_seconds())
        self._log(taken, step, late=late)
        for table in step.vacuum:
            await queue_statistics.vacuum(self._life.database, table)
        return _Done(taken.steps + 1, in_s, step.pause_share)

    async def _failed(self, taken: TakenDuty, error: ShoalError) -> None:
        log.warning(
            "duty_failed", duty=taken.name, error=str(error), so="it is tried again after a pause, by any master"
        )
        await self._life.write(duties.failed, self._life.me.epoch, taken, str(error))

    def _log(self, taken: TakenDuty, step: Step, *, late: bool) -> None:
        if step.is_over and not step.is_fine:
            log.warning("duty_found", duty=taken.name, result=step.result)
        if step.is_over and late:
            log.info("overdue_duty_done", duty=taken.name, due_at=taken.due_at.isoformat())
