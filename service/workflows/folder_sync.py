"""A folder of YAML files, or the flows of `shoal-sdk`, as what is saved.

It replaces nothing that others changed, and deletes only what it saved.

The text of each version that comes from there begins with a comment: the origin, the commit, and the number of the
version. A version with another number, or without the comment, was saved by somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from dao.accounts import audit
from dao.accounts.audit import AuditEntry
from dao.definitions import definitions, versions
from dao.definitions.definitions import Definition
from dao.postgres.pool import AsyncConnection
from model.accounts.rights import Right
from model.errors import Changed, NotFound
from service.call import Call, Subject
from service.fields import Answer
from service.operation import operation
from service.pools.answers import SavedPool
from service.workflows.apply_operations import permitted_content
from service.workflows.apply_transaction import DEFINITION, Applied, Undone, first_subject, save
from service.workflows.definition_files import FileContent
from service.workflows.requests import SyncFiles
from service.workflows.saved_workflow import file_differs
from service.workflows.saving import delete_unused
from service.workflows.workflow_file import WorkflowDocument

_MARK = "# shoal workflow sync: origin"
_MARKED = re.compile(rf"{_MARK} (?P<origin>\S+), (?:commit (?P<commit>\S+), )?version (?P<version>\d+)\n")


class SyncedWorkflow(Answer):
    """What becomes of a workflow of a folder, or of one that came from it and is no longer there."""

    project: str
    name: str
    what: Literal["new", "changed", "same", "deleted"]
    file: Annotated[str | None, Field(description="left out of a deleted one")] = None
    diff: Annotated[Sequence[str], Field(description="the lines of a unified diff of a changed one")] = ()
    conflict: Annotated[str | None, Field(description="why it is not replaced without `force`")] = None


class SyncedAnswer(Answer):
    """What was saved and deleted, or with `dry_run` would be."""

    workflows: Sequence[SyncedWorkflow]
    pools: Annotated[Sequence[SavedPool], Field(description="those that changed")] = ()
    dry_run: bool


@dataclass(frozen=True)
class _Planned:
    """What becomes of one; without a document it is deleted, without a head it is new."""

    document: WorkflowDocument | None
    head: Definition | None
    diff: Sequence[str] = ()
    conflict: str | None = None

    @property
    def what(self) -> Literal["new", "changed", "same", "deleted"]:
        if self.document is None:
            return "deleted"
        return "new" if self.head is None else "changed" if self.diff else "same"

    def answer(self) -> SyncedWorkflow:
        of = self.document or self.head
        assert of is not None
        file = self.document.file if self.document is not None else None
        return SyncedWorkflow(
            project=of.project, name=of.name, what=self.what, file=file, diff=self.diff, conflict=self.conflict
        )


@operation("POST", "/workflow-definitions:sync", Right.EDIT, "workflow-definitions")
async def sync_workflows(call: Call, body: SyncFiles) -> SyncedAnswer:
    """Make the workflows of an origin those of these YAML files, all or none.

    Refuses to replace what was saved by others since, and deletes only what came from the same origin.
    """
    content = await permitted_content(call, body.files)
    expected, answer = await _rehearsed(call, content, body)
    if body.dry_run or not (answer.pools or any(each.what != "same" for each in answer.workflows)):
        return answer
    _check_conflicts(expected, body)
    async with call.changing(_subject(expected, content)) as change:
        plan = await _planned(call, change.connection, content.workflows, body)
        if [(each.what, each.head) for each in plan] != [(each.what, each.head) for each in expected]:
            raise Changed("workflows were changed at the same moment; nothing is saved, sync again")
        applied = await _carried_out(call, change.connection, plan, content, body)
        first, *further = [*applied.entries(call), *_deletions(call, plan)]
        change.id, change.before, change.after = first.object_id, first.before, first.after
        await audit.insert(change.connection, further)
        change.answer = _answer(plan, applied, body)
    return change.answered(SyncedAnswer)


async def _rehearsed(call: Call, content: FileContent, body: SyncFiles) -> tuple[list[_Planned], SyncedAnswer]:
    plan: list[_Planned] = []
    applied: Applied | None = None
    try:
        async with call.database.writing() as connection:
            plan = await _planned(call, connection, content.workflows, body)
            applied = await _carried_out(call, connection, plan, content, body)
            raise Undone
    except Undone:
        assert applied is not None
        return plan, _answer(plan, applied, body)


async def _planned(
    call: Call, connection: AsyncConnection, documents: Sequence[WorkflowDocument], body: SyncFiles
) -> list[_Planned]:
    """What becomes of each. Nothing else changes them until this transaction ends."""
    found = []
    for document in sorted(documents, key=lambda each: (each.project, each.name)):
        try:
            head = await definitions.find(connection, document.name, document.project)
        except NotFound:
            found.append(_Planned(document, None))
            continue
        await definitions.lock(connection, head.code)
        head = await definitions.head(connection, head.code)
        diff = await file_differs(connection, head, [document], call.settings.secrets)
        conflict = await _conflict(connection, head, body.origin) if diff else None
        found.append(_Planned(document, head, diff, conflict))
    kept, editable = {(each.project, each.name) for each in documents}, call.visible()
    for code in await versions.beginning_with(connection, f"{_MARK} {body.origin}, ") if body.prune else ():
        await definitions.lock(connection, code)
        head = await definitions.head(connection, code)
        if (head.project, head.name) not in kept and (editable is None or head.project in editable):
            found.append(_Planned(None, head, conflict=await _conflict(connection, head, body.origin)))
    return found


async def _conflict(connection: AsyncConnection, head: Definition, origin: str) -> str | None:
    """Why the current version is not the origin's own, as a sentence; None if it is."""
    mark = _MARKED.match(await versions.read_source(connection, head.code, head.version) or "")
    saved = await versions.authorship(connection, head.code, head.version)
    by = f" (version {head.version}, saved by {saved.created_by})" if saved else ""
    where = f'workflow "{head.name}" of project "{head.project}"'
    if mark is None:
        maker = "shoal-sdk" if origin.startswith("sdk:") else "a sync"
        return f"{where} was not made by {maker}{by}; compare, and replace it by --force"
    if mark["origin"] != origin:
        return f'{where} comes from "{mark["origin"]}"{by}; rename one of them, or replace it by --force'
    if int(mark["version"]) != head.version:
        return f"{where} was changed since it was deployed{by}; put that into its source, then use --force"
    return None


