"""Drafts of workflow definitions: kept for each person and workflow, published if nobody else changed it meanwhile.

A draft is YAML, as in a file, and need not be right until it is published. Publishing is `save_all`: it makes a
version, takes nothing OFFLINE, and runs keep the version with which they began. All functions take the connection of
one transaction; the caller rolls it back if they raise. A person is the key of a caller (`Caller.key`).
"""

from __future__ import annotations

import asyncio
from datetime import datetime

from dao.definitions import definitions, drafts, versions
from dao.definitions.definitions import Definition
from dao.definitions.drafts import Draft, DraftHead
from dao.postgres.pool import AsyncConnection
from model.errors import Changed, NotFound, Refused
from model.fields import NAME_LENGTH_MAX
from model.parameters.parameters import is_storable
from service.secrets.key_settings import SecretSettings
from service.workflows.apply_saving import Saved, save_all
from service.workflows.workflow_file import TaskTypes, WorkflowDocument, parse_workflows

BYTES_MAX = 1_048_576
DRAFTS_MAX = 500
"""Of one person."""
DRAFT_FILE = "draft"
"""How a draft is called in messages."""


class DraftTooLarge(Refused):
    """The content of a draft has more than `BYTES_MAX` bytes."""


class DraftChanged(Changed):
    """A draft does not have the revision that the caller saw; `now` is what there is, None = nothing."""

    def __init__(self, name: str, now: DraftHead | None) -> None:
        self.now = now
        there = "is gone" if now is None else f"has revision {now.revision}, saved at {now.updated_at:%F %T %Z}"
        super().__init__(f'your draft of "{name}" changed meanwhile: it {there}; read it again')


class DefinitionChanged(Changed):
    """A workflow does not have the version from which a draft began.

    `base_version` is that one, `version` the present one (None: there is none), saved by `changed_by` at `changed_at`.
    """

    def __init__(self, name: str, base_version: int | None, now: versions.Authorship | None) -> None:
        self.base_version = base_version
        self.version = now.version if now else None
        self.changed_by = now.created_by if now else None
        self.changed_at = now.created_at if now else None
        began = "names no version from which it began" if base_version is None else f"began from version {base_version}"
        there = "it is gone"
        if now is not None:
            there = f"{now.created_by} saved version {now.version} at {now.created_at:%F %T %Z}"
        super().__init__(
            f'the workflow "{name}" changed meanwhile: your draft {began}, and {there}; '
            f"compare both, then publish the draft with the present version as its base"
        )


async def read_draft(connection: AsyncConnection, person: str, project: str, name: str) -> Draft:
    """The draft of a person for a workflow. Raises `NotFound`."""
    found = await drafts.find(connection, person, project, name)
    if found is None:
        raise NotFound(f'you have no draft of "{name}" in project "{project}"')
    return found


async def save_draft(
    connection: AsyncConnection,
    person: str,
    project: str,
    name: str,
    content: str,
    *,
    revision: int | None = None,
    base_version: int | None = None,
) -> DraftHead:
    """Make a draft, or change the one that has this revision.

    Args:
        revision: what the caller saw; None = there is none yet.
        base_version: the version from which it began, or with which it was compared last; None = as before. A new
            draft without one can only make a workflow: the present version may not be what its author has seen.

    Raises:
        DraftTooLarge: it has more than 1 MiB.
        DraftChanged: it has another revision, or there is one already.
        NotFound: there is no such version.
        Refused: a name that no workflow can have, text that the database does not take, or one draft too many.
    """
    _check(project, name, content)
    head = await _definition(connection, project, name)
    if base_version is not None and (
        head is None or not await versions.authorship(connection, head.code, base_version)
    ):
        raise NotFound(f'workflow "{name}" has no version {base_version}, so no draft can begin from it')
    before = await drafts.find(connection, person, project, name)
    if revision is None:
        if before is None and await drafts.count(connection, person) >= DRAFTS_MAX:
            raise Refused(f"you have {DRAFTS_MAX} drafts, which is the limit; publish or discard some first")
        made = None if before else await drafts.insert(connection, person, project, name, content, base_version)
    else:
        base_version = base_version or (before.head.base_version if before else None)
        made = await drafts.update(connection, before.head, revision, content, base_version) if before else None
    if made is None:
        found = await drafts.find(connection, person, project, name)
        raise DraftChanged(name, found.head if found else None)
    return made


