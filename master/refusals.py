"""A command that could not be handled for a reason that no check foresaw ends in the error table, as it is.

The danger is one whose id is in the history already. By that proof it was handled: either it came back, out of a backup
that is older than the history, or it is another one and the ids were set back. Nobody but a person can tell, so it is
not handled, and the history keeps what it has.
"""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from dao import commands
from dao.commands import Outcome
from master.starts import tell_parent
from model.commands import CommandRow
from model.ids import Epoch
from model.nodes import Slot


async def refuse_alone(
    connection: AsyncConnection, row: CommandRow, error: str, master: Epoch, slot: Slot | None
) -> None:
    """Record that this command, which the transaction took, is refused, and tell who waits for it.

    Raises `BadData` if even that is impossible, say since the error table has its id as well.
    """
    before = await commands.handled_before(connection, row.id)
    if before is None:
        reason = f"it could not be handled: {error}"
        await commands.record(connection, [Outcome(row, None, reason)], master, slot)
    else:
        reason = (
            f"a command with this id was handled before ({before}), so the ids come again; `shoal doctor` says what to "
            f"do. If this one asks for something else than that: shoal errors retry {row.id}"
        )
        await commands.record_errors(connection, [Outcome(row, None, reason)], master)
    await tell_parent(connection, row, reason)