def _check_conflicts(plan: Sequence[_Planned], body: SyncFiles) -> None:
    if not body.force and (conflicts := [each.conflict for each in plan if each.conflict]):
        raise Changed("; ".join(conflicts))


async def _carried_out(
    call: Call, connection: AsyncConnection, plan: Sequence[_Planned], content: FileContent, body: SyncFiles
) -> Applied:
    applied = await save(call, connection, FileContent(_to_save(plan), content.pools))
    commit = f"commit {body.commit}, " if body.commit else ""
    for each in applied.workflows:
        code, version = each.head.code, each.head.version
        if (source := await versions.read_source(connection, code, version)) is not None:
            mark = f"{_MARK} {body.origin}, {commit}version {version}\n"
            await versions.write_source(connection, code, version, mark + _MARKED.sub("", source, 1))
    for one in plan:
        if one.document is None and one.head is not None:
            await delete_unused(connection, one.head, call.caller.projects_with(Right.VIEW))
    return applied


def _to_save(plan: Sequence[_Planned]) -> list[WorkflowDocument]:
    return [each.document for each in plan if each.document is not None and each.what != "same"]


def _subject(plan: Sequence[_Planned], content: FileContent) -> Subject:
    deleted = next((each.head for each in plan if each.document is None), None)
    if deleted is not None and not _to_save(plan) and not content.pools:
        return Subject(DEFINITION, deleted.code, deleted.project, deleted.name)
    return first_subject(FileContent(_to_save(plan), content.pools))


def _deletions(call: Call, plan: Sequence[_Planned]) -> list[AuditEntry]:
    gone = [each.head for each in plan if each.document is None and each.head is not None]
    action = call.operation.name
    return [
        call.caller.entry(
            action, DEFINITION, head.code, head.name, project=head.project, before={"version": head.version}, after=None
        )
        for head in gone
    ]


def _answer(plan: Sequence[_Planned], applied: Applied, body: SyncFiles) -> SyncedAnswer:
    pools = [answer for each in applied.pools if (answer := each.answer()).is_new_version]
    return SyncedAnswer(workflows=[each.answer() for each in plan], pools=pools, dry_run=body.dry_run)
