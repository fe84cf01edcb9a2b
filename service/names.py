"""The operation that completes what a person types: names of workflows and resource pools, ids of runs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dao.definitions import names
from dao.pools import pool_listings as pools
from model.accounts.rights import Right
from model.fields import NAME_LENGTH_MAX
from service.call import Call
from service.fields import Answer, Asked, Text
from service.operation import operation
from service.paging import ItemsOf

SUGGESTED_MAX = 50
Typed = Annotated[Text, Field(max_length=NAME_LENGTH_MAX)]


class SuggestionQuery(Asked):
    """What is typed."""

    kind: Annotated[Literal["workflow", "run", "pool", "resource"], Field(description="what it names")]
    prefix: Annotated[Typed, Field(description="its beginning")] = ""
    project: Annotated[Typed | None, Field(description="only of this project")] = None
    pool: Annotated[Typed | None, Field(description="only of this resource pool")] = None


class SuggestionAnswer(Answer):
    """A name, and what it is."""

    name: str
    about: str


@operation("GET", "/names", Right.VIEW, "names")
async def suggest_names(call: Call, query: SuggestionQuery) -> ItemsOf[SuggestionAnswer]:
    """Complete the name of a workflow, a resource pool or a resource of one, or the id of one of the last runs.

    It returns at most 50 names.
    """
    visible = call.visible()
    asked = (query.prefix, query.project, visible, SUGGESTED_MAX)
    async with call.reading() as connection:
        if query.kind == "workflow":
            found = await names.workflows(connection, *asked)
            items = [SuggestionAnswer(name=each.name, about=f"project {each.project}") for each in found]
        elif query.kind == "pool":
            of_pools = await pools.names(connection, query.prefix, SUGGESTED_MAX)
            items = [SuggestionAnswer(name=name, about=about or "resource pool") for name, about in of_pools]
        elif query.kind == "resource":
            of_pool = await pools.resource_names(connection, query.prefix, query.pool, SUGGESTED_MAX)
            items = [SuggestionAnswer(name=name, about=f"pool {pool}") for name, pool in of_pool]
        else:
            runs = await names.runs(connection, *asked)
            items = [
                SuggestionAnswer(name=str(each.id), about=f"{each.workflow or '-'}, {each.state}") for each in runs
            ]
    return ItemsOf[SuggestionAnswer](items=items)
