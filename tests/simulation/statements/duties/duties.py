"""The statements of `dao/duties/duties.py`. All periods are `EVERY_S`, so that a run has some of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from dao.cluster.nodes import Me
from dao.duties.duties import Next, TakenDuty
from model.cluster.duties import HELD, OVERDUE, PAUSE_MAX, DutyName, Step, pause_after
from model.ids import Epoch
from tests.simulation.server import EPOCH
from tests.simulation.statements.cluster.nodes import LIVING
from tests.simulation.tables import Blocked, Row, Transaction, Values

EVERY_S = 4.0


def _at(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def _may_at_s(tx: Transaction, row: Row, duty: Values, me: Epoch, mine: Collection[str]) -> float:
    """When this master may do the next step."""
    now_s, overdue_s = tx.server.now_s, OVERDUE.total_seconds()
    due_s = now_s - overdue_s if duty.due_s > now_s + EVERY_S else duty.due_s
    if row.id not in mine and duty.holder != me:
        due_s += overdue_s
    holder = None if duty.holder is None else tx.get(tx.server.nodes, duty.holder)
    is_gone = duty.holder is not None and (holder is None or holder.state not in LIVING)
    is_free = duty.holder == me or duty.free_s > now_s + PAUSE_MAX.total_seconds() or is_gone
    return float(due_s if is_free else max(due_s, duty.free_s))


def read_next(tx: Transaction, me: Epoch, mine: Collection[str], known: Collection[str]) -> Next:
    found = [(row, duty) for row, duty in tx.scan(tx.server.duties.rows) if row.id in known]
    in_s = [_may_at_s(tx, row, duty, me, mine) - tx.server.now_s for row, duty in found]
    later_s = [each for each in in_s if each > 0]
    return Next(len(found), len(in_s) - len(later_s), min(later_s, default=None))


def add(tx: Transaction, periods: Mapping[DutyName, timedelta]) -> None:
    """ON CONFLICT DO NOTHING, which waits for who inserts the same name."""
    for name in periods:
        row = tx.server.duties.rows.get(name)
        if row is not None and tx.see(row) is None:
            raise Blocked(row)
        if row is None:
            new = Values(due_s=tx.server.now_s, holder=None, free_s=-math.inf, began_s=None, steps=0, failures=0)
            tx.insert(tx.server.duties, name, new.but({"progress": {}}))


def take(tx: Transaction, me: Epoch, mine: Collection[str], known: Collection[str]) -> TakenDuty | None:
    """The one that has done the fewest steps, FOR UPDATE SKIP LOCKED."""
    now_s = tx.server.now_s
    ready = [
        (duty.steps, duty.due_s, row.id, row, duty)
        for row, duty in tx.scan(tx.server.duties.rows)
        if row.id in known and _may_at_s(tx, row, duty, me, mine) <= now_s
    ]
    for _, _, name, row, duty in sorted(ready, key=lambda each: each[:3]):
        if not tx.server.protections.duty:
            return TakenDuty(name, _at(duty.due_s), duty.steps, duty.failures, duty.progress)
        if tx.try_lock(row):
            began_s = now_s if duty.began_s is None else duty.began_s
            free_s, due_s = now_s + HELD.total_seconds(), min(duty.due_s, now_s)
            taken = tx.update(row, holder=me, free_s=free_s, began_s=began_s, due_s=due_s)
            return TakenDuty(name, _at(taken.due_s), taken.steps, taken.failures, taken.progress)
    return None


def record(tx: Transaction, me: Me, duty: TakenDuty, step: Step, *, late: bool) -> float | None:
    row, now_s = tx.server.duties.rows[duty.name], tx.server.now_s
    now = tx.see(row)
    assert now is not None
    if tx.server.protections.duty and (now.holder, _at(now.due_s)) != (me.epoch, duty.due_at):
        return None
    if step.is_over:
        following_s = now.due_s + (1 + math.floor(max(0.0, now_s - now.due_s) / EVERY_S)) * EVERY_S
        tx.update(row, holder=None, free_s=-math.inf, began_s=None, steps=0, progress={}, failures=0, due_s=following_s)
        done = Values(name=duty.name, due_at=duty.due_at, epoch=me.epoch, steps=duty.steps + 1, result=step.result)
        tx.insert(tx.server.duties_done, tx.server.duties_done.next_id(), done)
        return float(following_s - now_s)
    free_s = now_s + HELD.total_seconds()
    tx.update(row, steps=duty.steps + 1, progress=dict(step.progress), failures=0, free_s=free_s)
    return 0.0


def failed(tx: Transaction, me: Epoch, duty: TakenDuty, error: str) -> None:
    row, now_s = tx.server.duties.rows[duty.name], tx.server.now_s
    now = tx.see(row)
    assert now is not None
    if _at(now.due_s) == duty.due_at and (now.holder in (None, me) or now.free_s <= now_s):
        failures = now.failures + 1
        free_s = now_s + pause_after(failures).total_seconds()
        tx.update(row, holder=None, steps=0, progress={}, failures=failures, free_s=free_s)
