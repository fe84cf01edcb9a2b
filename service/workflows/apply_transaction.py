"""Workflows and pools of files, saved in one transaction, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from dao.postgres.database import database_time
from model.choices import ReleaseState
from service.call import Subject
from service.fields import Answer, Id
from service.pools.answers import SavedPool
from service.pools.saving import KIND as POOL
from service.pools.saving import PoolSaved, save_pools
from service.workflows.apply_saving import Saved, save_all
from service.workflows.listing import WorkflowAnswer
from service.workflows.named_things import NamedThings, named_things
from service.workflows.reach import check_reach
from service.workflows.workflow_warnings import doubts

if TYPE_CHECKING:
    from dao.accounts.audit import AuditEntry
    from dao.postgres.pool import AsyncConnection
    from service.call import Call
    from service.workflows.definition_files import FileContent

DEFINITION = "workflow-definition"


class SavedSchedule(Answer):
    """What became of a schedule of a file."""

    id: Id
    what: Literal["added", "changed", "listed", "removed"]
    sentence: str


class SavedWorkflow(WorkflowAnswer):
    """What became of a workflow of a file."""

    file: str
    tasks: int
    is_new_version: bool
    release_state_before: Annotated[ReleaseState | None, Field(description="left out of a new workflow")] = None
    schedules: Annotated[Sequence[SavedSchedule], Field(description="those that changed")]
    firing: Annotated[Sequence[Id], Field(description="its ONLINE schedules, if it is OFFLINE itself")]
    warnings: Sequence[str]

    @classmethod
    def of_saved(cls, saved: Saved, things: NamedThings) -> SavedWorkflow:
        """The answer for a saved workflow; `things`: what exists of what it names."""
        return cls(
            **WorkflowAnswer.model_validate(saved.head).model_dump(),
            file=saved.document.file,
            tasks=len(saved.document.spec.tasks),
            is_new_version=saved.is_new_version,
            release_state_before=saved.before.release_state if saved.before is not None else None,
            schedules=[SavedSchedule(id=each.id, what=each.what, sentence=str(each)) for each in saved.schedules],
            firing=saved.firing,
            warnings=[
                *saved.document.notes,
                *saved.unfit,
                *doubts(saved.document.spec),
                *things.doubts(saved.document),
            ],
        )


class AppliedAnswer(Answer):
    """What was saved, or with `dry_run` would be; a new workflow then has a code that another one may get."""

    workflows: Sequence[SavedWorkflow]
    pools: Sequence[SavedPool] = ()
    dry_run: bool


@dataclass(frozen=True)
class Applied:
    """What was saved; `things`: what exists of what its workflows name."""

    workflows: Sequence[Saved]
    pools: Sequence[PoolSaved]
    things: NamedThings

    def answer(self, *, dry_run: bool) -> AppliedAnswer:
        return AppliedAnswer(
            workflows=[SavedWorkflow.of_saved(each, self.things) for each in self.workflows],
            pools=[each.answer() for each in self.pools],
            dry_run=dry_run,
        )

    def entries(self, call: Call) -> list[AuditEntry]:
        """The rows of the audit, that of `first_subject` first."""
        action = call.operation.name
        of_workflows = [
            call.caller.entry(
                action,
                DEFINITION,
                each.head.code,
                each.head.name,
                project=each.head.project,
                before=_before(each),
                after=_after(each),
            )
            for each in self.workflows
        ]
        return of_workflows + [each.entry(call.caller, action) for each in self.pools]


def first_subject(content: FileContent) -> Subject:
    """What a change is about first of all that it saves."""
    if content.workflows:
        first = content.workflows[0]
        return Subject(DEFINITION, None, first.project, first.name)
    return Subject(POOL, content.pools[0].name, name=content.pools[0].name)


async def save(call: Call, connection: AsyncConnection, content: FileContent) -> Applied:
    """Save all that files have. The caller must roll back the transaction if this raises.

    Raises as `save_all` and `save_pools`.
    """
    for each in content.workflows:
        await check_reach(call, connection, each.project, each.spec, each.schedules)
    now = await database_time(connection)
    workflows = await save_all(connection, content.workflows, call.settings.secrets, now, by=call.caller.name)
    saved = await save_pools(connection, content.pools, call.caller.name) if content.pools else []
    return Applied(workflows, saved, await named_things(connection, content.workflows))


class Undone(Exception):
    """Ends the transaction of a rehearsal."""


async def rehearse(call: Call, content: FileContent) -> Applied:
    """Save it in a transaction that is rolled back. Raises as `save`."""
    applied = Applied((), (), NamedThings({}, {}))
    try:
        async with call.database.writing() as connection:
            applied = await save(call, connection, content)
            raise Undone
    except Undone:
        return applied


def _before(saved: Saved) -> dict[str, object] | None:
    return None if saved.before is None else _said(saved.before.version, saved.before.release_state)


def _after(saved: Saved) -> dict[str, object]:
    schedules = {"schedules": [str(each) for each in saved.schedules]} if saved.schedules else {}
    return {**_said(saved.head.version, saved.head.release_state), **schedules}


def _said(version: int, state: ReleaseState) -> dict[str, object]:
    return {"version": version, "release_state": state}
