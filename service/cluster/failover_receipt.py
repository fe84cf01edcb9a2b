"""The operation that shows what a change of slots cost: when a master was lost, who got its runs, lost and doubled."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from dao.cluster import receipts
from dao.cluster.rows import MemberChange, SlotChange, SlotReason, TakenBy
from dao.postgres.pool import AsyncConnection
from model.accounts.rights import Right
from service.call import Call
from service.fields import Answer, Id, Moment
from service.operation import operation

GONE = frozenset({SlotReason.LOST, SlotReason.FENCED, SlotReason.LEFT})
BEFORE = timedelta(minutes=1)
"""A failover may be handled before the change of slots is written: another master saw it sooner."""


class TakenByAnswer(Answer, TakenBy, without={"last_at"}):
    """What one master got: runs, and those of their attempts that had not ended then."""


class GoneMasterAnswer(Answer):
    """A master that lost its slot for good, and what became of its runs.

    `last_beat_at` is its last heartbeat, `fenced_at` when it could write no more (or had left), `failed_over_at` when
    the last of its runs had another owner; each is left out if it is not known, or has not happened. `runs` and `tasks`
    are those that others got, `waiting` the runs that they have not got yet. `lost` and `doubled` are counted from the
    rows: runs that nobody drives and no command is about; runs that two masters got, and attempts that began before an
    earlier attempt of the same task had ended.
    """

    epoch: Id
    name: str
    reason: SlotReason
    last_beat_at: Moment | None = None
    fenced_at: Moment | None = None
    fenced_why: str | None = None
    failed_over_at: Moment | None = None
    runs: int
    tasks: int
    by: Sequence[TakenByAnswer]
    waiting: int
    lost: int
    doubled: int
    is_complete: Annotated[bool, Field(description="all failovers since then were read: up to 10,000")]


class ReceiptAnswer(Answer):
    """What a change of slots cost. `masters` are those that were lost or left; none for one that only came."""

    number: int
    at: Moment
    masters: Sequence[GoneMasterAnswer]
    lost: int
    doubled: int


@operation("GET", "/slot-changes/{number}/receipt", Right.VIEW_CLUSTER, "cluster")
async def get_receipt(call: Call, number: Id) -> ReceiptAnswer:
    """Show what a change of slots cost: when masters were lost and fenced, who got their runs, what was lost."""
    async with call.reading() as connection:
        change = await receipts.change(connection, number)
        masters = [await _gone(connection, change, each) for each in change.changes if each.reason in GONE]
    return ReceiptAnswer(
        number=change.number,
        at=change.at,
        masters=masters,
        lost=sum(each.lost for each in masters),
        doubled=sum(each.doubled for each in masters),
    )


async def _gone(connection: AsyncConnection, change: SlotChange, master: MemberChange) -> GoneMasterAnswer:
    end = await receipts.end_of(connection, master.epoch)
    since = min(change.at, end.ended_at or change.at) - BEFORE
    taken = await receipts.taken_by(connection, master.epoch, since)
    left, is_complete = await receipts.left_over(connection, master.epoch, since)
    return GoneMasterAnswer(
        epoch=master.epoch,
        name=master.name,
        reason=master.reason,
        last_beat_at=end.last_beat_at,
        fenced_at=end.ended_at,
        fenced_why=end.ended_why,
        failed_over_at=max((each.last_at for each in taken), default=None) if not left.waiting else None,
        runs=sum(each.runs for each in taken),
        tasks=sum(each.tasks for each in taken),
        by=[TakenByAnswer.model_validate(each) for each in taken],
        waiting=left.waiting,
        lost=left.lost,
        doubled=left.runs_doubled + left.tasks_doubled,
        is_complete=is_complete,
    )
