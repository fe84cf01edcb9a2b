"""What the handlers of one batch of commands share: the transaction, what it writes, and what it makes."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.commands import Outcome
from master.runnable import WorkflowRunnable
from master.serial import Lines
from master.writes import Writes
from model.commands import CommandRow
from model.ids import WorkflowInstanceId


@dataclass(slots=True)
class BatchWork:
    """One batch. `held` are the runnables that it made: they are forgotten if its transaction fails. `lines` are those
    of all serial workflows that it concerns."""

    connection: AsyncConnection
    writes: Writes
    held: list[WorkflowRunnable] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    lines: Lines = field(default_factory=Lines)

    def done(self, row: CommandRow, instance: WorkflowInstanceId | None = None) -> None:
        """A command was handled; it made or moved that instance, if any."""
        self.outcomes.append(Outcome(row, instance))

    def refuse(self, row: CommandRow, reason: str, instance: WorkflowInstanceId | None = None) -> None:
        """A command goes to the error table, with the sentence why."""
        self.outcomes.append(Outcome(row, instance, reason))
