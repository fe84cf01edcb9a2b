"""Workflow files on this machine: read, and checked against the task types installed here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from model.errors import NotFound
from service.workflows.workflow_file import BadWorkflowFile, WorkflowDocument, parse_files
from service.workflows.yaml_lines import BYTES_MAX
from worker.tasks.catalog import TaskCatalog


def read_workflow_files(paths: Iterable[Path]) -> list[WorkflowDocument]:
    """All workflows in some files.

    Raises:
        NotFound: one of the files is not there.
        BadWorkflowFile: one cannot be read, or contains errors; lists all problems of all files.
    """
    contents: list[tuple[str, bytes]] = []
    faults: list[str] = []
    for path in paths:
        try:
            contents.append((str(path), _content(path)))
        except BadWorkflowFile as error:
            faults += error.faults
    try:
        documents = parse_files(contents, TaskCatalog())
    except BadWorkflowFile as error:
        raise BadWorkflowFile([*error.faults, *faults]) from None
    if faults:
        raise BadWorkflowFile(faults)
    return documents


def _content(path: Path) -> bytes:
    """The content of a file, or a little more of it than a file may have."""
    try:
        with path.open("rb") as file:
            return file.read(BYTES_MAX + 1)
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except OSError as error:
        raise BadWorkflowFile([f"{path}: it cannot be read: {error.strerror}"]) from None
