"""The operation about the claims of the masters: how many commands each took lately."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from dao.commands import claim_rates
from model.accounts.rights import Right
from service.call import Call
from service.fields import Answer, Id
from service.operation import operation

LATELY = timedelta(seconds=10)


class ClaimsAnswer(Answer):
    """The commands that a master (by its epoch) took within the last ten seconds, and how many that is a second."""

    epoch: Id
    taken: int
    per_s: float


class AllClaimsAnswer(Answer):
    """The masters that took commands lately."""

    items: Sequence[ClaimsAnswer]


@operation("GET", "/claims", Right.VIEW_CLUSTER, "cluster")
async def list_claims(call: Call) -> AllClaimsAnswer:
    """List how many commands each master took lately."""
    call.permit(None)
    async with call.reading() as connection:
        found = await claim_rates.recent(connection, LATELY)
    return AllClaimsAnswer(
        items=[ClaimsAnswer(epoch=each.master, taken=each.taken, per_s=each.per_s) for each in found]
    )
