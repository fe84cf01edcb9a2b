"""`dao/commands/waiting_work.py` on rows in memory."""

from __future__ import annotations

from datetime import timedelta

from dao.commands.waiting_work import WaitingWork
from model.cluster.slots import Slot
from model.ids import Epoch
from tests.simulation.statements.commands import deadly_commands
from tests.simulation.statements.runs import dependencies
from tests.simulation.statements.streams import streams
from tests.simulation.statements.tasks import task_events, task_timers
from tests.simulation.tables import Transaction


def work_waits(
    tx: Transaction, slot: Slot | None, older_than: timedelta, id_step: int, master: Epoch, *, walks: bool = True
) -> WaitingWork:
    server = tx.server
    commands = [(row.id, each.created_s, each.deaths) for row, each in tx.scan(server.commands.rows)]
    due = [at_s - server.now_s for at_s in task_timers.times_s(tx)]
    if any(task_timers.is_set_back(tx, task) for _, task in tx.scan(server.tasks.unfinished)):
        due = [0.0]
    return WaitingWork(
        any(walks and slot is not None and slot.owns(id_, id_step) and not deaths for id_, _, deaths in commands),
        walks
        and server.protections.steal
        and any(created_s < server.now_s - older_than.total_seconds() for _, created_s, _ in commands),
        min((row.id for row, event in tx.scan(server.events.rows) if walks and event.owner == master), default=None),
        bool(deadly_commands.free(tx, master)),
        min(due, default=None),
        any(dependencies.waits(task) for _, task in tx.scan(server.tasks.unfinished)),
        any(each.state == "ONLINE" and each.problem is None for _, each in tx.scan(server.schedules.rows)),
        walks and any(task_events.is_owned(tx, run) for _, _, run in task_events.strays(tx)),
        bool(streams.queued_or_running(tx) or list(tx.scan(server.stream_restarts.rows))),
    )
