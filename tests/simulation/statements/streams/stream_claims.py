"""The statements of `dao/streams/stream_claims.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dao.streams.stream_claims import OVERDUE, GroupStreams
from dao.tasks.task_claims import ClaimedTask
from model.ids import Epoch
from model.runs.states import TaskState
from tests.simulation.statements.rows import RUNNING
from tests.simulation.statements.tasks.task_claims import claimed_task, urgency
from tests.simulation.tables import Row, Transaction, Values

T = TaskState
LATELY_S = 10.0
PROVEN_S = 3.0
"""Longer than from the failure of an attempt to the report of a slow worker, which made one look proven."""


def _streams(tx: Transaction, group: str) -> list[tuple[Row, Values]]:
    """Streams that run, and those that wait only for a place."""
    return [
        (row, task)
        for row, task in tx.scan(tx.server.tasks.unfinished)
        if task.stream is not None and task.worker_group == group and task.state in (T.QUEUED, *RUNNING)
        if task.state is not T.QUEUED or task.resources is None
    ]


def count(tx: Transaction, groups: Sequence[str]) -> dict[str, GroupStreams]:
    found = {}
    fail = troubled(tx, groups)
    for group in groups:
        tasks = [task for _, task in _streams(tx, group)]
        waiting = [task for task in tasks if task.state is T.QUEUED]
        is_overdue = any(task.queued_s < tx.server.now_s - OVERDUE.total_seconds() for task in waiting)
        running = Counter(task.worker_id for task in tasks if task.state is not T.QUEUED)
        found[group] = GroupStreams(len(waiting), is_overdue, running, fail.get(group, ()))
    return found


def troubled(tx: Transaction, groups: Sequence[str] | None = None) -> dict[str, frozenset[Epoch]]:
    """By group, in times of the simulation."""
    if not tx.server.protections.troubled:
        return {}
    ends = early_ends(tx)
    proven = {
        (task.worker_group, task.worker_id)
        for _, task in tx.scan(tx.server.tasks.unfinished)
        if task.stream is not None
        and task.state is T.RUNNING_EXECUTION
        and task.started_s is not None
        and task.started_s < tx.server.now_s - PROVEN_S
    }
    found: dict[str, set[Epoch]] = {}
    for group, worker in {(end.group, end.worker) for end in ends} - proven:
        ended = [end for end in ends if (end.group, end.worker) == (group, worker)]
        times = Counter(end.stream for end in ended)
        fails = sum(end.is_last for end in ended) >= 2 or max(times.values()) >= 3
        if fails and (groups is None or group in groups):
            found.setdefault(group, set()).add(worker)
    return {group: frozenset(workers) for group, workers in found.items()}


class EarlyEnd(NamedTuple):
    """An attempt of a stream that failed soon, one of the last three before the one that waits or runs."""

    group: str
    worker: Epoch
    stream: int
    is_last: bool


def early_ends(tx: Transaction) -> list[EarlyEnd]:
    """Recent early ends."""
    found = []
    for row, task in list(tx.scan(tx.server.tasks.unfinished)):
        if task.stream is None or not task.retries or task.state not in (T.QUEUED, *RUNNING):
            continue
        for _, former in tx.of_key(tx.server.tasks, task.workflow_instance_id):
            if former.task_code != task.task_code or not task.attempt - 3 <= former.attempt < task.attempt:
                continue
            has_failed = former.state is T.FAILURE and former.worker_id is not None
            is_early = has_failed and (former.started_s is None or former.ended_s - former.started_s < PROVEN_S)
            if is_early and former.ended_s > tx.server.now_s - LATELY_S:
                is_last = former.attempt == task.attempt - 1
                found.append(EarlyEnd(task.worker_group, former.worker_id, row.id, is_last))
    return found


def claim(tx: Transaction, limits: Mapping[str, int], worker: Epoch) -> list[ClaimedTask]:
    """QUEUED streams of each group in their order, FOR UPDATE SKIP LOCKED."""
    node = tx.get(tx.server.nodes, worker)
    if node is not None and (node.kind, node.name or node.address) in tx.server.drains:
        return []
    claimed: list[ClaimedTask] = []
    for group, limit in limits.items():
        taken = 0
        for row, task in sorted(_streams(tx, group), key=lambda each: urgency(each[1])):
            if task.state is T.QUEUED and taken < limit and tx.try_lock(row):
                state = T.RUNNING_EXECUTION if task.write_ahead else T.DISPATCH
                started_s = tx.server.now_s if task.write_ahead else None
                changes = {"state": state, "worker_id": worker, "started_s": started_s, "handover": None}
                claimed.append(claimed_task(tx, tx.update(row, **changes)))
                taken += 1
    return claimed
