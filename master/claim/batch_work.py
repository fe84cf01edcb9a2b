"""What the handlers of one batch of commands share: the transaction, its writes, and its runnables."""

from __future__ import annotations

from dataclasses import dataclass, field

from dao.commands.commands import Outcome
from dao.postgres.database import FencedTransaction
from master.claim.serial import Lines
from master.drive.runnable import WorkflowRunnable
from master.drive.writes import Writes
from model.commands import CommandRow
from model.ids import WorkflowInstanceId


@dataclass(slots=True)
class BatchWork:
    """One batch. `held` are the runnables that it made; they are removed if its transaction fails. `lines` are those of
    all serial workflows in it."""

    connection: FencedTransaction
    writes: Writes
    held: list[WorkflowRunnable] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    lines: Lines = field(default_factory=Lines)

    def done(self, row: CommandRow, instance: WorkflowInstanceId | None = None) -> None:
        """A command was handled; `instance` is the one that it made or changed, if any."""
        self.outcomes.append(Outcome(row, instance))

    def refuse(self, row: CommandRow, reason: str, instance: WorkflowInstanceId | None = None) -> None:
        """Move a command to the error table, with the reason as a sentence."""
        self.outcomes.append(Outcome(row, instance, reason))
