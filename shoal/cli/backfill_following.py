"""`shoal backfill --wait`: shows how many dates are done, and what runs, until nothing goes on by itself."""

from __future__ import annotations

import asyncio
import sys
from shlex import quote
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dao.postgres.database import Database
    from model.errors import Unavailable
    from service.runs.backfill_progress import Backfill, BackfillProgress

BEGIN_OF_LINE = "\r\x1b[K"
"""Goes back to the begin of the line of a terminal, and clears it."""
LINES_MAX = 20
"""Where no terminal is, at most about so many lines show the progress."""


async def follow(database: Database, backfill: Backfill, zone: str, *, within_s: float | None) -> BackfillProgress:
    """Wait until nothing of a backfill goes on by itself, and report progress on standard error.

    Args:
        zone: in which dates are shown.
        within_s: seconds after which the wait ends; None: never. The backfill continues.
    Raises:
        NotDone: it took longer than `within_s`.
        Refused: its command was refused.
    """
    from service.runs.backfill_progress import follow_backfill
    from service.runs.waiting import NotDone
    from service.words import counted

    line = _Line(backfill, zone)
    asked = f"Command {backfill.command} asks for {counted(backfill.count, 'date')}."
    sys.stderr.write(f"{asked} Ctrl-C ends only this wait, not the backfill. See it: {line.see}\n")
    try:
        async with asyncio.timeout(within_s):
            return await follow_backfill(database, backfill, polled=line.polled, away=line.database_is_away)
    except TimeoutError:
        raise NotDone(f"not ended after {within_s:g} s; {line.left_behind}") from None
    except asyncio.CancelledError:
        line.end()
        sys.stderr.write(f"{line.left_behind[0].upper()}{line.left_behind[1:]}\n")
        raise
    finally:
        line.end()


class _Line:
    """The progress, on one line of a terminal; elsewhere a line from time to time."""

    def __init__(self, backfill: Backfill, zone: str) -> None:
        self._command = backfill.command
        self._name = next(iter(backfill.workflows.values()))
        self._zone = zone
        self._now: BackfillProgress | None = None
        self._shown = -1
        self._away = False
        self._is_open = False
        self.see = f"shoal runs --workflow {quote(self._name)}"

    @property
    def left_behind(self) -> str:
        """What goes on after the wait, and how to see and stop it."""
        if self._now is None or not (self._now.running or self._now.done):
            return f"the backfill goes on: {self._done()}. Why it waits: shoal why command {self._command}"
        stop = "".join(f"   Stop it: shoal stop {run.id}" for run in self._now.running[:3])
        return f"the backfill goes on: {self._done()}. See it: {self.see}{stop}"

    def polled(self, now: BackfillProgress) -> None:
        """Report the dates that are done, and what runs."""
        from shoal.cli.backfill import shown

        self._away, self._now = False, now
        runs = ", ".join(f"run {run.id} for {shown(run.date, self._zone)}" for run in now.running[:3])
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

    def database_is_away(self, error: Unavailable) -> None:
        """Report that the database is away; it is polled until it answers."""
        if not self._away:
            self.end()
            sys.stderr.write(f"shoal: {error}; the wait goes on\n")
        self._away = True

    def end(self) -> None:
        """End the line of a terminal."""
        if self._is_open:
            sys.stderr.write("\n")
        self._is_open = False

    def _done(self) -> str:
        return f"{self._now.done} of {self._now.total} dates done" if self._now else "no date is done yet"
