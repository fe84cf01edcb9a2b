"""Reads files of workflows and pools on this machine, and checks them against the task types installed here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from model.errors import NotFound
from service.workflows.definition_files import FileContent, parse_files
from service.workflows.requests import BYTES_MAX
from service.workflows.workflow_file import BadWorkflowFile, FileFault
from service.workflows.yaml_lines import BadYaml, read_documents, text_of
from worker.tasks.catalog import TaskCatalog


def read_definition_files(paths: Iterable[Path]) -> FileContent:
    """All workflows and resource pools in some files.

    Raises:
        NotFound: a file does not exist.
        BadWorkflowFile: one cannot be read, or contains errors; lists all problems of all files.
    """
    contents, faults = _contents(paths)
    try:
        content = parse_files(contents, TaskCatalog())
    except BadWorkflowFile as error:
        raise BadWorkflowFile([*error.faults, *faults]) from None
    if faults:
        raise BadWorkflowFile(faults)
    return content


def read_texts(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """The names and unchecked texts of some files. Raises as above, for what cannot be read."""
    contents, faults = _contents(paths)
    texts = []
    for name, data in contents:
        try:
            texts.append((name, text_of(data)))
        except BadYaml as error:
            faults.append(FileFault(name, str(error), error.line))
    if faults:
        raise BadWorkflowFile(faults)
    return texts


def files_of_tasks(texts: Iterable[tuple[str, str]]) -> set[Path]:
    """The files and folders beside workflows that `files` of their tasks name, such as a dbt project."""
    found: set[Path] = set()
    for name, text in texts:
        try:
            documents = read_documents(text.encode())
        except BadYaml:
            continue
        beside = Path(name).parent
        found |= {beside / file for each in documents for file in _file_names(each.content)} - {beside}
    return found


def _file_names(workflow: Any) -> Iterator[str]:
    tasks = workflow.get("tasks") if isinstance(workflow, dict) else None
    for task in tasks if isinstance(tasks, list) else ():
        files = task.get("files") if isinstance(task, dict) else None
        yield from (file for file in files if isinstance(file, str)) if isinstance(files, list) else ()


def _contents(paths: Iterable[Path]) -> tuple[list[tuple[str, bytes]], list[FileFault]]:
    """The content of each file, up to a little more than the maximum; and the unreadable files."""
    contents: list[tuple[str, bytes]] = []
    faults: list[FileFault] = []
    for path in paths:
        try:
            with path.open("rb") as file:
                contents.append((str(path), file.read(BYTES_MAX + 1)))
        except FileNotFoundError:
            raise NotFound(f"there is no file {path}") from None
        except OSError as error:
            faults.append(FileFault(str(path), f"it cannot be read: {error.strerror}"))
    return contents, faults
