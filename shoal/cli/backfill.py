"""`shoal backfill`: one run of a workflow for each of many dates."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import Annotated

import typer

from model.errors import Refused
from model.runs.backfill import Order
from service.runs import backfill_progress, backfills
from service.runs import requests as run_requests
from service.words import counted, exact, plain
from shoal.cli import backfill_following, exit_codes, output
from shoal.cli.backfill_following import shown
from shoal.cli.command_result import TAKEN_WITHIN_S
from shoal.cli.invocation import Invocation
from shoal.cli.named import workflow_named
from shoal.cli.output import Column
from shoal.cli.values import AlertGroup, Params, Project, Waiting, Warn, WorkflowName, read_values
from shoal.cli.verbs import verb
from shoal.clients.waiting import NotDone


def add_to(app: typer.Typer) -> None:
    verb(
        app,
        "shoal backfill sales --from 2026-01-01 --to 2026-01-31 --dry-run",
        "shoal backfill sales --from 2026-01-01 --to 2026-01-31 --parallel 4 --desc",
        "shoal backfill sales --from 2026-01-01 --to 2026-01-31 --skip-done --wait",
        "shoal backfill sales --date 2026-01-31 --date '2026-02-28 05:00'",
    )(backfill)


@dataclass(frozen=True)
class BackfillOptions:
    """Which dates, and how they are run, by the names of the API."""

    begin: Annotated[str | None, typer.Option("--from", metavar="DATE", help="The first date.")] = None
    end: Annotated[str | None, typer.Option("--to", metavar="DATE", help="The last date, inclusive.")] = None
    dates: Annotated[
        list[str] | None, typer.Option("--date", metavar="DATE", help="A single date; may be repeated.")
    ] = None
    parallelism: Annotated[
        int | None,
        typer.Option("--parallel", min=0, help="How many dates run at once; 0 = all. Without it, one after the other."),
    ] = None
    desc: Annotated[bool, typer.Option("--desc", help="The latest date first.")] = False
    dependents: Annotated[
        bool, typer.Option("--dependents", help="Also backfill the workflows that depend on it, for the same dates.")
    ] = False
    skip_done: Annotated[
        bool, typer.Option("--skip-done", help="Leave out the dates for which a run of it has succeeded.")
    ] = False
    warning_type: Warn = None
    alert_group: AlertGroup = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the dates; start nothing.")] = False

    def given(self) -> dict[str, object]:
        """The fields of the request. Raises `Refused` unless it gives the dates in exactly one way."""
        if self.dates and (self.begin or self.end):
            raise Refused("--date and --from are two ways to say when; keep one of them")
        if not self.dates and not (self.begin and self.end):
            raise Refused("say for which dates: --from 2026-01-01 --to 2026-01-31, or --date 2026-01-31")
        own = {name: value for name, value in vars(self).items() if name != "desc"}
        return {**own, "order": Order.DESC if self.desc else None}


async def backfill(
    call: Invocation,
    name: WorkflowName,
    options: BackfillOptions,
    waiting: Waiting,
    param: Params = None,
    project: Project = "default",
) -> None:
    """Run a workflow once for each date: the times of its schedule in a range (daily if it has none), or single dates.

    In a chain the next date starts when the previous one has succeeded; a failed run stops its chain.
    """
    within_s = waiting.limit_s()
    request = run_requests.StartBackfill.read(params=read_values(param or []), **options.given())
    async with call.client() as client:
        workflow = await workflow_named(client, name, project)
        wait_s = 0 if waiting.wait else TAKEN_WITHIN_S
        asked = await client.ask(backfills.start_backfill, workflow.code, request, run_requests.WaitQuery(wait=wait_s))
        if asked.command_id is None:
            _print_dates(call, asked)
            return
        if asked.reason is not None:
            raise NotDone(asked.reason)
        if not waiting.wait:
            _print_asked(call, asked)
            return
        progress = await backfill_following.follow(client, asked.command_id, asked, within_s=within_s)
    _print_end(call, asked, progress)


def _print_asked(call: Invocation, asked: backfills.BackfillAnswer) -> None:
    command, first = asked.command_id, asked.first_run_id
    fields = {"command_id": command, "workflow": asked.workflow, "dates": asked.dates, "first_run_id": first}
    said = f'Workflow "{asked.workflow}" is filled for {_said(asked)}, by command {command}.{_said_skipped(asked)}'
    see = f"The first date: shoal show {first}   All of them: shoal runs --workflow {quote(asked.workflow)}"
    if first is None:
        see = f"No master has taken it yet: shoal why command {command}"
    output.print_result(call, output.json_fields({**fields, "skipped": asked.skipped}), said, see)


def _print_end(call: Invocation, asked: backfills.BackfillAnswer, progress: backfill_progress.BackfillProgress) -> None:
    """Report the results of the dates; exit code 1 unless all are done."""
    if call.as_json:
        fields = {"command_id": asked.command_id, "workflow": asked.workflow, "dates": progress.total}
        fields |= {"done": progress.done, "skipped": asked.skipped}
        stopped = [output.answer_fields(chain) for chain in progress.stopped]
        output.print_json({**output.json_fields(fields), "stopped": stopped})
    else:
        many = counted(progress.total, "date")
        output.say(f'Workflow "{asked.workflow}" is filled for {progress.done} of {many}.{_said_skipped(asked)}')
        for chain in progress.stopped:
            left = chain.dates_left
            what = f"run {chain.run_id} is {chain.state}" if chain.run_id else "its command was refused"
            after = f"; {counted(left, 'date')} after it wait{'s' * (left == 1)}" if left else ""
            because = f": {plain(chain.reason)}" if chain.reason else ""
            output.say(f"  {chain.workflow} for {shown(chain.date, asked.time_zone)}: {what}{because}{after}")
            output.hint(f"    Go on: {chain.go_on}")
        output.hint(f"All of them: shoal runs --workflow {quote(asked.workflow)}")
    if progress.stopped:
        raise typer.Exit(exit_codes.FAILED)


def _print_dates(call: Invocation, found: backfills.BackfillAnswer) -> None:
    if call.as_json:
        chains = [[exact(time) for time in chain] for chain in found.chains]
        fields = {"workflow": found.workflow, "time_zone": found.time_zone, "chains": chains}
        skipped = {"skipped": found.skipped} if found.skipped else {}
        output.print_json({**fields, "dependents": found.dependents, **skipped})
        return
    if not found.dates:
        output.say(f"Nothing to do: {counted(found.skipped, 'date')} left out, since a run for each has succeeded.")
        return
    steps = [(n, step, time) for n, chain in enumerate(found.chains, 1) for step, time in enumerate(chain, 1)]
    output.table(
        Column("CHAIN", [number for number, _, _ in steps], right=True),
        Column("STEP", [step for _, step, _ in steps], right=True, keep=0),
        Column("FOR", [exact(time) if call.utc else shown(time, found.time_zone) for _, _, time in steps]),
    )
    output.say(f"This would fill {_said(found)} (time zone {found.time_zone}).{_said_skipped(found)}")
    output.hint("Nothing was asked for. Do it: the same without --dry-run")


def _said(found: backfills.BackfillAnswer) -> str:
    chains = "one after the other" if len(found.chains) == 1 else f"in {len(found.chains)} parallel chains"
    names = found.dependents
    below = f", and so {'is' if len(names) == 1 else 'are'} {', '.join(names)}" if names else ""
    return f"{counted(found.dates, 'date')} {chains}{below}" if found.dates > 1 else f"1 date{below}"


def _said_skipped(found: backfills.BackfillAnswer) -> str:
    return f" Left out, since a run for each has succeeded: {counted(found.skipped, 'date')}." if found.skipped else ""
