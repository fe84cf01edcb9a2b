"""Waiting for what a command started: until a master took it, then until its run has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from dao import lists, questions
from dao.database import Database
from dao.questions import CommandFate
from model.errors import Refused
from model.ids import CommandId, WorkflowInstanceId
from model.states import WorkflowState

LOOK_EVERY_S = 0.1
LOOK_EVERY_S_MAX = 1.0


@dataclass(frozen=True)
class RunEnd:
    """How a run ended."""

    run: WorkflowInstanceId
    workflow: str
    state: WorkflowState
    tasks: int
    took_s: float
    reason: str | None

    @property
    def succeeded(self) -> bool:
        """Whether it did what was asked."""
        return self.state is WorkflowState.SUCCESS


async def follow_command(
    database: Database, command: CommandId, started: Callable[[CommandFate], None] = lambda _fate: None
) -> RunEnd:
    """Wait until the run that a command asks for has ended.

    Args:
        database: looked at ten times a second at first, once a second later.
        command: a START command.
        started: called once, when a master took it.
    Raises:
        Refused: the command became an error command; the sentence is its reason.
    """
    pause_s = LOOK_EVERY_S
    fate: CommandFate | None = None
    while True:
        async with database.reading() as connection:
            if fate is None or fate.run is None:
                fate = await questions.fate_of(connection, command)
                if fate.reason is not None:
                    raise Refused(f"command {command} was refused: {fate.reason}")
                if fate.run is not None:
                    started(fate)
            if fate.run is not None:
                run, tasks = await lists.run(connection, fate.run)
                if run.state.is_final:
                    name = run.workflow or str(run.workflow_code)
                    return RunEnd(run.id, name, run.state, len(tasks), run.took_s, run.reason)
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.1, LOOK_EVERY_S_MAX)
