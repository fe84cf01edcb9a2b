"""The operations that show which workflows start, or wait for, which others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Literal

from pydantic import Field

from dao.definitions import dataset_waits, references
from dao.definitions.dataset_waits import DatasetWait
from dao.definitions.references import Relation
from model.accounts.rights import Right
from service.call import Call
from service.fields import Answer, Id
from service.operation import operation
from service.paging import ItemsOf
from service.workflows.listing import permitted_head
from service.workflows.requests import RelationQuery

RelationType = Literal["SUB_PROCESS", "DYNAMIC", "DEPENDENT", "TRIGGER"]


class RelatedWorkflow(Answer):
    """One end of a relation."""

    code: Annotated[Id | None, Field(description="left out if there is no such workflow")] = None
    project: str
    name: str


class RelationAnswer(Answer):
    """A task of one workflow that starts another one (SUB_PROCESS, DYNAMIC), or waits for it (DEPENDENT); or a workflow
    that the end of another one starts (TRIGGER)."""

    workflow: RelatedWorkflow
    task: Annotated[str | None, Field(description="left out of a TRIGGER")] = None
    type: RelationType
    refers_to: RelatedWorkflow

    @classmethod
    def of(cls, relation: Relation) -> RelationAnswer:
        return cls.model_validate(
            {
                "workflow": RelatedWorkflow(code=relation.code, project=relation.project, name=relation.name),
                "task": relation.task or None,
                "type": relation.type,
                "refers_to": RelatedWorkflow(
                    code=relation.named_code, project=relation.named_project, name=relation.named
                ),
            }
        )


class UpdateAnswer(Answer):
    """The newest update of a dataset."""

    dataset: str
    run: Id
    task: str


class DatasetWaitAnswer(Answer):
    """Datasets that start a workflow when tasks have updated all of them since they last did."""

    project: str
    datasets: Sequence[str]
    missing: Annotated[Sequence[str], Field(description="those that were not updated since then")]
    updates: Sequence[UpdateAnswer]

    @classmethod
    def of(cls, wait: DatasetWait) -> DatasetWaitAnswer:
        updates = [
            UpdateAnswer(dataset=name, run=wait.updates[name]["run"], task=wait.updates[name]["task"])
            for name in wait.datasets
            if name in wait.updates
        ]
        return cls(project=wait.project, datasets=wait.datasets, missing=wait.missing, updates=updates)


class RelationsOfWorkflow(Answer):
    """What a workflow has to do with others; without those that the caller may not see."""

    starts: Sequence[RelationAnswer]
    started_by: Sequence[RelationAnswer]
    waits_for: Sequence[RelationAnswer]
    feeds: Annotated[Sequence[RelationAnswer], Field(description="workflows that wait for this one")]
    dataset_waits: Annotated[
        Sequence[DatasetWaitAnswer], Field(description="its triggers that wait for all of several datasets")
    ]


@operation("GET", "/workflow-relations", Right.VIEW, "workflow-definitions")
async def list_relations(call: Call, query: RelationQuery) -> ItemsOf[RelationAnswer]:
    """List the relations between workflows, as their current versions say.

    Those with a workflow that the caller may not see are missing.
    """
    found = await _relations(call, call.visible())
    wanted = [each for each in found if query.project in (None, each.project, each.named_project)]
    return ItemsOf[RelationAnswer](items=[RelationAnswer.of(each) for each in wanted])


@operation("GET", "/workflow-definitions/{code}/relations", Right.VIEW, "workflow-definitions")
async def get_workflow_relations(call: Call, code: Id) -> RelationsOfWorkflow:
    """Show which workflows a workflow starts or waits for, and which start it or wait for it."""
    async with call.reading() as connection:
        head = await permitted_head(call, connection, code)
        waits = await dataset_waits.of_workflow(connection, head.code)
    visible = call.visible()
    found = await _relations(call, visible)
    own = [each for each in found if each.code == head.code]
    others = [each for each in found if each.named_code == head.code]
    return RelationsOfWorkflow(
        starts=[RelationAnswer.of(each) for each in own if each.runs],
        started_by=[RelationAnswer.of(each) for each in others if each.runs],
        waits_for=[RelationAnswer.of(each) for each in own if not each.runs],
        feeds=[RelationAnswer.of(each) for each in others if not each.runs],
        dataset_waits=[DatasetWaitAnswer.of(each) for each in waits if visible is None or each.project in visible],
    )


async def _relations(call: Call, visible: Collection[str] | None) -> list[Relation]:
    found = await call.read(references.relations)
    return [each for each in found if visible is None or (each.project in visible and each.named_project in visible)]
