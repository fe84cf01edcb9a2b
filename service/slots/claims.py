"""The operation about the claims of the masters: how many commands each took lately."""

from __future__ import annotations

from datetime import timedelta

from dao.commands import claim_rates
from dao.commands.rows import Claims
from model.accounts.rights import Right
from service.call import Call
from service.fields import Answer
from service.operation import operation
from service.paging import ItemsOf

LATELY = timedelta(seconds=10)


class ClaimsAnswer(Answer, Claims):
    """The commands that a master (by its epoch) took within the last ten seconds, and how many that is a second."""


@operation("GET", "/claims", Right.VIEW_CLUSTER, "cluster")
async def list_claims(call: Call) -> ItemsOf[ClaimsAnswer]:
    """List how many commands each master took lately."""
    found = await call.read(claim_rates.recent, LATELY)
    return ItemsOf[ClaimsAnswer](items=[ClaimsAnswer.model_validate(each) for each in found])
