"""Moves a command that failed for an unexpected reason to the error table, unchanged.

The dangerous case is a command whose id is already in the history, as if it had been handled: either it came back with
a backup that is older than the history, or it is a different one and the id sequence was reset. Only a person can
distinguish these cases, so it is not handled, and the history is not changed.

A failover command is not refused: the search for runs without an owner would create it again, and fill the error table.
"""

from __future__ import annotations

from dao.commands import commands
from dao.commands.commands import Outcome
from dao.postgres.database import FencedTransaction
from dao.postgres.errors import BadData
from dao.runs import serial_line
from master.claim.start_commands import notify_parent
from model.cluster.slots import Slot
from model.definitions.names import as_id
from model.ids import Epoch, WorkflowCode
from model.runs.command_moves import STARTING, CommandType
from model.runs.commands import CommandRow


async def refuse_alone(
    connection: FencedTransaction, row: CommandRow, error: str, master: Epoch, slot: Slot | None
) -> None:
    """Record that this command, which the transaction took, is refused, and notify waiting clients.

    Raises `BadData` if it must stay in the command table: a failover command, or one that does not fit into the error
    table either.
    """
    before = await commands.handled_before(connection, row.id)
    if before is None:
        if row.type == CommandType.RECOVER_TOLERANCE_FAULT_PROCESS:
            raise BadData(error)
        reason = f"it could not be handled: {error}"
        await commands.record(connection, [Outcome(row, None, reason)], master, slot)
    else:
        reason = (
            f"a command with this id was handled before ({before}), so the ids come again; `shoal doctor` says what to "
            f"do. If this one asks for something else than that: shoal queue retry {row.id}"
        )
        await commands.record_errors(connection, [Outcome(row, None, reason)], master)
    await notify_parent(connection, row, reason)
    if row.type in STARTING and (code := as_id(row.workflow_code or "")) is not None:
        await serial_line.call_without_lock(connection, WorkflowCode(code))  # runs of its key may have waited for it
