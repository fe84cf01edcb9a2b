"""RECOVER_TOLERANCE_FAULT_PROCESS: this master becomes the owner of runs whose master died or left."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from dao.runs import failover
from dao.runs.failover import TAKEOVERS_MAX
from dao.tasks import task_events
from master.claim.batch_work import BatchWork
from master.drive.driver import Driver
from model.ids import Epoch
from model.runs.commands import CommandRow, RecoverToleranceFault

log = structlog.get_logger()


async def claim_failover(
    recovers: Sequence[tuple[CommandRow, RecoverToleranceFault]], work: BatchWork, epoch: Epoch, driver: Driver
) -> None:
    """Handle these commands."""
    connection = work.connection
    ids = [command.workflow_instance_id for _, command in recovers]
    taken = await failover.claim_failover(connection, ids, epoch)
    # Earlier changes are in the rows, which are read next; later ones arrive as events.
    await task_events.delete_of(connection, list(taken))
    sound = [instance for instance, takeovers in taken.values() if takeovers < TAKEOVERS_MAX]
    await driver.restorer.restore(work, sound)
    driver.runs.note_failovers(instance.id for instance, takeovers in taken.values() if takeovers)
    for row, command in recovers:
        id_ = command.workflow_instance_id
        if id_ not in taken:
            work.refuse(row, await failover.why_not_recovered(connection, id_), id_)
            continue
        if taken[id_][1] >= TAKEOVERS_MAX:
            reason = f"its masters died {TAKEOVERS_MAX} times while driving it; it may be what kills them"
            work.writes.fail(id_, reason)
        work.done(row, id_)
    log.info("failover_claimed", workflow_instances=len(taken))
