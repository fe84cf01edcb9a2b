"""Saving the workflows of files: together or not at all, and only if every workflow that they name exists then.

They are saved first and looked at afterwards, in one transaction: so it does not matter in which order they stand in
the files, and of those that run each other in a circle every one is named.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from dao import definitions, references
from dao.definitions import Definition
from shoal.keys import SecretSettings
from shoal.sealing import sealed_for_saving
from shoal.workflow_file import BadWorkflowFile, WorkflowDocument


async def save_all(
    connection: AsyncConnection, documents: Sequence[WorkflowDocument], secrets: SecretSettings
) -> list[tuple[Definition, bool]]:
    """Save them, their secrets sealed; whether each became a new version.

    In a transaction that must not be kept if this raises.

    Raises:
        BadWorkflowFile: one of them names a workflow that does not exist, or runs itself through others.
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
    """The line of the task with whose name a sentence begins."""
    return next((line for name, line in document.lines.items() if sentence.startswith(f'task "{name}": ')), 1)
