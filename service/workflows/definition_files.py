"""YAML files with workflows and resource pools, any number of each in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from service.pools.pool_file import PoolDocument, beside_each_other, is_pool, pools_of
from service.workflows.workflow_file import (
    BadWorkflowFile,
    FileFault,
    TaskTypes,
    WorkflowDocument,
    documents_in,
    workflows_of,
)
from service.workflows.yaml_lines import text_of

NOTHING = "there is no workflow and no pool in it; begin with `name:` and `tasks:`, or with `kind: pool` and `name:`"


@dataclass(frozen=True)
class FileContent:
    """What stands in files."""

    workflows: Sequence[WorkflowDocument] = ()
    pools: Sequence[PoolDocument] = ()


def parse_files(files: Iterable[tuple[str, bytes]], types: TaskTypes) -> FileContent:
    """All workflows and pools in some files, given by name and content.

    Raises:
        BadWorkflowFile: one contains errors, or two have the same workflow or pool; lists all problems of all files.
    """
    found: dict[tuple[str, str], str] = {}
    workflows: list[WorkflowDocument] = []
    pools: list[PoolDocument] = []
    faults: list[FileFault] = []
    for file, data in files:
        new = _parse(file, data, types, faults)
        for each in new.workflows:
            other = found.setdefault((each.project, each.name), file)
            if other is not file:
                sentence = f'the workflow "{each.name}" stands in {other} too; remove one of them'
                faults.append(FileFault(file, sentence))
        workflows += new.workflows
        pools += new.pools
    faults += beside_each_other(pools)
    if faults:
        raise BadWorkflowFile(faults)
    return FileContent(workflows, pools)


def _parse(file: str, data: bytes, types: TaskTypes, faults: list[FileFault]) -> FileContent:
    """The content of a file, as far as it can be read; what is wrong with it is added to the faults."""
    workflows: list[WorkflowDocument] = []
    pools: list[PoolDocument] = []
    try:
        documents = documents_in(data, file, NOTHING)
    except BadWorkflowFile as error:
        faults += error.faults
        return FileContent()
    of_pools = [each for each in documents if is_pool(each)]
    others = [each for each in documents if not is_pool(each)]
    try:
        workflows = workflows_of(others, file, types, text_of(data), is_alone=len(documents) == 1)
    except BadWorkflowFile as error:
        faults += error.faults
    try:
        pools = pools_of(of_pools, file)
    except BadWorkflowFile as error:
        faults += error.faults
    return FileContent(workflows, pools)
