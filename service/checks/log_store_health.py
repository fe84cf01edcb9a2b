"""The doctor's check of the log store: whether it can be read from here, and whether workers can copy into it."""

from __future__ import annotations

from dao.cluster import log_stores
from dao.cluster.log_stores import Copying
from dao.postgres.database import Database
from logstore.protocol import MARK
from logstore.settings import LogStoreSettings
from model.errors import Refused, ShoalError, Unavailable
from service.checks.check_result import Result, Verdict, clause, passed, result_of, unknown
from service.logs.stored_logs import StoredLogs
from service.words import counted, moment

NAME = "log_store"
CONDITION = "logs of ended tasks reach the log store"
FIX = "See docs/guides/logs.md. Until then only the workers have these logs; they are copied later by themselves."


async def log_store_result(database: Database, settings: LogStoreSettings) -> Result:
    """Whether the store works, as this process and the workers see it."""
    try:
        async with database.reading() as connection:
            places = await log_stores.places(connection)
            copying = await log_stores.copying(connection)
    except ShoalError as error:
        return unknown(NAME, CONDITION, error)
    faults = [_fault(each) for each in copying if each.failing_since is not None]
    if settings.url is None:
        if not places and not faults:
            return passed(NAME, CONDITION, "none is set: logs last as long as the disks of their workers")
        here = f"log_store.url is not set here; workers copy to {places[0]}" if places else ""
        bad = Verdict.FAILED if faults else Verdict.NOTE
        return result_of(NAME, CONDITION, [*faults, *filter(None, [here])], FIX, bad=bad)
    try:
        mark = await StoredLogs(settings).mark()
        async with database.reading() as connection:
            if mark is None and places:
                faults.append(f"from here: it has no file {MARK}; is it mounted?")
            elif mark is not None and not await log_stores.is_ours(connection, mark):
                faults.append(f"from here: its file {MARK} is of another cluster")
    except (Refused, Unavailable) as error:
        faults.append(f"from here: {clause(str(error))}")
    waiting = sum(each.waiting for each in copying)
    return result_of(NAME, CONDITION, faults, FIX, f"{counted(waiting, 'log')} on the way")


def _fault(copying: Copying) -> str:
    assert copying.failing_since is not None
    waits = f"{counted(copying.waiting, 'log')} or more wait" if copying.waiting else "nothing waits now"
    return f"worker {copying.name}: {waits}; since {moment(copying.failing_since)} {clause(copying.reason or '')}"
