"""The unit of work of a master: the runs that one transaction touches, and all that it writes for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dao.cluster.nodes import Me
from dao.postgres.database import FencedTransaction
from dao.runs import dependencies
from dao.runs.dependencies import Happened
from master.drive.handling import feed
from master.drive.held_runs import HeldRuns
from master.drive.plans import Fetched
from master.drive.writes import Writes
from model.ids import WorkflowInstanceId


class Work:
    """What happens in one transaction (`master.drive.driver.Driver.transact`)."""

    def __init__(self, connection: FencedTransaction, plans: Fetched) -> None:
        self.connection = connection
        self.writes = Writes(plans)
        self.touched: set[WorkflowInstanceId] = set()
        """The runs that are dropped from memory if the transaction fails: their runnables are ahead of their rows."""
        self.suspects: Sequence[Any] = ()
        """What was taken out of a table: if the transaction fails, one of these alone may be why."""

    def touch(self, ids: Iterable[WorkflowInstanceId]) -> None:
        """Drop these runs from memory if the transaction fails."""
        self.touched.update(ids)

    async def flush(self, me: Me, runs: HeldRuns, *, announces: bool) -> None:
        """Write all of it; with `announces`, notify those who wait for what ended. Raises `OwnershipLost`."""
        while ended := await self.writes.flush(self.connection, me.epoch):
            for runnable, event in ended:
                await feed(runnable, event, self.writes)
        await self.writes.finish(self.connection, me.epoch)
        if announces:
            ends = [run.instance for end in self.writes.ends if (run := runs.get(end.id)) is not None]
            happened = [(instance, None) for instance in ends] + self.writes.succeeded
            await dependencies.tell(
                self.connection,
                [
                    Happened(instance.workflow_code, instance.schedule_time, task)
                    for instance, task in happened
                    if instance.schedule_time is not None and not instance.dry_run
                ],
            )
