"""`shoal backfill --wait`: shows how many dates are done, and what runs, until nothing continues by itself."""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime
from shlex import quote
from zoneinfo import ZoneInfo

from model.errors import Refused, Unavailable
from service.runs import backfill_progress, backfills, requests
from service.words import counted
from shoal.cli.command_result import tell_away
from shoal.clients.client import Client
from shoal.clients.waiting import NotDone, poll

BEGIN_OF_LINE = "\r\x1b[K"
"""Moves to the beginning of a terminal's line, and clears it."""
LINES_MAX = 20
"""Without a terminal, the approximate maximum of progress lines."""


async def follow(
    client: Client, command: int, backfill: backfills.BackfillAnswer, *, within_s: float | None
) -> backfill_progress.BackfillProgress:
    """Wait until nothing of a backfill continues by itself, and report progress on standard error.

    Args:
        command: the one that requested it.
        within_s: seconds after which the wait ends; None: never. The backfill continues.
    Raises:
        NotDone: it took longer than `within_s`.
        Refused: its command was refused.
    """
    line = _Line(command, backfill)
    dates = requests.BackfillDates(workflows=[each.code for each in backfill.workflows], chains=backfill.chains)
    asked = f"Command {command} asks for {counted(len(backfill.workflows) * backfill.dates, 'date')}."
    sys.stderr.write(f"{asked} Ctrl-C ends only this wait, not the backfill. See it: {line.see}\n")

    async def read() -> backfill_progress.BackfillProgress | None:
        now = await client.ask(backfills.count_backfill, command, dates)
        if now.reason is not None:
            raise Refused(f"command {command} was refused: {now.reason}")
        line.polled(now)
        return now if now.is_over else None

    try:
        async with asyncio.timeout(within_s):
            return await poll(read, line.server_is_away)
    except TimeoutError:
        raise NotDone(f"not ended after {within_s:g} s; {line.left_behind}") from None
    except asyncio.CancelledError:
        line.end()
        sys.stderr.write(f"{line.left_behind[0].upper()}{line.left_behind[1:]}\n")
        raise
    finally:
        line.end()


def shown(date: datetime, zone: str) -> str:
    """A date in the time zone of its backfill."""
    return f"{date.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S %Z}"


class _Line:
    """The progress, on one line of a terminal; elsewhere a line from time to time."""

    def __init__(self, command: int, backfill: backfills.BackfillAnswer) -> None:
        self._command = command
        self._zone = backfill.time_zone
        self._now: backfill_progress.BackfillProgress | None = None
        self._shown = -1
        self._is_open = False
        self.see = f"shoal runs --workflow {quote(backfill.workflow)}"

    @property
    def left_behind(self) -> str:
        """What continues after the wait, and how to see and stop it."""
        if self._now is None or not (self._now.running or self._now.done):
            return f"the backfill continues: {self._done()}. Why it waits: shoal why command {self._command}"
        stop = "".join(f"   Stop it: shoal stop {run.run_id}" for run in self._now.running[:3])
        return f"the backfill continues: {self._done()}. See it: {self.see}{stop}"

    def polled(self, now: backfill_progress.BackfillProgress) -> None:
        """Report finished dates, and what runs."""
        self._now = now
        runs = ", ".join(f"run {run.run_id} for {shown(run.date, self._zone)}" for run in now.running[:3])
        more = f" and {len(now.running) - 3} more" if len(now.running) > 3 else ""
        stopped = f"; {len(now.stopped)} stopped" if now.stopped else ""
        line = f"  {self._done()}{f'; {runs}{more}' if runs else ''}{stopped}"
        if sys.stderr.isatty():
            sys.stderr.write(f"{BEGIN_OF_LINE}{line}")
            sys.stderr.flush()
            self._is_open = True
        elif now.done >= self._shown + max(1, now.total // LINES_MAX) and (now.running or now.is_over):
            self._shown = now.done
            sys.stderr.write(f"{line}\n")

    def server_is_away(self, error: Unavailable) -> None:
        """Report an unavailable server, which is asked until it answers."""
        self.end()
        tell_away(error)

    def end(self) -> None:
        """End the line of a terminal."""
        if self._is_open:
            sys.stderr.write("\n")
        self._is_open = False

    def _done(self) -> str:
        return f"{self._now.done} of {self._now.total} dates done" if self._now else "no date is done yet"
