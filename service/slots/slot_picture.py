"""The operations behind the picture of the slots: what came, what waits, who takes it, as it is and as it was."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from dao.commands import arrivals, claim_rates, queue_listings
from dao.commands.rows import Arrival
from dao.postgres.database import database_time
from model.accounts.rights import Right
from model.errors import Refused
from service.call import Call
from service.cluster.command_queue import SlotQueueAnswer
from service.cluster.members import SlotsAnswer
from service.fields import Answer, Asked, Moment, WrittenId
from service.operation import operation
from service.slots.claims import LATELY, ClaimsAnswer
from service.slots.slot_report import read_slots

SHOWN_MAX = 500
FRAME_AGE_MAX = timedelta(seconds=30)
SPAN_MAX = timedelta(hours=1)


class ArrivalAnswer(Answer, Arrival):
    """A command: when it came, and, once a master took it, when that was, by whom (its epoch) and how it ended."""

    run_id: WrittenId | None = None


class ArrivalsAnswer(Answer):
    """Commands by id. `has_more`: there were more in that time than are shown."""

    items: Sequence[ArrivalAnswer]
    has_more: bool


class FrameQuery(Asked):
    """Since when the caller has seen everything."""

    since: Annotated[Moment | None, Field(description="`now` of the frame before; at most 30 s ago")] = None


class FrameAnswer(Answer):
    """The slots at work, at the database's time `now`.

    `arrivals` are the commands that wait and those that were taken since the frame before; with `has_more` they are
    not all. `waiting` counts those that wait for each slot, `claims` what each master took within ten seconds.
    A command belongs to slot `id / id_step mod total`.
    """

    now: Moment
    id_step: int
    slots: SlotsAnswer
    waiting: Sequence[SlotQueueAnswer]
    claims: Sequence[ClaimsAnswer]
    arrivals: Sequence[ArrivalAnswer]
    has_more: bool


class ArrivalsQuery(Asked):
    """The commands of a time, at most an hour long."""

    arrived_after: Moment
    arrived_before: Moment
    limit: Annotated[int, Field(ge=1, le=2_000)] = SHOWN_MAX


@operation("GET", "/slots:frame", Right.VIEW_CLUSTER, "cluster")
async def get_frame(call: Call, query: FrameQuery) -> FrameAnswer:
    """Show the slots at work: who has which, what waits for each, and the commands since the frame before.

    Of the commands it shows those of the projects that the caller may see, of all others the numbers.
    """
    step = call.settings.master.id_step
    registered = await call.backend.registered.read()
    async with call.reading() as connection:
        now = await database_time(connection)
        found = await arrivals.lately(connection, _since(query.since, now), SHOWN_MAX + 1, _visible(call))
        slots = await read_slots(connection, registered)
        residues = await queue_listings.waiting_by_residue(connection, slots.total, step) if slots.total else []
        taken = await claim_rates.recent(connection, LATELY)
    owners = {each.slot.current: each.row.address for each in slots.masters if each.slot}
    return FrameAnswer(
        now=now,
        id_step=step,
        slots=SlotsAnswer.of(slots),
        waiting=[SlotQueueAnswer.showing(each, master=owners.get(each.slot)) for each in residues],
        claims=[ClaimsAnswer.model_validate(each) for each in taken],
        arrivals=[ArrivalAnswer.model_validate(each) for each in found[:SHOWN_MAX]],
        has_more=len(found) > SHOWN_MAX,
    )


@operation("GET", "/commands:arrived", Right.VIEW_CLUSTER, "cluster")
async def list_arrivals(call: Call, query: ArrivalsQuery) -> ArrivalsAnswer:
    """List the commands that came at a time and what became of them, oldest first, for a replay.

    Who may not see all projects gets those of its own among the first 2,000.
    """
    if not timedelta() < query.arrived_before - query.arrived_after <= SPAN_MAX:
        raise Refused("arrived_before must be later than arrived_after, and at most one hour later")
    found = await call.read(
        arrivals.between, query.arrived_after, query.arrived_before, query.limit + 1, _visible(call)
    )
    return ArrivalsAnswer(
        items=[ArrivalAnswer.model_validate(each) for each in found[: query.limit]], has_more=len(found) > query.limit
    )


def _since(wanted: datetime | None, now: datetime) -> datetime:
    earliest = now - FRAME_AGE_MAX
    return earliest if wanted is None else max(wanted, earliest)


def _visible(call: Call) -> list[str] | None:
    projects = call.caller.projects_with(Right.VIEW)
    return None if projects is None else list(projects)
