"""Deletes the logs of runs that are gone: each worker its own, every hour.

The rows decide, and only of logs from days before yesterday: so the log of a run that exists stays, and so do logs that
another database would know nothing of, if the worker is started with a wrong URL.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import structlog

from dao.postgres.database import database_time
from dao.retention import gone_runs
from model.errors import ShoalError
from model.ids import WorkflowInstanceId
from node.life import Life
from node.threads import in_thread

log = structlog.get_logger()

EVERY_S = 3600.0
FIRST_AFTER_S = 60.0
BATCH = 200
PAUSE_S = 0.2
DAYS_KEPT = timedelta(days=2)
"""Logs of younger runs are not even asked for."""


async def delete_old_logs(root: Path, life: Life) -> None:
    """Delete them until cancelled; what cannot be deleted is tried again an hour later."""
    await asyncio.sleep(FIRST_AFTER_S)
    while True:
        try:
            deleted = await delete_gone(root, life)
            if deleted:
                log.info("old_logs_deleted", workflow_instances=deleted)
        except ShoalError as error:
            log.warning("old_logs_wait", error=str(error))
        await asyncio.sleep(EVERY_S)


async def delete_gone(root: Path, life: Life) -> int:
    """Delete the logs of all runs that are gone; returns of how many runs. Raises `Unavailable`."""
    deleted = 0
    async with life.database.reading() as connection:
        newest = (await database_time(connection) - DAYS_KEPT).strftime("%Y%m%d")
    for day in await in_thread(_days_before, root, newest):
        folders = await in_thread(_runs_of, root / day)
        for begin in range(0, len(folders), BATCH):
            part = folders[begin : begin + BATCH]
            async with life.database.reading() as connection:
                gone = await gone_runs.gone(connection, [id_ for id_, _ in part])
            for id_, folder in part:
                if id_ in gone:
                    deleted += await in_thread(_delete, folder)
            await asyncio.sleep(PAUSE_S)
        await in_thread(_delete_empty, root / day)
    return deleted


def _days_before(root: Path, newest: str) -> list[str]:
    """The folders of earlier days, oldest first."""
    return sorted(name for name in _folders(root) if len(name) == len(newest) and name < newest)


def _runs_of(day: Path) -> list[tuple[WorkflowInstanceId, Path]]:
    """The folders of the runs of a day."""
    return [
        (WorkflowInstanceId(int(run)), day / workflow / run)
        for workflow in _folders(day)
        for run in _folders(day / workflow)
    ]


def _folders(folder: Path) -> Iterator[str]:
    """The folders in it that are named by a number; links are not followed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.isascii() and name.isdecimal() and len(name) < 20 and entry.is_dir(follow_symlinks=False):
                yield name


def _delete(folder: Path) -> bool:
    """Whether it is gone now."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _delete_empty(day: Path) -> None:
    """Delete the folders of workflows of which nothing is left, and the day's if there are none."""
    for workflow in list(_folders(day)):
        with suppress(OSError):
            (day / workflow).rmdir()
    with suppress(OSError):
        day.rmdir()
