"""Saving the workflows of files: all or none, and only if every workflow that they refer to exists afterwards.

They are saved first and checked afterwards, in one transaction. So their order in the files does not matter, and every
workflow of a cycle is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dao.definitions import definitions, references, release
from dao.definitions.definitions import Definition
from dao.postgres.pool import AsyncConnection
from model.choices import ReleaseState
from model.definitions.problems import InvalidWorkflow
from model.errors import NotFound, Refused
from model.ids import ScheduleId
from service.schedules.file_schedules import ScheduleChange, save_schedules, schedules_unfit
from service.secrets.key_settings import SecretSettings
from service.workflows.sealing import sealed_for_saving
from service.workflows.source_text import to_store
from service.workflows.workflow_file import BadWorkflowFile, FileFault, WorkflowDocument


@dataclass(frozen=True)
class Saved:
    """What became of one workflow of a file; `before` is None for a new workflow.

    `firing` are its ONLINE schedules, if it is OFFLINE itself; `unfit` says which of its schedules do not give what it
    requires.
    """

    document: WorkflowDocument
    head: Definition
    is_new_version: bool
    before: Definition | None
    schedules: Sequence[ScheduleChange] = ()
    firing: Sequence[ScheduleId] = ()
    unfit: Sequence[str] = ()


async def save_all(
    connection: AsyncConnection,
    documents: Sequence[WorkflowDocument],
    secrets: SecretSettings,
    now: datetime,
    *,
    by: str | None = None,
) -> list[Saved]:
    """Save them and their schedules, their secrets sealed.

    The caller must roll back the transaction if this raises.

    Args:
        now: the database's time.
        by: who saves them; None = the database's user.
    Raises:
        BadWorkflowFile: one of them refers to a workflow that does not exist, runs itself through others, or has a
            wrong schedule or names a file that is not there.
        Refused: one of them has a SECRET parameter, and there is no key to seal it.
    """
    saved = [await _save(connection, each, secrets, now, by) for each in documents]
    faults = []
    for each in documents:
        wrong = await references.check(connection, each.project, each.name, each.spec)
        faults += [FileFault(each.file, sentence, _line(each, sentence)) for sentence in wrong]
    if faults:
        raise BadWorkflowFile(faults)
    return saved


async def _save(
    connection: AsyncConnection, document: WorkflowDocument, secrets: SecretSettings, now: datetime, by: str | None
) -> Saved:
    try:
        before = await definitions.find(connection, document.name, document.project)
    except NotFound:
        before = None
    try:
        spec = await sealed_for_saving(connection, document, secrets)
    except InvalidWorkflow as error:
        if not document.file:
            raise
        faults = [(each.sentence, _line(document, each.sentence)) for each in error.problems]
        raise BadWorkflowFile(FileFault(document.file, sentence, line) for sentence, line in faults) from None
    head, is_new = await definitions.save(
        connection,
        document.project,
        document.name,
        document.release_state,
        spec,
        layout=document.layout,
        by=by,
        source=to_store(document, spec),
    )
    try:
        changes = await save_schedules(connection, head, document.schedules, spec.time_zone, secrets, now)
    except Refused as error:
        raise BadWorkflowFile([FileFault(document.file, f'the schedules of "{document.name}": {error}')]) from None
    is_offline = document.release_state is ReleaseState.OFFLINE
    firing = await release.firing(connection, head.code) if is_offline else []
    unfit = await schedules_unfit(connection, head, spec) if spec.declared else []
    return Saved(document, head, is_new, before, changes, firing, unfit)


def _line(document: WorkflowDocument, sentence: str) -> int:
    """The line of the task whose name is at the start of a sentence."""
    return next((line for name, line in document.lines.items() if sentence.startswith(f'task "{name}": ')), 1)
