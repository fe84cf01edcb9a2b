"""Checks of the tables, by the same queries that the masters' own watchers use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import timedelta

from dao.checks import stuck_runs, table_checks
from dao.checks.alert_checks import ALERT_CHECKS
from dao.checks.table_checks import SHOWN_MAX, Check, Finds
from dao.commands import error_commands
from dao.postgres.database import Database
from dao.retention import old_runs
from model.cluster.timing import Timing
from model.errors import ShoalError
from service.checks.check_result import Result, Verdict, result_of, unknown
from service.settings import ServiceSettings
from service.words import duration

COUNTED_MAX = 1_000
OLD_RUNS_MAX = 20_000


async def of_the_tables(database: Database, settings: ServiceSettings, timing: Timing) -> AsyncIterator[Result]:
    """Whether the rows of commands, runs and tasks fit together, and move."""
    # The living nodes handle this by themselves: they fence, and then find it at the next `sweep_every`.
    after = timing.master_fence_after + settings.master.sweep_every + timedelta(seconds=4)
    values: dict[str, object] = {"failed_over_after": after}
    for check in table_checks.BEFORE_REASONS:
        yield await checked(database, check, values)
    # Two polls of the watcher, which come first.
    yield await _reasons(database, settings.master.stuck_after + 3 * settings.master.watch_every)
    for check in table_checks.AFTER_REASONS:
        yield await checked(database, check, values)
    yield await _past_their_time(database, settings.master.kept_days)
    for check in ALERT_CHECKS:
        yield await checked(database, check, {}, bad=Verdict.NOTE)
    condition = "no command was refused"
    try:
        refused = await database.read(error_commands.error_commands, COUNTED_MAX)
    except ShoalError as error:
        yield unknown("refused_commands", condition, error)
        return
    shown = [f"command {each.id} ({each.type[:40]}): {each.reason}" for each in refused[:SHOWN_MAX]]
    fix = "Fix what the reason says, then: shoal queue retry ID, or shoal queue delete ID."
    found = result_of("refused_commands", condition, Finds(len(refused), shown), fix, bad=Verdict.NOTE)
    more = " or more" if len(refused) == COUNTED_MAX else ""
    yield replace(found, detail=f"{len(refused)}{more}") if refused else found


async def _past_their_time(database: Database, kept_days: int) -> Result:
    """Whether the duty `retention` deletes what has ended; those that stay for a reason are a note, no fault."""
    name, condition = "old_runs_are_deleted", "no run is past the time for which it is kept"
    try:
        count, days = await database.read(old_runs.overdue, kept_days, OLD_RUNS_MAX)
    except ShoalError as error:
        return unknown(name, condition, error)
    faults = [f"{count} of the oldest runs are past their time, by {days:.1f} days at most"] if days > 1 else []
    fix = "Is the duty `retention` done? shoal master duties. Which runs stay nevertheless: docs/guides/retention.md"
    return result_of(name, condition, Finds(count, faults), fix, bad=Verdict.NOTE)


async def _reasons(database: Database, older_than: timedelta) -> Result:
    name, condition = "runs_have_a_reason_to_wait", "each unfinished run has a reason to wait"
    try:
        stuck = await database.read(stuck_runs.stuck, older_than)
    except ShoalError as error:
        return unknown(name, condition, error)
    return result_of(
        name,
        condition,
        [f"run {each.id} is {each.state} for {duration(each.idle_s)}: {each.missing}" for each in stuck],
        "Its master drives it again from its rows by itself; if it stays, read the master's log and report it.",
    )


async def checked(
    database: Database, check: Check, values: Mapping[str, object], *, bad: Verdict = Verdict.FAILED
) -> Result:
    """One check that is a statement; `values` are its parameters, `bad` is what a finding means."""
    try:
        finds = await database.read(table_checks.find, check, values)
    except ShoalError as error:
        return unknown(check.name, check.condition, error)
    return result_of(check.name, check.condition, finds, check.fix, bad=bad)
