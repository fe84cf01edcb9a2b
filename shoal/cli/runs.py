"""`shoal runs`: lists runs; its verbs change many of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from service import paging as pages
from service.cluster import clock
from service.runs import answers, listing, requests
from service.words import counted, duration, plain, when
from shoal.cli import output, run_page
from shoal.cli.filters import RunFilters
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column
from shoal.cli.verbs import default_verb


def add_to(app: typer.Typer) -> None:
    """Add the group `runs`, which lists when it is given no verb."""
    default_verb(
        app,
        "shoal runs",
        "shoal runs --state failure --since 1d",
        "shoal runs --trigger schedule --q timeout",
        beside=dict.fromkeys(("rerun", "rerun-failed", "pause", "stop", "resume"), "bulk"),
    )(runs)


async def runs(
    call: Invocation,
    filters: RunFilters,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many, newest first.")] = 20,
    children: Annotated[bool, typer.Option("--children", help="Also show child runs, each with its parent.")] = False,
) -> None:
    """List runs, newest first; the verbs of `runs` change many at once.

    Child runs (of SUB_PROCESS and DYNAMIC tasks) only with --children, --workflow, --q, --serial-key or
    --trigger parent.
    """
    given = filters.given()
    asked = requests.RunQuery.read(**given, children=children, count_children=True)
    async with call.client() as client:
        now = (await client.ask(clock.read_clock)).now
        page = await client.ask(listing.list_runs, asked.model_copy(update={"limit": min(limit, pages.LIMIT_MAX)}))
        runs, refused, hidden_count = list(page.items), page.refused_backfills, page.hidden_children
        while page.next_cursor is not None and len(runs) < limit:
            more: dict[str, object] = {
                "limit": min(limit - len(runs), pages.LIMIT_MAX),
                "cursor": page.next_cursor,
                "count_children": False,
            }
            page = await client.ask(listing.list_runs, asked.model_copy(update=more))
            runs += page.items
    hidden = f"{counted(hidden_count, 'child run')} not shown: the same with --children" if hidden_count else ""
    none = "No run matches." if given or hidden else "There is no run yet."
    how = hidden or "Start one: shoal run NAME   What can be started: shoal workflow list"
    if not output.needs_table(call, runs, none, how):
        return
    output.table(*run_columns(runs, now, utc=call.utc))
    for each in refused:
        when_, left = (each.dates[0], len(each.dates) - 1) if each.dates else ("its next date", 0)
        after = f"; {counted(left, 'date')} after it" if left else ""
        output.say(
            f"A backfill of {plain(each.workflow or '')} stopped: its command for {plain(when_)} was refused: "
            f"{plain(each.reason)}{after}; go on: shoal queue retry {each.command_id}"
        )
    if hidden:
        output.say(hidden)
    first = runs[0].id
    output.hint(f"See one: shoal show {first}   Why it does not move: shoal why {first}")


def run_columns(found: Sequence[answers.RunAnswer], now: datetime, *, utc: bool) -> list[Column]:
    """The columns of runs, with the reason of each state."""
    times = [run_page.run_time(run, utc=utc) for run in found]
    parents = ["/".join(str(part) for part in (run.parent_id, run.parent_task) if part) or "-" for run in found]
    has_projects = len({run.project for run in found}) > 1
    return [
        Column("RUN", [run.id for run in found], right=True),
        *([Column("PARENT", parents)] if any(run.parent_id for run in found) else []),
        *([Column("PROJECT", [run.project or "-" for run in found], keep=6)] if has_projects else []),
        Column("WORKFLOW", [run.workflow or f"code {run.workflow_code}" for run in found], keep=6),
        Column("VERSION", [run.version for run in found], keep=1, right=True),
        Column("STATE", [output.state(run.state) for run in found]),
        *([Column("FOR", [time or "-" for time in times], keep=5)] if any(times) else []),
        Column("STARTED", [when(run.started_at, now, utc=utc) for run in found], keep=4, right=True),
        Column("TOOK", [duration(run.took_s) for run in found], keep=3, right=True),
        Column("MASTER", [run.master or "-" for run in found], keep=0),
        Column("WHY", [run_page.said_why(run) for run in found], keep=2, sentence=True),
    ]
