"""Continues from an earlier state of the database: after a restore, or a promotion that lost commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dao.cluster import nodes, went_back
from dao.cluster.went_back import Notice
from dao.commands import error_commands
from dao.postgres.database import Database, FencedTransaction
from dao.runs import control
from dao.runs.control import Unfinished
from dao.tasks import requeue
from model.errors import Refused
from model.runs.states import WorkflowState
from shoal.cluster.registry_move import may_live
from shoal.config.settings import Settings

_SET_ASIDE = "set aside by shoal db restored: it waited in a state of the database that was restored"


@dataclass(frozen=True)
class Restored:
    """What nodes had found, which runs continue or were halted, and how many waiting commands were set aside."""

    notices: Sequence[Notice]
    runs: Sequence[Unfinished]
    commands: int


async def restored(database: Database, settings: Settings, halt: WorkflowState | None) -> Restored:
    """Let nodes join again, with ids that were never assigned before.

    Args:
        halt: READY_PAUSE or READY_STOP: requested of every unfinished run; waiting commands are set aside. None:
            everything continues.

    Raises:
        Refused: a node works with this state of the database, so it has not gone back.
    """
    async with database.writing() as connection:
        notices = await went_back.notices(connection)
        living = [node for node in await nodes.living(connection) if may_live(node, settings)]
        if living and not notices:
            raise Refused(
                f"nodes work with this database: {', '.join(map(str, living[:5]))}; if it was restored, stop them first"
            )
        alone = await nodes.fence_all(connection, "the database was restored")
        await went_back.begin_anew(alone)
        runs, commands = await control.unfinished(connection), 0
        if halt is not None:
            await _halt(alone, runs, halt)
            commands = await error_commands.set_commands_aside(alone, _SET_ASIDE)
    return Restored(notices, runs, commands)


async def _halt(connection: FencedTransaction, runs: Sequence[Unfinished], halt: WorkflowState) -> None:
    end = WorkflowState.PAUSE if halt is WorkflowState.READY_PAUSE else WorkflowState.STOP
    waiting = {run.id: (end, "the database was restored") for run in runs if run.state is WorkflowState.SERIAL_WAIT}
    asked = {run.id: halt for run in runs if run.id not in waiting and run.state is not WorkflowState.READY_STOP}
    if waiting:
        await control.end_waiting(connection, waiting)
    if asked:
        await control.ask_halt(connection, asked)
    await requeue.take_out(connection, [run.id for run in runs])
