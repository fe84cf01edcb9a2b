"""Writes the end of a task to disk once it could not be reported for a second or two, for any reason.

Only this module decides that. The writer knows nothing of it, and normally nothing is written: a result that is
reported at once is never seen by two checks. Nothing new is claimed before all ends are reported, so at most the
worker's capacity of results waits. A full disk costs only this protection: results also stay in memory until they are
reported, and are lost only if the worker is killed before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import structlog

from dao.tasks.task_claims import Report
from model.errors import Unavailable
from model.ids import TaskInstanceId
from node.threads import in_thread
from worker.results.spool import Spool

log = structlog.get_logger()

CHECK_EVERY_S = 1.0
SPARE_LINES_MAX = 100
"""The file is rewritten when it has this many lines of reported results, besides one for each unreported one."""


class LateResults:
    """Stores results on disk that `unreported` returns twice in a row."""

    def __init__(
        self,
        unreported: Callable[[], Mapping[TaskInstanceId, Report]],
        spool: Spool,
        stored: Callable[[TaskInstanceId], None] = lambda _id: None,
    ) -> None:
        """`stored` is called with each attempt whose result is on the disk."""
        self._on_stored = stored
        self._unreported = unreported
        self._spool = spool
        self._seen: Mapping[TaskInstanceId, Report] = {}
        self._stored: dict[TaskInstanceId, Report] = {}
        self._is_failing = False

    async def run(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            unreported = self._unreported()
            late = [report for report in unreported.values() if self._seen.get(report.id) is report]
            self._seen = unreported
            await self._store(late, is_all_reported=unreported.keys().isdisjoint(self._stored))

    async def close(self) -> None:
        """At the end of a life, store all unreported results for the next life in this folder, and release the file."""
        unreported = list(self._unreported().values())
        await self._store(unreported, is_all_reported=False)
        with suppress(OSError, Unavailable):  # a file that stays repeats what is known, which changes nothing
            await in_thread(self._spool.close, is_all_reported=not unreported)

    async def _store(self, late: Sequence[Report], *, is_all_reported: bool) -> None:
        new = [report for report in late if self._stored.get(report.id) is not report]
        try:
            if new:
                await self._write(new, late)
            elif is_all_reported and self._stored:
                await in_thread(self._spool.remove)
                self._stored = {}
        except (OSError, Unavailable) as error:
            if not self._is_failing:
                log.error(
                    "results_not_stored",
                    error=str(error),
                    so="they are only in memory; if the worker is killed now, the tasks run again",
                )
            self._is_failing = True
        else:
            self._is_failing = False

    async def _write(self, new: Sequence[Report], late: Sequence[Report]) -> None:
        if not self._stored:
            log.warning("results_wait_on_disk", so="they are reported when the database is back")
        if self._spool.lines > 2 * len(late) + SPARE_LINES_MAX:
            await in_thread(self._spool.store_only, late)
            self._stored = {report.id: report for report in late}
        else:
            await in_thread(self._spool.store, new)
            self._stored.update({report.id: report for report in new})
        for report in new:
            self._on_stored(report.id)
