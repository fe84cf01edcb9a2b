"""The files that a definition names, read from its project as it is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dao.definitions import files
from model.definitions.problems import InvalidWorkflow, Problem
from model.definitions.workflow import WorkflowSpec
from model.files.task_files import names_files, texts_named, with_files
from model.parameters.parameters import is_storable
from service.workflows.result_checks import wrong_results

if TYPE_CHECKING:
    from dao.postgres.pool import AsyncConnection


async def with_project_files(connection: AsyncConnection, spec: WorkflowSpec, project: str) -> WorkflowSpec:
    """The definition with the texts of the files that it names, and the hashes of those that its tasks get.

    Raises `InvalidWorkflow`: a file is missing, is no text where one is needed, or the definition is wrong with it.
    """
    if not names_files(spec):
        return spec
    wanted = {path for task in spec.tasks for path in task.files}
    texts = {path for _, _, path in texts_named(spec)}
    folders = {path for path in wanted if path.endswith("/")}
    hashes = await files.hashes(connection, project, (wanted - folders) | texts, folders)
    contents = await files.contents(connection, {hashes[path] for path in texts if path in hashes})
    read = {path: _text(path, contents[hashes[path]]) for path in texts if hashes.get(path) in contents}
    found = with_files(spec, hashes, read, project)
    if problems := list(wrong_results(found)):
        raise InvalidWorkflow(problems)
    return found


def _text(path: str, content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if not is_storable(text):
        raise InvalidWorkflow(
            [Problem(where=(), sentence=f'the file "{path}" is no UTF-8 text, so no task can run it')]
        )
    return text