async def drop_draft(connection: AsyncConnection, person: str, project: str, name: str, revision: int) -> None:
    """Delete a draft. Raises `NotFound`, and `DraftChanged` if it has another revision."""
    found = await read_draft(connection, person, project, name)
    if not await drafts.delete(connection, found.head, revision):
        raise DraftChanged(name, found.head)


async def document_of(draft: Draft, types: TaskTypes) -> WorkflowDocument:
    """The workflow that a draft describes; in a thread, since a large draft takes seconds.

    Args:
        types: the task types that there are.

    Raises:
        BadWorkflowFile: it is not right; each problem with its line.
        Refused: it describes another workflow.
    """
    return await asyncio.to_thread(_document, draft, types)


async def publish_draft(
    connection: AsyncConnection,
    draft: DraftHead,
    document: WorkflowDocument,
    *,
    secrets: SecretSettings,
    now: datetime,
    by: str,
) -> Saved:
    """Save what a draft describes as a version of its workflow, and delete the draft.

    Args:
        draft: as the caller read it.
        document: what it describes.
        now: the database's time.
        by: the name of who publishes it.

    Raises:
        DraftChanged: it was changed since it was read.
        DefinitionChanged: the workflow has another version than the one from which it began, or is gone.
        BadWorkflowFile, Refused: as `save_all`.
    """
    await _check_base(connection, draft)
    (saved,) = await save_all(connection, [document], secrets, now, by=by)
    if draft.base_version is None and (saved.before is not None or saved.head.version > 1):
        # Somebody made it between the check and the lock of the save.
        await _refuse(connection, draft, saved.head)
    if not await drafts.delete(connection, draft, draft.revision):
        found = await drafts.find(connection, draft.person, draft.project, draft.name)
        raise DraftChanged(draft.name, found.head if found else None)
    return saved


def _document(draft: Draft, types: TaskTypes) -> WorkflowDocument:
    head = draft.head
    found = parse_workflows(draft.content.encode(), DRAFT_FILE, types)
    if [(each.project, each.name) for each in found] != [(head.project, head.name)]:
        names = ", ".join(f'"{each.name}" of project "{each.project}"' for each in found)
        raise Refused(
            f'the draft must have the workflow "{head.name}" of project "{head.project}" and no other; it has {names}'
        )
    return found[0]


async def _check_base(connection: AsyncConnection, draft: DraftHead) -> None:
    """Compare under the lock that a save takes too."""
    head = await _definition(connection, draft.project, draft.name)
    if head is not None:
        await definitions.lock(connection, head.code)
        head = await _definition(connection, draft.project, draft.name)
    if (head.version if head else None) != draft.base_version:
        await _refuse(connection, draft, head)


async def _refuse(connection: AsyncConnection, draft: DraftHead, head: Definition | None) -> None:
    now = None if head is None else await versions.authorship(connection, head.code, head.version)
    raise DefinitionChanged(draft.name, draft.base_version, now)


async def _definition(connection: AsyncConnection, project: str, name: str) -> Definition | None:
    try:
        found = await definitions.find(connection, name, project)
    except NotFound:
        return None
    return found if (found.project, found.name) == (project, name) else None


def _check(project: str, name: str, content: str) -> None:
    for what, given in (("project", project), ("workflow", name)):
        if not 0 < len(given) <= NAME_LENGTH_MAX or not given.isprintable():
            raise Refused(f"the name of a {what} has 1 to {NAME_LENGTH_MAX} printable characters")
    if not is_storable(content):
        raise Refused("the draft contains a NUL or half a character, which the database does not take; remove it")
    size = len(content.encode())
    if size > BYTES_MAX:
        raise DraftTooLarge(f"the draft has {size} bytes, more than {BYTES_MAX}; make the workflow smaller")
