"""The statements of `dao/streams/stream_ends.py`."""

from __future__ import annotations

from collections.abc import Sequence

from dao.streams.stream_ends import Attempt
from model.ids import Epoch
from tests.simulation.statements.rows import is_owned
from tests.simulation.tables import Transaction


def ran_s(tx: Transaction, attempts: Sequence[Attempt]) -> dict[Attempt, float]:
    return {
        (run, code, attempt): task.ended_s - task.started_s
        for run, code, attempt in attempts
        for _, task in tx.of_key(tx.server.tasks, run)
        if (task.task_code, task.attempt) == (code, attempt) and None not in (task.ended_s, task.started_s)
    }


def delete_old(tx: Transaction, last_old: Sequence[Attempt], master: Epoch) -> None:
    for run, code, attempt in last_old:
        instance = tx.get(tx.server.instances, run)
        for row, task in list(tx.of_key(tx.server.tasks, run)):
            is_old = task.task_code == code and task.attempt <= attempt and not task.flag and task.ended_s is not None
            if is_old and instance is not None and is_owned(tx, instance, master):
                tx.delete(row)
