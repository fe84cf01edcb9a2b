"""The operation that searches everything by a part of its name: for one field from which people go anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from dao.definitions import search as names
from dao.definitions.search import Found, FoundKind
from model.accounts.rights import Right, Scope
from model.fields import NAME_LENGTH_MAX
from service.call import Call
from service.fields import Answer, Asked, Id, Text
from service.operation import operation

FOUND_MAX = 20
EACH_MIN = 4
"""Each kind has so many places before another kind may fill them."""


SCOPES: Mapping[FoundKind, Scope] = {
    FoundKind.WORKFLOW: Scope.DEFINITIONS_READ,
    FoundKind.PROJECT: Scope.PROJECTS_READ,
    FoundKind.RUN: Scope.RUNS_READ,
    FoundKind.SCHEDULE: Scope.DEFINITIONS_READ,
    FoundKind.MASTER: Scope.CLUSTER_READ,
    FoundKind.WORKER: Scope.CLUSTER_READ,
}
"""What a token must be for to find it."""


class SearchQuery(Asked):
    """What is typed."""

    q: Annotated[
        Text,
        Field(
            min_length=1,
            max_length=NAME_LENGTH_MAX,
            description="a part of a name in any case, or how an id of a run begins",
        ),
    ]


class FoundAnswer(Answer, Found):
    """Something that matches. `id` is left out for a project, whose name is its key."""

    id: Id | None = None
    about: Annotated[str, Field(description="its state, crontab or address")] = ""


class SearchAnswer(Answer):
    """What matches, at most 20: by kind, the best first. A schedule is found by the name of its workflow."""

    items: Sequence[FoundAnswer]
    has_more: bool


@operation("GET", "/search", Right.VIEW, "search")
async def search(call: Call, query: SearchQuery) -> SearchAnswer:
    """Find workflows, projects, runs, schedules, masters and workers, of what the caller may see."""
    visible = call.visible()
    q, most = query.q, FOUND_MAX + 1
    kinds = {kind for kind, scope in SCOPES.items() if call.caller.may_in_scope(scope)}
    found: dict[FoundKind, list[Found]] = {kind: [] for kind in FoundKind}
    async with call.reading() as connection:
        if FoundKind.WORKFLOW in kinds:
            found[FoundKind.WORKFLOW] = await names.workflows(connection, q, visible, most)
        if FoundKind.PROJECT in kinds:
            found[FoundKind.PROJECT] = await names.projects(connection, q, visible, most)
        if FoundKind.RUN in kinds:
            found[FoundKind.RUN] = await names.runs(connection, q, visible, most)
        if FoundKind.SCHEDULE in kinds:
            codes = [each.id for each in found[FoundKind.WORKFLOW] if each.id is not None]
            found[FoundKind.SCHEDULE] = await names.schedules(connection, q, codes, visible, most)
        if kinds & {FoundKind.MASTER, FoundKind.WORKER} and call.caller.may(Right.VIEW_CLUSTER):
            for node in await names.nodes(connection, q, most):
                found[node.kind].append(node)
    items = [FoundAnswer.model_validate(each) for each in chosen(found)]
    return SearchAnswer(items=items, has_more=sum(map(len, found.values())) > FOUND_MAX)


def chosen(found: Mapping[FoundKind, Sequence[Found]]) -> list[Found]:
    """At most `FOUND_MAX` of them: some of each kind, and as many more as there is place for, kind by kind."""
    places = {kind: min(len(each), EACH_MIN) for kind, each in found.items()}
    while sum(places.values()) > FOUND_MAX:
        places[max(places, key=lambda kind: places[kind])] -= 1
    for kind, each in found.items():
        places[kind] += min(len(each) - places[kind], FOUND_MAX - sum(places.values()))
    return [each for kind in FoundKind for each in found.get(kind, ())[: places.get(kind, 0)]]
