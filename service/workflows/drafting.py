"""The operations about drafts: what a person has written of workflows and not published.

A draft belongs to who wrote it: nobody else sees it, and each request works on the caller's own. Its ETag is its
revision. The right is asked of its project, so that a draft is out of reach while its author may not edit there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from dao.definitions import definitions, versions
from dao.definitions import drafts as rows
from dao.definitions.definitions import Definition
from dao.definitions.drafts import Draft, DraftHead, ListedDraft
from dao.definitions.versions import Authorship
from dao.postgres.database import database_time
from dao.postgres.pool import AsyncConnection
from model.accounts.rights import Right
from model.definitions.line_diff import unified
from model.errors import Forbidden, NotFound, Refused
from model.ids import WorkflowCode
from model.parameters.secret_values import without_sealed
from service.call import ANY_VERSION, Call, Subject
from service.fields import Answer, Asked, Id, Text
from service.operation import operation
from service.paging import PageOf, page_of
from service.workflows import drafts
from service.workflows.apply_operations import CheckedAnswer
from service.workflows.apply_transaction import SavedWorkflow, rehearse
from service.workflows.definition_files import FileContent
from service.workflows.drafts import DRAFT_FILE, DraftChanged
from service.workflows.named_things import named_things
from service.workflows.reach import check_reach
from service.workflows.requests import DraftQuery, Name, Version
from service.workflows.saved_workflow import file_differs, versions_differ
from service.workflows.workflow_file import BadWorkflowFile, FileFault, WorkflowDocument

KIND, TAG = "workflow-draft", "workflow-definitions"
BETWEEN_MAX = 50


class SaveDraft(Asked):
    """The whole draft, as it is to be from now on."""

    content: Annotated[
        Text,
        Field(max_length=drafts.BYTES_MAX, description="YAML as in a file; need not be right before it is published"),
    ]
    base_version: Annotated[
        Version | None,
        Field(
            description="the version that was read when typing began; left out: as before, for a new draft none, "
            "and then publishing is refused where the workflow exists"
        ),
    ] = None


class DraftAnswer(Answer, DraftHead, without={"person"}, etag="revision"):
    """A draft. `code` and `version` are those of its workflow now; they are left out if there is none.

    `base_version` is the version from which it began; if it is not `version`, publishing is refused. Left out: it names
    none.
    """

    size: Annotated[int, Field(description="in bytes")]
    code: Id | None = None
    version: int | None = None

    @classmethod
    def of(cls, draft: ListedDraft) -> DraftAnswer:
        """The answer for a draft in a list."""
        return cls(**_fields_of(draft.head, draft.code, draft.version))


class PublishedVersion(Answer, versions.Authorship):
    """A version that somebody saved."""


class DraftContent(DraftAnswer):
    """A draft with its content."""

    content: str
    published_between: Annotated[
        Sequence[PublishedVersion],
        Field(description="the versions that were saved since it began, newest first, at most 50"),
    ]


class DraftDiff(Answer):
    """The lines of unified diffs; of SECRET parameters asterisks."""

    diff: Annotated[Sequence[str], Field(description="what publishing would change in the current version")]
    published_between: Annotated[
        Sequence[str], Field(description="what others changed since it began: its base, and the current version")
    ]


@operation("GET", "/workflow-drafts", Right.EDIT, TAG)
async def list_drafts(call: Call, query: DraftQuery) -> PageOf[DraftAnswer]:
    """List the caller's own drafts, by project and name."""
    visible = call.visible()
    found = await call.read(
        rows.drafts_of,
        call.caller.key,
        query.limit + 1,
        after=query.after or ("", ""),
        project=query.project,
        visible=visible,
    )
    return page_of(found, query.limit, DraftAnswer.of, lambda each: (each.head.project, each.head.name))


@operation("GET", "/workflow-drafts/{project}/{name}", Right.EDIT, TAG)
async def get_draft(call: Call, project: Name, name: Name) -> DraftContent:
    """Show the caller's draft of a workflow, and who published what since it began; the ETag is its revision."""
    call.permit(project)
    async with call.reading() as connection:
        draft = await drafts.read_draft(connection, call.caller.key, project, name)
        head = await _workflow(connection, draft.head)
        between: list[Authorship] = []
        if head is not None:
            since = draft.head.base_version or 0
            between = await versions.authorships_since(connection, head.code, since, BETWEEN_MAX)
    return DraftContent(
        **_fields_of(draft.head, head.code if head else None, head.version if head else None),
        content=draft.content,
        published_between=[PublishedVersion.model_validate(each) for each in between],
    )


