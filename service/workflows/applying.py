"""The operations that save the workflows of files, check files, and compare them with what is saved."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from dao.accounts import audit
from dao.postgres.database import database_time
from dao.postgres.engine import AsyncConnection
from model.choices import ReleaseState
from model.errors import Forbidden, Refused
from model.rights import Right
from service.call import Call, Subject
from service.fields import Answer, Id
from service.operation import operation
from service.workflows.apply import Saved, save_all
from service.workflows.history import DiffAnswer
from service.workflows.listing import WorkflowAnswer, permitted_head
from service.workflows.reach import check_reach
from service.workflows.requests import ApplyFiles, CheckFiles, CompareFiles, WorkflowFile
from service.workflows.saved_workflow import file_differs
from service.workflows.workflow_file import BadWorkflowFile, FileFault, WorkflowDocument, parse_files
from service.workflows.workflow_warnings import doubtful_references

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
    def of_saved(cls, saved: Saved) -> SavedWorkflow:
        """The answer for a saved workflow."""
        return cls(
            **WorkflowAnswer.of(saved.head).model_dump(),
            file=saved.document.file,
            tasks=len(saved.document.spec.tasks),
            is_new_version=saved.is_new_version,
            release_state_before=saved.before.release_state if saved.before is not None else None,
            schedules=[SavedSchedule(id=each.id, what=each.what, sentence=str(each)) for each in saved.schedules],
            firing=saved.firing,
            warnings=list(doubtful_references(saved.document.spec)),
        )


class AppliedAnswer(Answer):
    """What was saved, or with `dry_run` would be; a new workflow then has a code that another one may get."""

    workflows: Sequence[SavedWorkflow]
    dry_run: bool


class FileProblem(Answer):
    """One problem in a file."""

    file: str
    line: int | None = None
    sentence: str


class CheckedAnswer(Answer):
    """Whether files could be applied."""

    valid: bool
    problems: Sequence[FileProblem]
    warnings: Sequence[FileProblem]

    @classmethod
    def of(cls, faults: Sequence[FileFault], documents: Sequence[WorkflowDocument]) -> CheckedAnswer:
        """The answer for what is wrong with files, and the workflows in them as far as they could be read."""
        return cls(
            valid=not faults,
            problems=[FileProblem(file=each.file, line=each.line, sentence=each.sentence) for each in faults],
            warnings=[
                FileProblem(file=each.file, sentence=sentence)
                for each in documents
                for sentence in doubtful_references(each.spec)
            ],
        )


@operation("POST", "/workflow-definitions:apply", Right.EDIT, "workflow-definitions")
async def apply_workflows(call: Call, body: ApplyFiles) -> AppliedAnswer:
    """Save the workflows of YAML files with their schedules, all or none. Unchanged ones get no new version."""
    documents = await _documents(call, body.files)
    if body.dry_run:
        saved = await rehearse(call, documents)
        return AppliedAnswer(workflows=[SavedWorkflow.of_saved(each) for each in saved], dry_run=True)
    first = documents[0]
    async with call.changing(Subject(DEFINITION, None, first.project, first.name)) as change:
        saved = await _save(call, change.connection, documents)
        change.id, change.before, change.after = saved[0].head.code, _before(saved[0]), _after(saved[0])
        further = [
            call.caller.entry(
                call.operation.name,
                DEFINITION,
                each.head.code,
                each.head.name,
                project=each.head.project,
                before=_before(each),
                after=_after(each),
            )
            for each in saved[1:]
        ]
        await audit.insert(change.connection, further)
        change.answer = AppliedAnswer(workflows=[SavedWorkflow.of_saved(each) for each in saved], dry_run=False)
    answer: AppliedAnswer = change.answered()
    return answer


@operation("POST", "/workflow-definitions:validate", Right.EDIT, "workflow-definitions")
async def validate_workflows(call: Call, body: CheckFiles) -> CheckedAnswer:
    """Say whether YAML files could be applied, and save nothing."""
    faults: Sequence[FileFault] = ()
    documents: Sequence[WorkflowDocument] = ()
    try:
        documents = await _documents(call, body.files)
        await rehearse(call, documents)
    except BadWorkflowFile as error:
        faults = error.faults
    except Forbidden:
        raise
    except Refused as error:
        faults = [FileFault(body.files[0].name, str(error))]
    return CheckedAnswer.of(faults, documents)


@operation("POST", "/workflow-definitions/{code}/diff", Right.EDIT, "workflow-definitions")
async def diff_workflow_files(call: Call, code: Id, body: CompareFiles) -> DiffAnswer:
    """Show what applying a file would change in a workflow, as the lines of a unified diff."""
    async with call.reading() as connection:
        head = await permitted_head(call, connection, code)
        documents = await _parsed(call, body.files)
        lines = await file_differs(connection, head, documents, call.settings.secrets, body.version)
    return DiffAnswer.of(head, lines)


async def _documents(call: Call, files: Sequence[WorkflowFile]) -> list[WorkflowDocument]:
    """The workflows of files, all of which the caller may change. Raises `Forbidden`, `BadWorkflowFile`."""
    editable = call.visible()
    if editable is not None and not editable:
        raise Forbidden(
            f"{call.caller.name} may not do this: it needs {Right.EDIT} in a project; ask one of its owners"
        )
    documents = await _parsed(call, files)
    for each in documents:
        call.permit(each.project)
    return documents


async def _parsed(call: Call, files: Sequence[WorkflowFile]) -> list[WorkflowDocument]:
    """In a thread, since a large file takes seconds."""
    contents = [(each.name, each.content.encode()) for each in files]
    return await asyncio.to_thread(parse_files, contents, call.backend.task_types)


async def _save(call: Call, connection: AsyncConnection, documents: Sequence[WorkflowDocument]) -> list[Saved]:
    for each in documents:
        of_schedules = [schedule.worker_group for schedule in each.schedules]
        await check_reach(call, connection, each.project, each.spec, of_schedules)
    now = await database_time(connection)
    return await save_all(connection, documents, call.settings.secrets, now, by=call.caller.name)


class _Undone(Exception):
    """Ends the transaction of a rehearsal."""


async def rehearse(call: Call, documents: Sequence[WorkflowDocument]) -> list[Saved]:
    """Save them in a transaction that is rolled back. Raises as `save_all`."""
    saved: list[Saved] = []
    try:
        async with call.database.writing() as connection:
            saved = await _save(call, connection, documents)
            raise _Undone
    except _Undone:
        return saved


def _before(saved: Saved) -> dict[str, object] | None:
    return None if saved.before is None else _said(saved.before.version, saved.before.release_state)


def _after(saved: Saved) -> dict[str, object]:
    schedules = {"schedules": [str(each) for each in saved.schedules]} if saved.schedules else {}
    return {**_said(saved.head.version, saved.head.release_state), **schedules}


def _said(version: int, state: ReleaseState) -> dict[str, object]:
    return {"version": version, "release_state": state}
