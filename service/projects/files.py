"""The operations about the files of a project: scripts, statements, modules and archives that its tasks get."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from dao.definitions import files, projects
from model.accounts.rights import Right
from model.errors import Refused
from model.fields import NAME_LENGTH_MAX
from model.files.paths import PATH_BYTES_MAX, fault_of_path
from service.call import Call, Subject
from service.fields import Answer, Asked, Text
from service.operation import operation
from service.paging import NamedPageQuery, PageOf, page_of

TAG, KIND = "files", "file"
BYTES_MAX = 2_097_152
OUTDATED_MAX = 20
ProjectName = Annotated[Text, Field(max_length=NAME_LENGTH_MAX)]
Path = Annotated[Text, Field(max_length=PATH_BYTES_MAX, description="such as sql/load.sql")]


class FilesQuery(NamedPageQuery):
    """Which files."""

    under: Annotated[Text, Field(max_length=PATH_BYTES_MAX, description="only paths that begin so")] = ""


class FileQuery(Asked):
    """Which file."""

    path: Path


class FileContent(Asked):
    """A file with its content."""

    path: Path
    content: Annotated[Text, Field(max_length=BYTES_MAX * 4 // 3 + 4, repr=False, description="in Base64")]


class FileAnswer(Answer, files.ProjectFile):
    """A file without its content; `hash` is its SHA-256, `size` in bytes."""


class FileWithContent(FileAnswer):
    """A file with its content in Base64."""

    content: str


class SavedFile(FileAnswer):
    """A file that was saved. `outdated` are workflows whose current versions keep another content of it."""

    is_changed: bool
    outdated: Annotated[Sequence[str], Field(description=f"by name, at most {OUTDATED_MAX}")]


@operation("GET", "/projects/{name}/files", Right.VIEW, TAG)
async def list_files(call: Call, name: ProjectName, query: FilesQuery) -> PageOf[FileAnswer]:
    """List the files of a project by path."""
    call.permit(name)
    found = await call.read(files.page, name, query.limit + 1, after=query.after or "", under=query.under)
    return page_of(found, query.limit, FileAnswer.model_validate, lambda each: each.path)


@operation("GET", "/projects/{name}/file", Right.VIEW, TAG)
async def get_file(call: Call, name: ProjectName, query: FileQuery) -> FileWithContent:
    """Show a file of a project, with its content."""
    call.permit(name)
    found, content = await call.read(files.find, name, query.path)
    return FileWithContent(**FileAnswer.model_validate(found).model_dump(), content=base64.b64encode(content).decode())


@operation("PUT", "/projects/{name}/file", Right.EDIT, TAG)
async def put_file(call: Call, name: ProjectName, body: FileContent) -> SavedFile:
    """Save or replace a file of a project. Versions of workflows keep the content that they were saved with."""
    if (fault := fault_of_path(body.path)) is not None:
        raise Refused(f'the path "{body.path[:200]}" {fault}')
    content = _decoded(body)
    async with call.changing(Subject(KIND, body.path, name, body.path)) as change:
        await projects.hold(change.connection, name)
        is_changed = await files.put(change.connection, name, body.path, content, call.caller.name)
        saved, _ = await files.find(change.connection, name, body.path)
        users = await files.outdated(change.connection, name, body.path, saved.hash, OUTDATED_MAX)
        change.after = {"hash": saved.hash, "size": saved.size}
        change.answer = SavedFile(
            **FileAnswer.model_validate(saved).model_dump(),
            is_changed=is_changed,
            outdated=[each.name for each in users],
        )
    return change.answered(SavedFile)


@operation("DELETE", "/projects/{name}/file", Right.EDIT, TAG, status=204)
async def delete_file(call: Call, name: ProjectName, query: FileQuery) -> None:
    """Delete a file of a project. Versions of workflows keep its content; files that name it can no longer be saved."""
    async with call.changing(Subject(KIND, query.path, name, query.path)) as change:
        found, _ = await files.find(change.connection, name, query.path)
        await files.delete(change.connection, name, query.path)
        change.before = {"hash": found.hash, "size": found.size}


def _decoded(body: FileContent) -> bytes:
    try:
        content = base64.b64decode(body.content, validate=True)
    except (binascii.Error, ValueError):
        raise Refused(f'the content of "{body.path}" is no Base64') from None
    if len(content) > BYTES_MAX:
        raise Refused(f'the file "{body.path}" has {len(content):,} bytes, more than {BYTES_MAX:,}')
    return content
