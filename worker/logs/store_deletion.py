"""Deletes copies in the log store whose runs are deleted, and copies without any attempt.

One worker at a time walks through the store, a page at a time, and checks the rows, as `worker/logs/disk_deletion.py`
does with its own disk: only copies from before yesterday are deleted, and none of another history. The next walk begins
an hour after the last, or four times as long as that took.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

import structlog

from dao.cluster import log_stores
from dao.retention import gone_runs
from dao.tasks import stored_logs
from model.errors import Fenced, ShoalError
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logs.name import NO_ATTEMPT, LogName, name_of
from node.life import Life
from node.store_access import StoreAccess
from worker.logs.disk_deletion import DAYS_KEPT

log = structlog.get_logger()

FIRST_AFTER_S = 60.0
CHECK_EVERY_S = 30.0
STEP_S_MAX = 300.0
"""A longer step is repeated by the first worker that comes."""
PAUSE_S = 1.0
ROUND_S = 3600.0
KEYS_MAX = 1000


async def walk_the_store(store: StoreAccess, life: Life) -> None:
    """Walk until cancelled; failed steps are retried."""
    await asyncio.sleep(FIRST_AFTER_S)
    while True:
        try:
            went = await walk_step(store, life)
        except Fenced:
            raise
        except ShoalError as error:
            log.warning("log_store_not_cleaned", error=str(error), so="it is tried again")
            went = False
        await asyncio.sleep(PAUSE_S if went else CHECK_EVERY_S)


async def walk_step(store: StoreAccess, life: Life) -> bool:
    """Do the next step of the walk if it is due; return whether another follows. Raises `Fenced`, `Unavailable`."""
    step = await life.write(log_stores.take_step, store.place, STEP_S_MAX, DAYS_KEPT.days)
    if step is None:
        return False
    await store.verify()
    keys = await store.run(lambda store, _: store.keys_after(step.after, KEYS_MAX))
    named = {key: name for key in keys if (name := name_of(key)) is not None and name.date < step.newest_day}
    deleted = await _delete_gone(store, life, named)
    if deleted:
        log.info("stored_logs_deleted", logs=deleted, store=store.place)
    is_over = len(keys) < KEYS_MAX or keys[-1] >= step.newest_day
    async with life.writing() as connection:
        to = "" if is_over else keys[-1]
        await log_stores.step_done(connection, store.place, to, pause_s=PAUSE_S, round_s=ROUND_S)
    return not is_over


async def _delete_gone(store: StoreAccess, life: Life, named: dict[str, LogName]) -> int:
    runs = sorted({name.workflow_instance_id for name in named.values()})
    found = await life.database.read(gone_runs.gone, runs)
    keys = [key for key, name in named.items() if name.workflow_instance_id in found.gone]
    unfinished: dict[tuple[WorkflowInstanceId, WorkflowCode], list[TaskInstanceId]] = defaultdict(list)
    for name in named.values():
        if name.workflow_instance_id in found.unfinished and name.task_instance_id != NO_ATTEMPT:
            unfinished[name.workflow_instance_id, name.workflow_code].append(name.task_instance_id)
    for (run, code), ids in unfinished.items():
        gone = await life.database.read(gone_runs.gone_attempts, run, code, ids)
        keys += [key for key, name in named.items() if name.task_instance_id in gone]
    await _delete(store, life, keys, [named[key].task_instance_id for key in keys])
    return len(keys)


async def _delete(store: StoreAccess, life: Life, keys: Sequence[str], ids: Sequence[TaskInstanceId]) -> None:
    if keys:
        await store.run(lambda store, _: store.delete(keys))
        await life.write(stored_logs.delete, ids)
