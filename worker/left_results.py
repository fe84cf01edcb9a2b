"""What a former life in this folder could not tell is told in its name, before anybody fences it.

It tells as that life would have: in a transaction that holds *its* node row FOR SHARE, ALIVE or LEAVING, each report on
condition that the attempt is still its own and has not ended. That is exact. A result is on the disk only when the
task had ended and nothing of its processes was left; while the row is held nobody fences that life, so no other
attempt of the task exists; whatever that life's last transactions did, the rows tell. Told twice, the second time
changes nothing. The row is found by epoch *and* incarnation, so results of another database hit nothing.

Once that life is fenced it is too late: its attempts were given to others, or are about to be, and what runs for the
second time must not end as the first. Then the results are dropped.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import structlog

from dao import nodes, task_claims
from dao.database import Database
from dao.errors import BadData
from dao.notify import EVENT, notify
from dao.task_claims import Report
from model.backoff import Backoff
from model.errors import Fenced, Unavailable, Unknown
from registry.contact import boottime_s
from registry.threads import in_thread
from worker.last_words import LeftWords, left_words
from worker.spool import Left, left_by_former_lives

log = structlog.get_logger()


async def tell_what_is_left(folder: Path, database_url: str, timeout_s: float) -> None:
    """Tell or drop what former lives left in `folder`.

    Raises `Unavailable` or `Unknown` when the database stays away for `timeout_s`; what is left stays for the next
    try.
    """
    await _tell_all(folder, lambda: left_by_former_lives(folder), database_url, timeout_s)


async def tell_last_words(folder: Path, logs: Path, database_url: str, timeout_s: float) -> None:
    """The same with what their keepers wrote in `folder`; `logs` is where their tasks' logs are."""
    await _tell_all(folder, lambda: left_words(folder, logs), database_url, timeout_s)


async def _tell_all(
    folder: Path, read: Callable[[], Sequence[Left | LeftWords]], database_url: str, timeout_s: float
) -> None:
    try:
        everything = await in_thread(read)
    except OSError as error:
        log.warning("left_results_unreadable", file=str(folder), error=str(error))
        return
    with ExitStack() as held:
        for left in everything:
            held.callback(left.close)
        for left in everything:
            await _tell(left, database_url, timeout_s)
            left.remove()


async def _tell(left: Left | LeftWords, database_url: str, timeout_s: float) -> None:
    # In its name for the judges too: whoever fences that life ends this session first.
    name = nodes.application_name(left.me.kind, left.me.epoch)
    database = Database(database_url, application_name=name, connections_max=1)
    backoff, told, deadline_s = Backoff(), 0, boottime_s() + timeout_s
    parts = [left.reports] if left.reports else []
    try:
        while parts:
            try:
                told += await _write(database, left, parts[0])
                del parts[0]
            except (Unavailable, Unknown) as error:
                if boottime_s() > deadline_s:
                    raise
                log.warning("left_results_wait", former=left.me.epoch, error=str(error))
                await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter
            except BadData as error:
                failing = parts.pop(0)
                if len(failing) == 1:
                    log.error("left_result_dropped", task_instance=failing[0].id, error=str(error))
                else:
                    parts = [[report] for report in failing]
    except Fenced:
        dropped = sum(map(len, parts))
        log.warning(f"{left.NAME}_dropped", former=left.me.epoch, results=dropped, so="their tasks run again")
    else:
        log.info(f"{left.NAME}_told", former=left.me.epoch, results=len(left.reports), new=told)
    finally:
        await database.close()


async def _write(database: Database, left: Left | LeftWords, reports: list[Report]) -> int:
    """How many of them the database did not know yet."""
    async with database.writing() as connection:
        await nodes.hold_alive(connection, left.me)
        told = await task_claims.report(connection, reports, left.me.epoch)
        if told:
            await notify(connection, EVENT)  # to all: their owners may have changed since
    return len(told)
