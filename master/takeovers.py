"""RECOVER_TOLERANCE_FAULT_PROCESS: instances whose master died or left become this master's own."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from dao import task_events, workflow_instances
from dao.workflow_instances import TAKEOVERS_MAX
from master.batch_work import BatchWork
from master.driver import Driver
from model.commands import CommandRow, RecoverToleranceFault
from model.ids import Epoch

log = structlog.get_logger()


async def take_over(
    recovers: Sequence[tuple[CommandRow, RecoverToleranceFault]], work: BatchWork, epoch: Epoch, driver: Driver
) -> None:
    """Do what these commands ask for."""
    connection = work.connection
    ids = [command.workflow_instance_id for _, command in recovers]
    taken = await workflow_instances.take_over(connection, ids, epoch)
    # What happened before is in the rows, which are read next; what comes later is read as an event.
    await task_events.forget(connection, list(taken))
    sound = [instance for instance, takeovers in taken.values() if takeovers < TAKEOVERS_MAX]
    work.held += await driver.adopt(connection, sound, work.writes)
    driver.mind_takeovers(instance.id for instance, takeovers in taken.values() if takeovers)
    for row, command in recovers:
        id_ = command.workflow_instance_id
        if id_ not in taken:
            work.refuse(row, await workflow_instances.why_not_recovered(connection, id_), id_)
            continue
        if taken[id_][1] >= TAKEOVERS_MAX:
            reason = f"its masters died {TAKEOVERS_MAX} times while driving it; it may be what kills them"
            work.writes.give_up(id_, reason)
        work.done(row, id_)
    log.info("took_over", workflow_instances=len(taken))
