"""The operation that shows how the slots changed, for a replay: who had which slot from when on, and why it changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field

from dao.cluster import slot_changes
from dao.cluster.rows import MemberChange, SlotChange, SlotMember
from dao.postgres.database import database_time
from model.accounts.rights import Right
from model.time.durations import read_duration
from service.call import Call
from service.fields import Answer, Moment, Text
from service.operation import operation
from service.paging import PageOf, PageQuery, page_of

BEGINNING, END = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
AGE_MAX = timedelta(days=7)
"""Longer than any is kept."""


class SlotChangeQuery(PageQuery):
    """A page of slot changes, oldest first. They are kept for 24 hours."""

    since: Annotated[
        Text | None, Field(max_length=40, description="within this time: 15m, 2h; else all that are kept")
    ] = None
    changed_before: Annotated[Moment | None, Field(description="only until then")] = None


class SlotMemberAnswer(Answer, SlotMember):
    """A master that has a slot."""


class MemberChangeAnswer(Answer, MemberChange):
    """A master that got or lost its slot. LOST: it is gone, and not fenced yet."""


class SlotChangeAnswer(Answer, SlotChange):
    """Who has a slot from `at` on, and who came or went then. The numbers have no gaps."""

    total: Annotated[int, Field(description="of slots")]
    members: Annotated[Sequence[SlotMemberAnswer], Field(description="first slot first")]
    changes: Sequence[MemberChangeAnswer]

    @classmethod
    def of(cls, change: SlotChange) -> SlotChangeAnswer:
        return cls.showing(change, total=len(change.members))


@operation("GET", "/slot-changes", Right.VIEW_CLUSTER, "cluster")
async def list_slot_changes(call: Call, query: SlotChangeQuery) -> PageOf[SlotChangeAnswer]:
    """List how the slots changed within the last 24 hours, oldest first; it begins with who had them at that time."""
    async with call.reading() as connection:
        since = BEGINNING
        if query.since is not None:
            since = await database_time(connection) - min(read_duration(query.since, "since"), AGE_MAX)
        found = await slot_changes.between(
            connection, since, query.changed_before or END, query.limit + 1, query.after or 0
        )
    return page_of(found, query.limit, SlotChangeAnswer.of, lambda each: each.number)
