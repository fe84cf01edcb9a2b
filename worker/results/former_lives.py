"""Reports the results that a former life in this folder left, in its name, until that life is fenced.

It does what that life would have done. In a transaction that holds *its* node row FOR SHARE, ALIVE or LEAVING, each
report is written if the attempt still belongs to that life and has not ended. This is safe. A result is on the disk
only when the task had ended and none of its processes was left. While the row is held, that life cannot be fenced, so
no other attempt of the task exists; the rows show the effect of that life's last transactions. A repeated report
changes nothing. The row is found by epoch *and* incarnation, so results of another database match no row.

Once that life is fenced it is too late: its attempts were given to others, or soon will be, and a later attempt must
not end with the result of an earlier one. Then the results are dropped.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import structlog

from dao.cluster import nodes
from dao.pools import pool_leases
from dao.postgres.database import Database
from dao.postgres.errors import BadData
from dao.postgres.notify import EVENT, notify
from dao.tasks import task_claims
from dao.tasks.task_claims import Report
from model.backoff import Backoff
from model.blame import Blame, Verdict
from model.errors import Fenced, Unavailable, Unknown
from model.ids import TaskInstanceId
from node.threads import in_thread
from registry.clock import boottime_s
from worker.results.recorded_ends import LeftWords, left_words
from worker.results.spool import Left, left_by_former_lives

log = structlog.get_logger()


async def report_left_results(folder: Path, database_url: str, timeout_s: float) -> None:
    """Report or drop the results that former lives left in `folder`.

    Raises `Unavailable` or `Unknown` when the database is not reachable for `timeout_s`; the rest stays for the next
    try.
    """
    await _report_all(folder, lambda: left_by_former_lives(folder), database_url, timeout_s)


async def report_last_words(folder: Path, logs: Path, database_url: str, timeout_s: float) -> None:
    """Report or drop the ends that keepers recorded in `folder`; `logs` has their tasks' logs."""
    await _report_all(folder, lambda: left_words(folder, logs), database_url, timeout_s)


async def _report_all(
    folder: Path, read: Callable[[], Sequence[Left | LeftWords]], database_url: str, timeout_s: float
) -> None:
    try:
        everything = await in_thread(read)
    except OSError as error:
        log.warning("left_results_unreadable", file=str(folder), error=str(error))
        return
    with ExitStack() as opened:
        for left in everything:
            opened.callback(left.close)
        for left in everything:
            await _report(left, database_url, timeout_s)
            left.remove()


async def _report(left: Left | LeftWords, database_url: str, timeout_s: float) -> None:
    # With that life's application name: a master that fences the life ends this session first.
    name = nodes.application_name(left.me.kind, left.me.epoch)
    database = Database(database_url, application_name=name, connections_max=1)
    backoff, reported, deadline_s = Backoff(), 0, boottime_s() + timeout_s
    parts = [left.reports] if left.reports else []
    blame: Blame[TaskInstanceId] = Blame(timeout_s)
    try:
        while parts:
            try:
                reported += await _write(database, left, parts[0])
                del parts[0]
                blame.handled()
            except (Unavailable, Unknown) as error:
                if boottime_s() > deadline_s:
                    raise
                log.warning("left_results_wait", former=left.me.epoch, error=str(error))
                await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter
            except BadData as error:
                failing = parts.pop(0)
                if len(failing) == 1 and blame.failed(failing[0].id, boottime_s()) is Verdict.UNKNOWN:
                    parts.append(failing)
                    log.warning("left_results_wait", former=left.me.epoch, error=str(error))
                    await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter
                elif len(failing) == 1:
                    blame.drop(failing[0].id)
                    log.error("left_result_dropped", task_instance=failing[0].id, error=str(error))
                else:
                    parts += [[report] for report in failing]
    except Fenced:
        dropped = sum(map(len, parts))
        log.warning(f"{left.NAME}_dropped", former=left.me.epoch, results=dropped, so="their tasks run again")
    else:
        log.info(f"{left.NAME}_reported", former=left.me.epoch, results=len(left.reports), new=reported)
    finally:
        await database.close()


async def _write(database: Database, left: Left | LeftWords, reports: list[Report]) -> int:
    """Write the reports; return how many the database did not have yet."""
    async with nodes.fenced_transaction(database, left.me) as connection:
        reported = await task_claims.report(connection, reports, left.me.epoch)
        await pool_leases.free(connection, [report.id for report in reports], left.me.epoch)
        if owners := {owner for owner in reported.values() if owner is not None}:
            await notify(connection, EVENT, owners)
    return len(reported)
