"""Saving the workflows of files: all or none, and only if every workflow that they refer to exists afterwards.

They are saved first and checked afterwards, in one transaction. So their order in the files does not matter, and every
workflow of a cycle is reported.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.definitions import definitions, references
from dao.definitions.definitions import Definition
from shoal.config.keys import SecretSettings
from shoal.workflows.sealing import sealed_for_saving
from shoal.workflows.workflow_file import BadWorkflowFile, WorkflowDocument


async def save_all(
    connection: AsyncConnection, documents: Sequence[WorkflowDocument], secrets: SecretSettings
) -> list[tuple[Definition, bool]]:
    """Save them, their secrets sealed; returns for each whether it became a new version.

    The caller must roll back the transaction if this raises.

    Raises:
        BadWorkflowFile: one of them refers to a workflow that does not exist, or runs itself through others.
        Refused: one of them has a SECRET parameter, and there is no key to seal it.
    """
    saved = []
    for each in documents:
        spec = await sealed_for_saving(connection, each, secrets)
        saved.append(await definitions.save(connection, each.project, each.name, each.release_state, spec))
    faults = []
    for each in documents:
        wrong = await references.check(connection, each.project, each.name, each.spec)
        faults += [f"{each.file}:{_line(each, sentence)}: {sentence}" for sentence in wrong]
    if faults:
        raise BadWorkflowFile(faults)
    return saved


def _line(document: WorkflowDocument, sentence: str) -> int:
    """The line of the task whose name is at the start of a sentence."""
    return next((line for name, line in document.lines.items() if sentence.startswith(f'task "{name}": ')), 1)
