"""The statements of `dao/tasks/streams.py` that masters send."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from dao.postgres.notify import KILL
from dao.tasks.stream_claims import OVERDUE
from dao.tasks.streams import WITHIN_S, AskedRestart, FirstInLine, LivingStream
from model.ids import TaskInstanceId
from model.rolling import Restart
from model.states import TaskState
from tests.simulation.statements.rows import RUNNING
from tests.simulation.statements.tasks.pool_claims import waiting
from tests.simulation.tables import Transaction, Values

T = TaskState


def _living(tx: Transaction) -> list[Values]:
    return [
        task
        for _, task in tx.scan(tx.server.tasks.unfinished)
        if task.stream is not None and task.state in (T.QUEUED, *RUNNING)
    ]


def _waits_for_long(tx: Transaction, task: Values) -> bool:
    is_queued = task.state is T.QUEUED and task.resources is not None
    return is_queued and task.queued_s < tx.server.now_s - OVERDUE.total_seconds()


def _is_short(tx: Transaction, task: Values) -> bool:
    free = Counter(each.pool for _, each in tx.scan(tx.server.resources.rows) if each.holder is None)
    return any(free[pool] < number for pool, number in json.loads(task.resources or "{}").items())


def any_to_do(tx: Transaction) -> bool:
    return bool(_living(tx) or list(tx.scan(tx.server.stream_restarts.rows)))


def try_lock(tx: Transaction) -> bool:
    """pg_try_advisory_xact_lock."""
    return tx.try_lock(tx.server.stream_lock)


def living(tx: Transaction) -> list[LivingStream]:
    return [
        LivingStream(
            task.id,
            task.worker_group,
            None if task.state is T.QUEUED else task.worker_id,
            task.handover is not None or task.kill_requested,
            begins=False,
            pools=tuple(json.loads(task.resources or "{}")),
            waits_for_pool=_waits_for_long(tx, task) or (task.state is T.QUEUED and _is_short(tx, task)),
        )
        for task in sorted(_living(tx), key=lambda each: -each.id)
    ]


def first_in_line(tx: Transaction) -> set[FirstInLine]:
    """There are few, and all fit into their pools."""
    return {
        FirstInLine(pool, task.worker_group, task.stream is not None)
        for _, task in waiting(tx)
        for pool in json.loads(task.resources)
    }


def hand_over(tx: Transaction, reasons: Mapping[TaskInstanceId, str]) -> set[TaskInstanceId]:
    """WHERE state IN (DISPATCH, RUNNING) AND handover IS NULL AND NOT kill_requested, FOR UPDATE SKIP LOCKED."""
    found = set()
    for id_, why in reasons.items():
        row = tx.server.tasks.rows[id_]
        task = tx.see(row)
        is_free = task is not None and task.state in RUNNING and task.handover is None and not task.kill_requested
        if is_free and tx.try_lock(row):
            tx.update(row, handover=why)
            found.add(id_)
    if found:
        tx.notes.append((KILL, ""))
    return found


def start_now(tx: Transaction, ids: Sequence[TaskInstanceId]) -> set[TaskInstanceId]:
    """FOR UPDATE SKIP LOCKED."""
    ended = set()
    for id_ in ids:
        row = tx.server.tasks.rows[id_]
        task = tx.see(row)
        if task is not None and task.state is T.DELAY_EXECUTION and tx.try_lock(row):
            tx.update(row, due_s=tx.server.now_s)
            ended.add(id_)
    return ended


def restarts(tx: Transaction) -> list[AskedRestart]:
    found = []
    for row, asked in tx.scan(tx.server.stream_restarts.rows):
        run, code = row.id
        instance = tx.get(tx.server.instances, run)
        last = [task for _, task in tx.of_key(tx.server.tasks, run) if task.task_code == code and task.flag]
        restart = Restart(
            run,
            code,
            instance is not None and not instance.state.is_final,
            last[0].state if last else None,
            last[0].attempt if last else 0,
            is_ready=True,
            begun_s=None if asked.begun_s is None else tx.server.now_s - asked.begun_s,
            ended_attempt=asked.ended_attempt,
            within_s=WITHIN_S,
            waits_for_pool=bool(last) and _waits_for_long(tx, last[0]),
            asked_s=tx.server.now_s - asked.asked_s,
        )
        found.append(AskedRestart(restart, "somebody", last[0].id if last else None))
    return found


def begin_restart(tx: Transaction, restart: Restart, ended_attempt: int) -> None:
    row = tx.server.stream_restarts.rows[restart.run, restart.code]
    tx.update(row, begun_s=tx.server.now_s, ended_attempt=ended_attempt)


def restarted(tx: Transaction, done: Sequence[Restart]) -> None:
    for each in done:
        row = tx.server.stream_restarts.rows.get((each.run, each.code))
        if row is not None and tx.see(row) is not None:
            tx.delete(row)


def asked_rebalances(tx: Transaction) -> list[str]:
    """Nobody asks: masters do it by themselves."""
    return []


def rebalanced(tx: Transaction, groups: Sequence[str]) -> None:
    """Nobody asks."""
