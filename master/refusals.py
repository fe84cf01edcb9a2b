"""A command that could not be handled for a reason that no check foresaw ends in the error table, as it is.

The danger is one whose id is in the history already. By that proof it was handled: either it came back, out of a backup
that is older than the history, or it is another one and the ids were set back. Nobody but a person can tell, so it is
not handled, and the history keeps what it has.

A hand-over is not refused: whoever looks for runs without an owner would ask for it again, and fill the error table.
"""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from dao import commands
from dao.commands import Outcome
from dao.errors import BadData
from master.starts import tell_parent
from model.command_moves import CommandType
from model.commands import CommandRow
from model.ids import Epoch
from model.nodes import Slot


async def refuse_alone(
    connection: AsyncConnection, row: CommandRow, error: str, master: Epoch, slot: Slot | None
) -> None:
    """Record that this command, which the transaction took, is refused, and tell who waits for it.

    Raises `BadData` if it is to be left where it was: a hand-over, or what the error table has no place for either.
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
            f"do. If this one asks for something else than that: shoal errors retry {row.id}"
        )
        await commands.record_errors(connection, [Outcome(row, None, reason)], master)
    await tell_parent(connection, row, reason)
