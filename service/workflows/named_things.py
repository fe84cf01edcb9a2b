"""What workflows name beside other workflows: pools, data sources, environments, alert groups.

One that does not exist is a warning: somebody may make it before the workflow runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dao.alerts.groups import all_groups
from dao.postgres.pool import AsyncConnection
from dao.secrets.data_sources import all_data_sources
from dao.secrets.environments import all_environments
from model.near import nearest
from model.runs.looks import WAIT, sourced_of
from service.pools.saving import doubtful_resources, sizes_named
from service.workflows.workflow_file import WorkflowDocument

_IN_PARAMS = {"datasource": "data source", "alert_group": "alert group"}


@dataclass(frozen=True)
class NamedThings:
    """`pool_sizes`: how many resources the pools have; `known`: the names of the others, by kind."""

    pool_sizes: Mapping[str, int]
    known: Mapping[str, frozenset[str]]

    def doubts(self, document: WorkflowDocument) -> Iterator[str]:
        """A sentence for each thing that a workflow or its schedules name and that does not exist."""
        yield from doubtful_resources(document.spec, self.pool_sizes)
        for place, kind, name in _named(document):
            if "$" not in name and name not in self.known[kind]:
                near = nearest(name, sorted(self.known[kind]))
                cure = f'did you mean "{near}"?' if near else "create it before the workflow runs"
                yield f'{place}there is no {kind} "{name}"; {cure}'


async def named_things(connection: AsyncConnection, documents: Sequence[WorkflowDocument]) -> NamedThings:
    """What exists of what these workflows may name."""
    kinds = {kind for document in documents for _, kind, _ in _named(document)}
    known: dict[str, frozenset[str]] = {}
    if "data source" in kinds:
        known["data source"] = frozenset(each.name for each in await all_data_sources(connection))
    if "environment" in kinds:
        known["environment"] = frozenset(each.name for each in await all_environments(connection))
    if "alert group" in kinds:
        known["alert group"] = frozenset(each.name for each in await all_groups(connection))
    return NamedThings(await sizes_named(connection, [document.spec for document in documents]), known)


def _named(document: WorkflowDocument) -> Iterator[tuple[str, str, str]]:
    if document.spec.environment is not None:
        yield "", "environment", document.spec.environment
    if document.spec.alert_group is not None:
        yield "", "alert group", document.spec.alert_group
    for task in document.spec.tasks:
        place = f'task "{task.name}": '
        if task.environment is not None:
            yield place, "environment", task.environment
        for data_source in task.data_sources:
            yield place, "data source", data_source
        for field, kind in _IN_PARAMS.items():
            name = (sourced_of(task.params) if task.type == WAIT else task.params).get(field)
            if task.type in ("SQL", "PROCEDURE", WAIT) and isinstance(name, str):
                yield place, kind, name
    for number, schedule in enumerate(document.schedules, 1):
        if schedule.environment is not None:
            yield f"schedule {number}: ", "environment", schedule.environment
        if schedule.alert_group is not None:
            yield f"schedule {number}: ", "alert group", schedule.alert_group