@operation("PUT", "/workflow-drafts/{project}/{name}", Right.EDIT, TAG, has_secret=True)
async def save_draft(call: Call, project: Name, name: Name, body: SaveDraft) -> DraftAnswer:
    """Save the caller's draft of a workflow; of a draft that exists `If-Match` names the revision that was read."""
    person = call.caller.key
    async with call.changing(Subject(KIND, None, project, name)) as change:
        before = await rows.find(change.connection, person, project, name)
        if before is not None:
            call.expect(before.head.revision)
        elif call.if_match not in (None, ANY_VERSION):
            raise DraftChanged(name, None)
        saved = await drafts.save_draft(
            change.connection,
            person,
            project,
            name,
            body.content,
            revision=before.head.revision if before else None,
            base_version=body.base_version,
        )
        change.before = {"revision": before.head.revision} if before else None
        change.after = {"revision": saved.revision, "base_version": saved.base_version, "size": saved.size}
        head = await _workflow(change.connection, saved)
        change.answer = DraftAnswer(**_fields_of(saved, head.code if head else None, head.version if head else None))
    return change.answered(DraftAnswer)


@operation("DELETE", "/workflow-drafts/{project}/{name}", Right.EDIT, TAG, status=204)
async def discard_draft(call: Call, project: Name, name: Name) -> None:
    """Delete the caller's draft of a workflow. Needs `If-Match` with the revision read."""
    async with call.changing(Subject(KIND, None, project, name)) as change:
        draft = await drafts.read_draft(change.connection, call.caller.key, project, name)
        call.expect(draft.head.revision)
        await drafts.drop_draft(change.connection, call.caller.key, project, name, draft.head.revision)
        change.before = {"revision": draft.head.revision}


@operation("POST", "/workflow-drafts/{project}/{name}/publish", Right.EDIT, TAG)
async def publish_draft(call: Call, project: Name, name: Name) -> SavedWorkflow:
    """Save the caller's draft as the next version, unless somebody else did meanwhile. Needs `If-Match`."""
    draft, document = await _read(call, project, name)
    call.expect(draft.head.revision)
    async with call.changing(Subject("workflow-definition", None, project, name)) as change:
        await check_reach(call, change.connection, project, document.spec, document.schedules)
        saved = await drafts.publish_draft(
            change.connection,
            draft.head,
            document,
            secrets=call.settings.secrets,
            now=await database_time(change.connection),
            by=call.caller.name,
        )
        change.id = saved.head.code
        change.before = {"version": saved.before.version} if saved.before is not None else None
        change.after = {"version": saved.head.version, "release_state": saved.head.release_state}
        change.answer = SavedWorkflow.of_saved(saved, await named_things(change.connection, [document]))
    return change.answered(SavedWorkflow)


@operation("GET", "/workflow-drafts/{project}/{name}/check", Right.EDIT, TAG)
async def check_draft(call: Call, project: Name, name: Name) -> CheckedAnswer:
    """Say what is wrong with the caller's draft, and publish nothing."""
    content, things = FileContent(), None
    faults: Sequence[FileFault] = ()
    try:
        _, document = await _read(call, project, name)
        content = FileContent([document])
        things = (await rehearse(call, content)).things
    except BadWorkflowFile as error:
        faults = error.faults
    except (Forbidden, NotFound):
        raise
    except Refused as error:
        faults = [FileFault(DRAFT_FILE, str(error))]
    return CheckedAnswer.of(faults, content, things)


@operation("GET", "/workflow-drafts/{project}/{name}/diff", Right.EDIT, TAG)
async def diff_draft(call: Call, project: Name, name: Name) -> DraftDiff:
    """Show what publishing the caller's draft would change, and what others changed since it began."""
    draft, document = await _read(call, project, name)
    theirs: list[str] = []
    async with call.reading() as connection:
        head = await _workflow(connection, draft.head)
        if head is None:
            own = list(unified([], draft.content.splitlines(), "nothing", DRAFT_FILE))
        else:
            own = await file_differs(connection, head, [document], call.settings.secrets)
            if draft.head.base_version is not None:
                theirs = await versions_differ(connection, head, draft.head.base_version, head.version)
    return DraftDiff(
        diff=[without_sealed(line) for line in own], published_between=[without_sealed(line) for line in theirs]
    )


async def _read(call: Call, project: str, name: str) -> tuple[Draft, WorkflowDocument]:
    """The caller's draft, and what it describes. Raises as `document_of`."""
    call.permit(project)
    draft = await call.read(drafts.read_draft, call.caller.key, project, name)
    return draft, await drafts.document_of(draft, call.backend.task_types)


async def _workflow(connection: AsyncConnection, draft: DraftHead) -> Definition | None:
    """The workflow of a draft, by its exact name; None if there is none."""
    try:
        found = await definitions.find(connection, draft.name, draft.project)
    except NotFound:
        return None
    return found if (found.project, found.name) == (draft.project, draft.name) else None


def _fields_of(head: DraftHead, code: WorkflowCode | None, version: int | None) -> dict[str, object]:
    own = ("project", "name", "base_version", "revision", "created_at", "updated_at", "size")
    return {**{name: getattr(head, name) for name in own}, "code": code, "version": version}
