"""The operation that searches everything by a part of its name: for one field from which people go anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from dao.definitions import search as views
from model.accounts.rights import Right, Scope
from model.fields import NAME_LENGTH_MAX
from model.ids import WorkflowCode
from service.call import Call
from service.fields import Answer, Asked, Id, Text
from service.operation import operation

FOUND_MAX = 20
EACH_MIN = 4
"""Each kind has so many places before another kind may fill them."""


class FoundKind(StrEnum):
    """What was found, in the order of the answer."""

    WORKFLOW = "WORKFLOW"
    PROJECT = "PROJECT"
    RUN = "RUN"
    SCHEDULE = "SCHEDULE"
    MASTER = "MASTER"
    WORKER = "WORKER"


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


class FoundAnswer(Answer):
    """Something that matches. `id` is left out for a project, whose name is its key."""

    kind: FoundKind
    id: Id | None = None
    name: str
    project: str | None = None
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
    found: dict[FoundKind, list[FoundAnswer]] = {kind: [] for kind in FoundKind}
    async with call.reading() as connection:
        codes: list[WorkflowCode] = []
        if FoundKind.WORKFLOW in kinds:
            workflows = await views.workflows(connection, q, visible, most)
            codes = [each.code for each in workflows]
            found[FoundKind.WORKFLOW] = [
                _answer(FoundKind.WORKFLOW, each.code, each.name, each.project, each.release_state)
                for each in workflows
            ]
        if FoundKind.PROJECT in kinds:
            names = await views.projects(connection, q, visible, most)
            found[FoundKind.PROJECT] = [_answer(FoundKind.PROJECT, None, name, name) for name in names]
        if FoundKind.RUN in kinds:
            found[FoundKind.RUN] = [
                _answer(FoundKind.RUN, each.id, each.workflow or "-", each.project, each.state)
                for each in await views.runs(connection, q, visible, most)
            ]
        if FoundKind.SCHEDULE in kinds:
            found[FoundKind.SCHEDULE] = [
                _answer(FoundKind.SCHEDULE, each.id, each.workflow or "-", each.project, each.crontab)
                for each in await views.schedules(connection, q, codes, visible, most)
            ]
        if kinds & {FoundKind.MASTER, FoundKind.WORKER} and call.caller.may(Right.VIEW_CLUSTER):
            for node in await views.nodes(connection, q, most):
                kind = FoundKind(node.kind.value)
                found[kind].append(_answer(kind, node.epoch, node.name, None, node.address))
    return SearchAnswer(items=chosen(found), has_more=sum(map(len, found.values())) > FOUND_MAX)


def chosen(found: Mapping[FoundKind, Sequence[FoundAnswer]]) -> list[FoundAnswer]:
    """At most `FOUND_MAX` of them: some of each kind, and as many more as there is place for, kind by kind."""
    places = {kind: min(len(each), EACH_MIN) for kind, each in found.items()}
    while sum(places.values()) > FOUND_MAX:
        places[max(places, key=lambda kind: places[kind])] -= 1
    for kind, each in found.items():
        places[kind] += min(len(each) - places[kind], FOUND_MAX - sum(places.values()))
    return [each for kind in FoundKind for each in found.get(kind, ())[: places.get(kind, 0)]]


def _answer(kind: FoundKind, id_: int | None, name: str, project: str | None, about: str = "") -> FoundAnswer:
    return FoundAnswer(kind=kind, id=id_, name=name, project=project, about=about)
