"""The statements of `dao/definitions/schedules.py`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dao.definitions.schedules import DueSchedules, Fire
from dao.postgres.notify import SCHEDULE
from model.cluster.slots import Slot
from model.ids import ScheduleId
from model.runs.command_moves import CommandType
from model.time.schedules import ScheduleRow
from tests.simulation.statements.commands import commands
from tests.simulation.tables import Transaction, Values

_NOT_COMPUTED = "1970-01-01 00:00:00+00:00"
"""The next fire of a schedule that was made or changed, until it is computed."""


def _of_slot(tx: Transaction, slot: Slot) -> list[Values]:
    mine = [
        each
        for row, each in tx.scan(tx.server.schedules.rows)
        if each.state == "ONLINE" and each.problem is None and row.id % slot.total == slot.current
    ]
    return sorted(mine, key=lambda each: (each.next_fire_at or "", each.id))


def due(tx: Transaction, slot: Slot | None, limit: int) -> DueSchedules | None:
    now = tx.server.now()
    mine = [] if slot is None else [e for e in _of_slot(tx, slot) if (e.next_fire_at or "") <= now.isoformat()]
    rows = [ScheduleRow(*(getattr(each, name) for name in ScheduleRow.__slots__)) for each in mine[:limit]]
    return DueSchedules(now, rows) if rows else None


def next_due_in_s(tx: Transaction, slot: Slot | None, *, to_come: bool = False) -> float | None:
    mine = [] if slot is None else _of_slot(tx, slot)
    if to_come:
        mine = [each for each in mine if (each.next_fire_at or "") > tx.server.now().isoformat()]
    if not mine:
        return None
    return (datetime.fromisoformat(mine[0].next_fire_at or _NOT_COMPUTED) - tx.server.now()).total_seconds()


def fire(tx: Transaction, fires: Sequence[Fire]) -> dict[ScheduleId, int]:
    """WHERE next_fire_at IS NOT DISTINCT FROM seen AND updated_at = version FOR UPDATE SKIP LOCKED; UPDATE; INSERT."""
    fired: dict[ScheduleId, int] = {}
    for each in fires:
        row = tx.server.schedules.rows[each.row.id]
        now = tx.see(row)
        assert now is not None
        as_seen = now.next_fire_at == each.row.next_fire_at and now.updated_at == each.row.updated_at
        if not (as_seen or not tx.server.protections.fire_compare) or now.state != "ONLINE" or now.problem is not None:
            continue
        if not tx.try_lock(row):
            continue
        last = max(each.times, default=None)
        tx.update(
            row,
            next_fire_at=each.next_fire.isoformat() if each.next_fire else None,
            last_fire_at=last.isoformat() if last else now.last_fire_at,
            problem=each.problem,
        )
        for time in each.times:
            commands.ask(
                tx,
                CommandType.SCHEDULER,
                workflow_code=str(now.workflow_code),
                schedule_time=time.isoformat(),
                schedule_id=str(row.id),
                time_zone=now.time_zone,
                created_by="schedule",
            )
        fired[each.row.id] = len(each.times)
    return fired


# ------------------------------------------------------------------------------------------- what people do


def save(tx: Transaction, workflow_code: int, crontab: str, misfire: str) -> ScheduleId:
    id_ = ScheduleId(tx.server.schedules.next_id())
    now = str(tx.server.now())
    row = ScheduleRow(
        id_, workflow_code, crontab, "UTC", None, None, "ONLINE", misfire, 2.0, None, None, None, now, now
    )
    tx.insert(tx.server.schedules, id_, Values(**{name: getattr(row, name) for name in ScheduleRow.__slots__}))
    tx.notes.append((SCHEDULE, ""))
    return id_


def edit(tx: Transaction, id_: ScheduleId, **columns: str) -> None:
    """Any change has it computed again; setting ONLINE again retries only one with a problem."""
    row = tx.server.schedules.rows[id_]
    before = tx.see(row)
    assert before is not None
    changes: dict[str, str | None] = {**columns, "updated_at": str(tx.server.now())}
    is_other = any(getattr(before, name) != value for name, value in columns.items())
    if is_other or ("state" in columns and before.problem is not None):
        changes |= {"next_fire_at": None, "problem": None, "counts_from": str(tx.server.now())}
    tx.update(row, **changes)
    tx.notes.append((SCHEDULE, ""))
