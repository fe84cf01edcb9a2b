"""The statements of `dao/commands/commands.py`, and the row that others insert too."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from dao.commands.commands import Outcome
from dao.postgres.errors import BadData
from dao.postgres.notify import COMMAND
from model.cluster.slots import Slot
from model.ids import CommandId, Epoch
from model.runs.command_moves import URGENT, CommandType
from model.runs.commands import CommandRow
from tests.simulation.tables import Row, Transaction, Values

RECOVER = CommandType.RECOVER_TOLERANCE_FAULT_PROCESS
_RANKS = dict.fromkeys((*URGENT, CommandType.RECOVER_SERIAL_WAIT), -1)
_PRIORITIES = {"HIGHEST": 0, "HIGH": 1, "LOW": 3, "LOWEST": 4}


def any_but(tx: Transaction, id_: CommandId) -> bool:
    return any(row.id != id_ for row, _ in tx.scan(tx.server.commands.rows))


def ask(tx: Transaction, type_: CommandType, **columns: Any) -> CommandId:
    """One row; columns as text. The trigger wakes the masters; a second open RECOVER of an instance is refused."""
    server = tx.server
    if type_ is RECOVER and server.protections.recover:
        _refuse_second_recover(tx, columns["workflow_instance_id"])
    id_ = CommandId(server.commands.next_id())
    told: dict[str, Any] = dict.fromkeys(("workflow_code", "workflow_version", "workflow_instance_id"))
    told |= {
        "params": "{}",
        "priority": None,
        "failure_strategy": None,
        "worker_group": None,
        "dry_run": "false",
        "created_by": "client",
        "from_above": "false",
    }
    row = CommandRow(id=id_, type=type_, created_at=str(server.now()), **(told | columns))
    rank = _RANKS.get(type_, _PRIORITIES.get(row.priority or "", 2))
    tx.insert(
        server.commands, id_, Values(row=row, type=type_, rank=rank, created_s=server.now_s, deaths=0, tried_by=None)
    )
    tx.notes.append((COMMAND, ""))
    return id_


def claim(tx: Transaction, slot: Slot, limit: int, id_step: int, without: Sequence[CommandId] = ()) -> list[CommandRow]:
    """WHERE (id / step) % total = current AND id <> ALL(without)
    ORDER BY priority_rank, id LIMIT n FOR UPDATE SKIP LOCKED; DELETE."""
    mine = [
        (each.rank, row.id, row)
        for row, each in tx.scan(tx.server.commands.rows)
        if slot.owns(row.id, id_step) and not each.deaths and row.id not in without
    ]
    return _take(tx, [row for _, _, row in sorted(mine, key=lambda one: one[:2])], limit)


def claim_urgent(
    tx: Transaction,
    slot: Slot | None,
    older_than: timedelta,
    limit: int,
    id_step: int,
    without: Sequence[CommandId] = (),
) -> list[CommandRow]:
    """WHERE priority_rank = -1 AND ((id / step) % total = current OR created_at < now() - age)."""
    aged_s = tx.server.now_s - older_than.total_seconds()
    mine = [
        row
        for row, each in tx.scan(tx.server.commands.rows)
        if each.type in URGENT
        and not each.deaths
        and row.id not in without
        and ((slot is not None and slot.owns(row.id, id_step)) or each.created_s < aged_s)
    ]
    return _take(tx, sorted(mine, key=lambda row: row.id), limit)


def steal(tx: Transaction, older_than: timedelta, limit: int, without: Sequence[CommandId] = ()) -> list[CommandRow]:
    """WHERE created_at < now() - age AND id <> ALL(without)
    ORDER BY created_at LIMIT n FOR UPDATE SKIP LOCKED; DELETE."""
    aged = [
        (each.created_s, row.id, row)
        for row, each in tx.scan(tx.server.commands.rows)
        if each.created_s < tx.server.now_s - older_than.total_seconds() and not each.deaths and row.id not in without
    ]
    return _take(tx, [row for _, _, row in sorted(aged, key=lambda one: one[:2])], limit)


def take(tx: Transaction, ids: Sequence[CommandId]) -> list[CommandRow]:
    """WHERE id = ANY(ids) FOR UPDATE SKIP LOCKED; DELETE."""
    return _take(tx, [row for row, _ in tx.scan(tx.server.commands.rows) if row.id in ids], len(ids))


def _take(tx: Transaction, rows: Sequence[Row], limit: int) -> list[CommandRow]:
    taken: list[Values] = []
    for row in rows:
        values = tx.see(row)
        if len(taken) == limit or values is None:
            continue
        if not tx.server.protections.claim:
            tx.writes[row] = None  # read by one statement, deleted by another that nobody asks how many it hit
        elif tx.try_lock(row):
            tx.delete(row)
        else:
            continue
        taken.append(values)
    return [each.row for each in sorted(taken, key=lambda each: (each.rank, each.row.id))]


def id_increment(_: Transaction) -> int:
    """The increment of the sequence's ids."""
    return 1


def record(tx: Transaction, outcomes: Sequence[Outcome], master: Epoch, slot: Slot | None) -> None:
    """INSERT INTO command_history: its primary key is the proof."""
    for outcome in outcomes:
        values = Values(
            type=outcome.row.type,
            instance=outcome.instance,
            reason=outcome.reason,
            master=master,
            slot=slot,
            handled_s=tx.server.now_s,
        )
        tx.insert(tx.server.history, outcome.row.id, values)


def handled_before(tx: Transaction, id_: CommandId) -> str | None:
    """Whether it was handled, by the primary key of command_history."""
    return "before" if tx.get(tx.server.history, id_) is not None else None


def ask_recover(tx: Transaction, instance: int, workflow_code: int, priority: str | None = None) -> None:
    """ON CONFLICT DO NOTHING at the unique index on the open RECOVER commands of an instance."""
    asked = {"workflow_instance_id": str(instance), "workflow_code": str(workflow_code), "priority": priority}
    with suppress(BadData):
        ask(tx, RECOVER, created_by="failover", **asked)


def _refuse_second_recover(tx: Transaction, instance: str) -> None:
    for row in list(tx.server.commands.rows.values()):
        values = tx.see(row)
        if values is None and row.owner not in (None, tx):
            values = row.owner.writes.get(row)
        if values is not None and values.type is RECOVER and values.row.workflow_instance_id == instance:
            tx.refuse_if_there(row, "command_one_recover")
