"""The operations that save the workflows of files, check files, and compare them with what is saved."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dao.accounts import audit
from model.accounts.rights import Right
from model.errors import Forbidden, Hidden, Refused
from service.call import Call
from service.fields import Answer, Id
from service.operation import operation
from service.workflows.apply_transaction import AppliedAnswer, first_subject, rehearse, save
from service.workflows.definition_files import FileContent, parse_files
from service.workflows.history import DiffAnswer
from service.workflows.listing import permitted_head
from service.workflows.named_things import NamedThings
from service.workflows.requests import ApplyFiles, CheckFiles, CompareFiles, WorkflowFile
from service.workflows.saved_workflow import file_differs
from service.workflows.workflow_file import BadWorkflowFile, FileFault
from service.workflows.workflow_warnings import doubts


class FileProblem(Answer, FileFault):
    """One problem in a file."""


class CheckedAnswer(Answer):
    """Whether files could be applied."""

    valid: bool
    problems: Sequence[FileProblem]
    warnings: Sequence[FileProblem]

    @classmethod
    def of(cls, faults: Sequence[FileFault], content: FileContent, things: NamedThings | None) -> CheckedAnswer:
        """The answer for what is wrong with files, and what is in them as far as it could be read.

        `things`: what exists of what they name; None = that could not be read.
        """
        return cls(
            valid=not faults,
            problems=[FileProblem(file=each.file, line=each.line, sentence=each.sentence) for each in faults],
            warnings=[
                FileProblem(file=each.file, sentence=sentence)
                for each in content.workflows
                for sentence in (
                    *each.notes,
                    *doubts(each.spec),
                    *(things.doubts(each) if things is not None else ()),
                )
            ],
        )


@operation("POST", "/workflow-definitions:apply", Right.EDIT, "workflow-definitions")
async def apply_workflows(call: Call, body: ApplyFiles) -> AppliedAnswer:
    """Save the workflows of YAML files with their schedules, and their resource pools, all or none.

    Unchanged ones get no new version. Only an admin may save pools.
    """
    content = await permitted_content(call, body.files)
    if body.dry_run:
        return (await rehearse(call, content)).answer(dry_run=True)
    async with call.changing(first_subject(content)) as change:
        applied = await save(call, change.connection, content)
        first, *further = applied.entries(call)
        change.id, change.before, change.after = first.object_id, first.before, first.after
        await audit.insert(change.connection, further)
        change.answer = applied.answer(dry_run=False)
    return change.answered(AppliedAnswer)


@operation("POST", "/workflow-definitions:validate", Right.EDIT, "workflow-definitions")
async def validate_workflows(call: Call, body: CheckFiles) -> CheckedAnswer:
    """Say whether YAML files could be applied, and save nothing."""
    faults: Sequence[FileFault] = ()
    content, things = FileContent(), None
    try:
        content = await permitted_content(call, body.files)
        things = (await rehearse(call, content)).things
    except BadWorkflowFile as error:
        faults = error.faults
    except (Forbidden, Hidden):
        raise
    except Refused as error:
        faults = [FileFault(body.files[0].name, str(error))]
    return CheckedAnswer.of(faults, content, things)


@operation("POST", "/workflow-definitions/{code}/diff", Right.EDIT, "workflow-definitions")
async def diff_workflow_files(call: Call, code: Id, body: CompareFiles) -> DiffAnswer:
    """Show what applying a file would change in a workflow, as the lines of a unified diff."""
    async with call.reading() as connection:
        head = await permitted_head(call, connection, code)
        content = await _parsed(call, body.files)
        lines = await file_differs(connection, head, content.workflows, call.settings.secrets, body.version)
    return DiffAnswer.of(head, lines)


async def permitted_content(call: Call, files: Sequence[WorkflowFile]) -> FileContent:
    """What stands in files, all of which the caller may change. Raises `Forbidden`, `BadWorkflowFile`."""
    editable = call.visible()
    if editable is not None and not editable:
        raise Forbidden(
            f"{call.caller.name} may not do this: it needs {Right.EDIT} in a project; an owner of the project or an "
            f"administrator can give it"
        )
    content = await _parsed(call, files)
    for each in content.workflows:
        call.permit(each.project)
    if content.pools:
        call.caller.need(Right.ADMINISTER)
        call.permit(None)
    return content


async def _parsed(call: Call, files: Sequence[WorkflowFile]) -> FileContent:
    """In a thread, since a large file takes seconds."""
    contents = [(each.name, each.content.encode()) for each in files]
    return await asyncio.to_thread(parse_files, contents, call.backend.task_types)
