"""`dao/commands/waiting_work.py` on rows in memory."""

from __future__ import annotations

import math
import sys
from datetime import timedelta

from dao.commands.waiting_work import WaitingWork
from model.cluster.low_water import FROM_FIRST, Marks
from model.cluster.slots import Slot
from model.ids import Epoch
from tests.simulation.server import EPOCH
from tests.simulation.statements.commands import deadly_commands
from tests.simulation.statements.runs import dependencies
from tests.simulation.statements.streams import streams
from tests.simulation.statements.tasks import task_events, task_timers
from tests.simulation.tables import Transaction


def work_waits(
    tx: Transaction,
    slot: Slot | None,
    older_than: timedelta,
    id_step: int,
    master: Epoch,
    *,
    marks: Marks | None = FROM_FIRST,
) -> WaitingWork:
    server = tx.server
    commands = [(row.id, each.created_s, each.deaths) for row, each in tx.scan(server.commands.rows)]
    epoch_s = EPOCH.timestamp()
    since = marks or Marks(math.inf, sys.maxsize)
    commands = [each for each in commands if epoch_s + each[1] >= since.created_s]
    oldest_s = min((epoch_s + created_s for _, created_s, _ in commands), default=None)
    is_aged = oldest_s is not None and oldest_s < epoch_s + server.now_s - older_than.total_seconds()
    due = [at_s - server.now_s for at_s in task_timers.times_s(tx)]
    if any(task_timers.is_set_back(tx, task) for _, task in tx.scan(server.tasks.unfinished)):
        due = [0.0]
    events = [row.id for row, event in tx.scan(server.events.rows) if event.owner == master]
    return WaitingWork(
        mine=any(slot is not None and slot.owns(id_, id_step) and not deaths for id_, _, deaths in commands),
        aged=server.protections.steal and is_aged,
        events=min((id_ for id_ in events if id_ >= since.event), default=None),
        oldest_s=oldest_s,
        now_s=epoch_s + server.now_s,
        horizon=server.horizon(),
        suspect=bool(deadly_commands.free(tx, master)),
        due_in_s=min(due, default=None),
        dependents=any(dependencies.waits(task) for _, task in tx.scan(server.tasks.unfinished)),
        schedules=any(each.state == "ONLINE" and each.problem is None for _, each in tx.scan(server.schedules.rows)),
        stray_events=marks is not None and any(task_events.is_owned(tx, run) for _, _, run in task_events.strays(tx)),
        streams=bool(streams.queued_or_running(tx) or list(tx.scan(server.stream_restarts.rows))),
    )
