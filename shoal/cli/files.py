"""`shoal project file put/list/get/delete`: the files of a project that its tasks get."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Annotated

import typer

from model.errors import Refused
from service.projects import files
from service.words import counted
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import answer_fields, print_result
from shoal.cli.verbs import new_group, verb
from shoal.clients.pages import all_items

Project = Annotated[str, typer.Option(help="Which project.")]
FilePath = Annotated[str, typer.Argument(metavar="PATH", help="Its path in the project, such as sql/load.sql.")]
FILES: Listing[files.FileAnswer] = Listing(
    (
        Field("FILE", lambda each: each.path),
        Field("BYTES", lambda each: f"{each.size:,}", keep=0, right=True),
        Field("CHANGED", lambda each: each.changed_at, keep=1, right=True),
        Field("BY", lambda each: each.changed_by, keep=2),
    ),
    none="There is no file yet.",
    first="Save one: shoal project file put",
    then="Use one in a task: files: [PATH], or script: {file: PATH}",
)


def add_to(above: typer.Typer) -> None:
    group = new_group(above, "file", "Files of a project that its tasks get: scripts, statements, modules, archives.")
    verb(group, "shoal project file put sql/load.sql --project sales", "shoal project file put etl/", name="put")(put)
    verb(group, "shoal project file list --project sales", "shoal project file list sql/", name="list")(list_all)
    verb(group, "shoal project file get sql/load.sql > load.sql", name="get")(get)
    verb(group, "shoal project file delete sql/load.sql", name="delete")(delete)


async def put(
    call: Invocation,
    path: Annotated[list[Path], typer.Argument(help="Files or folders. Those from here down keep their paths.")],
    project: Project = "default",
    into: Annotated[str, typer.Option(metavar="FOLDER", help="Put them below this folder of the project.")] = "",
) -> None:
    """Save files in a project; a folder with all files below it, but for hidden ones.

    Workflows that are saved from then on get them. Saved versions keep the content that they have.
    """
    found = [each for given in path for each in _files(given)]
    if not found:
        raise Refused(f"there is no file below {path[0]}")
    saved = []
    async with call.client() as client:
        for name, file in found:
            content = base64.b64encode(_read(file)).decode()
            body = files.FileContent.read(path=f"{into.strip('/')}/{name}" if into else name, content=content)
            saved.append(await client.ask(files.put_file, project, body))
    changed = sum(each.is_changed for each in saved)
    outdated = sorted({name for each in saved for name in each.outdated})
    kept = (
        f"Saved versions keep what they have; apply again: {', '.join(outdated)}"
        if outdated
        else "Use them in a task: files: [PATH], or script: {file: PATH}"
    )
    said = f'{counted(len(saved), "file")} of project "{project}" saved, {changed} of them changed.'
    print_result(call, [answer_fields(each) for each in saved], said, kept)


async def list_all(
    call: Invocation,
    under: Annotated[str, typer.Argument(metavar="[FOLDER]", help="Only files below this folder.")] = "",
    project: Project = "default",
) -> None:
    """List the files of a project by path."""
    query = files.FilesQuery.read(under=under)
    async with call.client() as client:
        found = await all_items(lambda page: client.ask(files.list_files, project, page), query)
        await FILES.show(call, client, found)


async def get(call: Invocation, path: FilePath, project: Project = "default") -> None:
    """Print the content of a file."""
    found = await call.ask(files.get_file, project, files.FileQuery.read(path=path))
    if call.as_json:
        print_result(call, answer_fields(found), "")
        return
    sys.stdout.buffer.write(base64.b64decode(found.content))
    sys.stdout.buffer.flush()


async def delete(call: Invocation, path: FilePath, project: Project = "default") -> None:
    """Delete a file of a project. Saved versions keep its content."""
    await call.ask(files.delete_file, project, files.FileQuery.read(path=path))
    print_result(call, {"path": path}, f'File "{path}" is deleted.')


def _files(given: Path) -> Iterator[tuple[str, Path]]:
    """The files to save, each with its path in the project."""
    path = Path(os.path.normpath(given))
    is_elsewhere = path.is_absolute() or path.parts[:1] == ("..",)
    named = PurePath(path.resolve().name) if is_elsewhere else path
    if not path.is_dir():
        yield named.as_posix(), path
        return
    for file in sorted(path.rglob("*")):
        below = file.relative_to(path)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in below.parts)
        if file.is_file() and not hidden:
            if not file.resolve().is_relative_to(path.resolve()):
                raise Refused(f"{file} is a link to a file outside of {path}; copy the file there, or remove the link")
            yield (named / below).as_posix(), file


def _read(file: Path) -> bytes:
    try:
        size = file.stat().st_size
        if size > files.BYTES_MAX:
            raise Refused(f"{file} has {size:,} bytes, more than {files.BYTES_MAX:,}; put it where workers find it")
        return file.read_bytes()
    except OSError as error:
        raise Refused(f"{file} cannot be read: {error.strerror}") from None
