"""The statements of `dao/streams/streams.py` that masters send."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dao.postgres.notify import KILL
from dao.streams.stream_claims import OVERDUE
from dao.streams.streams import WITHIN_S, AskedRestart, FirstInLine, LivingStream
from model.ids import TaskCode, TaskInstanceId, WorkflowInstanceId
from model.runs.states import TaskState
from model.streams.rolling import Restart
from tests.simulation.statements.pools.pool_claims import waiting
from tests.simulation.statements.rows import RUNNING
from tests.simulation.tables import Row, Transaction, Values

T = TaskState
LATELY_S = 60.0
"""A stream that was queued since then is taken in a moment, if it needs only a place."""
RESTARTS_FOR_S = 600.0


def queued_or_running(tx: Transaction) -> list[Values]:
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


def try_lock(tx: Transaction) -> bool:
    """pg_try_advisory_xact_lock."""
    return tx.try_lock(tx.server.stream_lock)


def living(tx: Transaction) -> list[LivingStream]:
    since_s = tx.server.now_s - RESTARTS_FOR_S
    begun = {row.id for row, each in tx.scan(tx.server.stream_restarts.rows) if (each.begun_s or 0) > since_s}
    restarted = {run for run, _ in begun}
    return [
        LivingStream(
            task.id,
            task.worker_group,
            None if task.state is T.QUEUED else task.worker_id,
            task.handover is not None or task.kill_requested,
            begins=False,
            restarts=task.workflow_instance_id in restarted,
            pools=tuple(json.loads(task.resources or "{}")),
            waits_for_pool=_waits_for_long(tx, task) or (task.state is T.QUEUED and _is_short(tx, task)),
        )
        for task in sorted(queued_or_running(tx), key=lambda each: -each.id)
    ]


def first_in_line(tx: Transaction) -> set[FirstInLine]:
    """All that wait and fit into their pools."""
    return {
        FirstInLine(pool, task.worker_group, task.stream is not None)
        for _, task in waiting(tx)
        if _fits(tx, needs := json.loads(task.resources))
        for pool in needs
    }


def _fits(tx: Transaction, needs: Mapping[str, int]) -> bool:
    """Whether there are enough, held or not."""
    sizes = Counter(each.pool for _, each in tx.scan(tx.server.resources.rows))
    return all(sizes[name] >= number for name, number in needs.items())


def hand_over(tx: Transaction, reasons: Mapping[TaskInstanceId, str]) -> set[TaskInstanceId]:
    """WHERE state IN (DISPATCH, RUNNING) AND handover IS NULL AND NOT kill_requested, FOR UPDATE SKIP LOCKED."""
    found = set()
    for row, task in _streams(tx, reasons):
        is_free = task.state in RUNNING and task.handover is None and not task.kill_requested
        if is_free and tx.try_lock(row):
            tx.update(row, handover=reasons[task.id])
            found.add(task.id)
    if found:
        tx.notes.append((KILL, ""))
    return found


def start_now(tx: Transaction, ids: Sequence[TaskInstanceId]) -> set[TaskInstanceId]:
    """WHERE state = 'DELAY_EXECUTION', FOR UPDATE SKIP LOCKED."""
    ended = set()
    for row, task in _streams(tx, ids):
        if task.state is T.DELAY_EXECUTION and tx.try_lock(row):
            tx.update(row, due_s=tx.server.now_s)
            ended.add(task.id)
    return ended


def _streams(tx: Transaction, ids: Iterable[TaskInstanceId]) -> list[tuple[Row, Values]]:
    rows = [row for id_ in ids if (row := tx.server.tasks.rows.get(id_)) is not None]
    return [(row, task) for row in rows if (task := tx.see(row)) is not None and task.stream is not None]


def restarts(tx: Transaction) -> list[AskedRestart]:
    moving = [task for task in queued_or_running(tx) if _moves(tx, task)]
    return [
        _restart(tx, run, code, asked, moving)
        for (run, code), asked in sorted((row.id, asked) for row, asked in tx.scan(tx.server.stream_restarts.rows))
    ]


def _moves(tx: Transaction, task: Values) -> bool:
    """Whether it is ended, or waits for its next worker."""
    lately_s = LATELY_S if task.resources is None else OVERDUE.total_seconds()
    is_away = task.state is not T.RUNNING_EXECUTION and task.queued_s > tx.server.now_s - lately_s
    return task.handover is not None or is_away


def _restart(
    tx: Transaction, run: WorkflowInstanceId, code: TaskCode, asked: Values, moving: Sequence[Values]
) -> AskedRestart:
    instance = tx.get(tx.server.instances, run)
    of_task = [task for _, task in tx.of_key(tx.server.tasks, run) if task.task_code == code]
    last = next((task for task in of_task if task.flag and task.stream is not None), None)
    begun_s = asked.begun_s
    if begun_s is not None and last is not None and last.attempt == asked.ended_attempt + 1:
        begun_s = max(begun_s, last.started_s or begun_s)
    restart = Restart(
        run,
        code,
        instance is None or instance.ended_s is None,
        None if last is None else last.state,
        0 if last is None else last.attempt,
        is_ready=last is not None,
        begun_s=None if begun_s is None else tx.server.now_s - begun_s,
        ended_attempt=asked.ended_attempt,
        within_s=WITHIN_S,
        another_moves=any(each.workflow_instance_id == run and each.task_code != code for each in moving),
        waits_for_pool=last is not None and _waits_for_long(tx, last),
        asked_s=tx.server.now_s - asked.asked_s,
    )
    return AskedRestart(restart, asked.asked_by, None if last is None else last.id)


def begin_restart(tx: Transaction, restart: Restart, ended_attempt: int) -> None:
    """WHERE begun_at IS NULL."""
    row = tx.server.stream_restarts.rows.get((restart.run, restart.code))
    asked = None if row is None else tx.see(row)
    if row is not None and asked is not None and asked.begun_s is None:
        tx.update(row, begun_s=tx.server.now_s, ended_attempt=ended_attempt)


def restarted(tx: Transaction, done: Sequence[Restart]) -> None:
    """Not one that was asked for again meanwhile."""
    for each in done:
        row = tx.server.stream_restarts.rows.get((each.run, each.code))
        asked = None if row is None else tx.see(row)
        if row is not None and asked is not None and (asked.begun_s is None) == (each.begun_s is None):
            tx.delete(row)


def ask_restart(tx: Transaction, run: WorkflowInstanceId, codes: Sequence[TaskCode], asked_by: str) -> int:
    """ON CONFLICT DO UPDATE, unless it is under way and its new attempt has not begun."""
    count = 0
    for code in codes:
        values = {"begun_s": None, "ended_attempt": 0, "asked_s": tx.server.now_s, "asked_by": asked_by}
        row = tx.server.stream_restarts.rows.get((run, code))
        asked = None if row is None else tx.see(row)
        if row is None or asked is None:
            tx.insert(tx.server.stream_restarts, (run, code), Values(**values))
        elif asked.begun_s is None or _has_begun_again(tx, run, code, asked.ended_attempt):
            tx.update(row, **values)
        else:
            continue
        count += 1
    return count


def _has_begun_again(tx: Transaction, run: WorkflowInstanceId, code: TaskCode, ended_attempt: int) -> bool:
    return any(
        task.task_code == code and task.flag and task.attempt > ended_attempt
        for _, task in tx.of_key(tx.server.tasks, run)
        if task.state in (T.DELAY_EXECUTION, *RUNNING)
    )


def asked_rebalances(tx: Transaction) -> list[str]:
    """None: masters rebalance by themselves."""
    return []


def rebalanced(tx: Transaction, groups: Sequence[str]) -> None:
    """Nobody asks."""
