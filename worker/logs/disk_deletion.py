"""Deletes the logs of deleted runs and stream attempts: each worker its own, every hour.

A run with streams may last forever, and only the last attempts of each stay (`dao/streams/stream_ends.py`). The rows
decide, and only about logs from before yesterday: so the log of an existing run stays, and so do recent logs that
another database does not know, if the worker is started with a wrong URL.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import structlog

from dao.postgres.database import database_time
from dao.retention import gone_runs
from model.errors import ShoalError
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from node.life import Life
from node.threads import in_thread

log = structlog.get_logger()

EVERY_S = 3600.0
FIRST_AFTER_S = 60.0
BATCH = 200
PAUSE_S = 0.2
DAYS_KEPT = timedelta(days=2)
"""Younger logs are never considered."""
_LOG = re.compile(r"[0-9]{1,18}\.log", re.ASCII)


async def delete_old_logs(root: Path, life: Life) -> None:
    """Delete logs until cancelled; failed deletions are retried an hour later."""
    await asyncio.sleep(FIRST_AFTER_S)
    while True:
        try:
            deleted = await delete_gone(root, life)
            if deleted.runs or deleted.attempts:
                log.info("old_logs_deleted", workflow_instances=deleted.runs, task_instances=deleted.attempts)
        except ShoalError as error:
            log.warning("old_logs_wait", error=str(error))
        await asyncio.sleep(EVERY_S)


class Deleted(NamedTuple):
    """How many runs had their logs deleted, and how many attempts of other runs."""

    runs: int
    attempts: int


async def delete_gone(root: Path, life: Life) -> Deleted:
    """Delete the logs of all deleted runs and attempts. Raises `Unavailable`."""
    runs = attempts = 0
    newest = (await life.database.read(database_time) - DAYS_KEPT).strftime("%Y%m%d")
    for day in await in_thread(_days_before, root, newest):
        folders = await in_thread(_runs_of, root / day)
        for begin in range(0, len(folders), BATCH):
            part = folders[begin : begin + BATCH]
            found = await life.database.read(gone_runs.gone, [id_ for id_, _ in part])
            for id_, folder in part:
                if id_ in found.gone:
                    runs += await in_thread(_delete, folder)
                elif id_ in found.unfinished:
                    attempts += await _delete_attempts(folder, id_, life)
            await asyncio.sleep(PAUSE_S)
        await in_thread(_delete_empty, root / day)
    return Deleted(runs, attempts)


async def _delete_attempts(folder: Path, run: WorkflowInstanceId, life: Life) -> int:
    logs, deleted = await in_thread(logs_in, folder), 0
    for begin in range(0, len(logs), BATCH):
        part = dict(logs[begin : begin + BATCH])
        async with life.database.reading() as connection:
            code = WorkflowCode(int(folder.parent.name))
            gone = await gone_runs.gone_attempts(connection, run, code, list(part))
        for id_ in gone:
            deleted += await in_thread(_unlink, part[id_])
    with suppress(OSError):  # logs of others are in it
        await in_thread(folder.rmdir)
    return deleted


def _days_before(root: Path, newest: str) -> list[str]:
    """The folders of earlier days, oldest first."""
    return sorted(name for name in folders_in(root) if len(name) == len(newest) and name < newest)


def _runs_of(day: Path) -> list[tuple[WorkflowInstanceId, Path]]:
    """The folders of the runs of a day."""
    return [
        (WorkflowInstanceId(int(run)), day / workflow / run)
        for workflow in folders_in(day)
        for run in folders_in(day / workflow)
    ]


def logs_in(folder: Path) -> list[tuple[TaskInstanceId, Path]]:
    """The logs in the folder of a run."""
    with suppress(OSError):
        return [(TaskInstanceId(int(file.stem)), file) for file in folder.iterdir() if _LOG.fullmatch(file.name)]
    return []


def _unlink(log_: Path) -> bool:
    """Delete a file; return whether it is gone."""
    with suppress(OSError):
        log_.unlink(missing_ok=True)
        return True
    return False


def folders_in(folder: Path) -> Iterator[str]:
    """The subfolders named by a number; links are not followed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.isascii() and name.isdecimal() and len(name) < 20 and entry.is_dir(follow_symlinks=False):
                yield name


def _delete(folder: Path) -> bool:
    """Delete a folder; return whether it is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _delete_empty(day: Path) -> None:
    """Delete a day's empty workflow folders, and the day's own if it is empty."""
    for workflow in list(folders_in(day)):
        with suppress(OSError):
            (day / workflow).rmdir()
    with suppress(OSError):
        day.rmdir()
