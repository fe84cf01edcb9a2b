"""The unit of work of one batch of commands: also their outcomes, and the lines of serial workflows."""

from __future__ import annotations

from dao.commands.commands import Outcome
from dao.postgres.database import FencedTransaction
from master.claim.serial import Lines
from master.drive.plans import Fetched
from master.drive.work import Work
from model.ids import WorkflowInstanceId
from model.runs.commands import CommandRow, Start


class BatchWork(Work):
    """One batch of commands."""

    def __init__(self, connection: FencedTransaction, plans: Fetched) -> None:
        super().__init__(connection, plans)
        self.outcomes: list[Outcome] = []
        self.lines = Lines()
        """The lines of all serial workflows in the batch."""
        self.starts_to_come: list[tuple[CommandRow, Start]] = []
        """Starts of the batch that are handled later. They are no longer in the command table."""

    def done(self, row: CommandRow, instance: WorkflowInstanceId | None = None) -> None:
        """Record a handled command; `instance` is the run that it made or changed, if any."""
        self.outcomes.append(Outcome(row, instance))

    def refuse(self, row: CommandRow, reason: str, instance: WorkflowInstanceId | None = None) -> None:
        """Move a command to the error table, with the reason as a sentence."""
        self.outcomes.append(Outcome(row, instance, reason))
