"""`shoal backfill`: one run of a workflow for each of many dates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from model.errors import Refused
from shoal.cli.completion import complete_workflow
from shoal.cli.invocation import Invocation
from shoal.cli.values import Params, Project, Timeout, read_values
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from datetime import datetime

    from dao.definitions.definitions import Definition
    from model.ids import CommandId, WorkflowInstanceId
    from service.runs.backfill_progress import Backfill, BackfillProgress
    from service.runs.backfills import Dates

NAME = "backfill"
NOT_ALL = 1


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(
        app,
        "shoal backfill sales --from 2026-01-01 --to 2026-01-31 --dry-run",
        "shoal backfill sales --from 2026-01-01 --to 2026-01-31 --parallel 4 --desc",
        "shoal backfill sales --from 2026-01-01 --to 2026-01-31 --skip-done --wait",
        "shoal backfill sales --date 2026-01-31 --date '2026-02-28 05:00'",
    )(backfill)


async def backfill(
    call: Invocation,
    name: Annotated[
        str,
        typer.Argument(metavar="WORKFLOW", help="The workflow's name, or its code.", autocompletion=complete_workflow),
    ],
    begin: Annotated[str | None, typer.Option("--from", metavar="DATE", help="The first date.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="DATE", help="The last date, inclusive.")] = None,
    date: Annotated[
        list[str] | None, typer.Option("--date", metavar="DATE", help="A single date; may be repeated.")
    ] = None,
    parallel: Annotated[
        int | None, typer.Option(min=0, help="How many dates run at once; 0 = all. Without it, one after the other.")
    ] = None,
    desc: Annotated[bool, typer.Option("--desc", help="The latest date first.")] = False,
    dependents: Annotated[
        bool, typer.Option("--dependents", help="Also backfill the workflows that depend on it, for the same dates.")
    ] = False,
    skip_done: Annotated[
        bool, typer.Option("--skip-done", help="Leave out the dates for which a run of it has succeeded.")
    ] = False,
    param: Params = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait for its end; exit code 1 if a date fails.")] = False,
    timeout: Timeout = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the dates; start nothing.")] = False,
    project: Project = "default",
) -> None:
    """Run a workflow once for each date: the times of its schedule in a range (daily if it has none), or single dates.

    In a chain the next date starts when the previous one has succeeded; a failed run stops its chain.
    """
    from dao.definitions import definitions
    from service.runs.backfill_progress import Backfill
    from service.runs.backfills import BackfillRequest, ask_backfill, read_dates
    from service.runs.references import check_startable
    from service.runs.waiting import until_taken
    from shoal.cli import backfill_following
    from shoal.cli.following import wait_limit_s

    values = read_values(param or [])
    if NAME in values:
        raise Refused(f'a parameter of a backfill cannot be called "{NAME}"; give it another name')
    within_s = wait_limit_s(timeout, wait=wait)
    request = BackfillRequest(begin, end, date or [], parallel, desc, dependents)
    async with call.reading() as reading:
        head = await definitions.find(reading.connection, name, project)
        check_startable(head)
        found = await read_dates(reading.connection, head, request, skip_done=skip_done)
        if dry_run or not found.count:
            _print_dates(call, head, found)
            return
        async with reading.database.writing() as writing:
            command = await ask_backfill(writing, head, values, found, call.settings.secrets)
        asked = Backfill(command, {head.code: head.name, **found.dependents}, found.chains)
        if not wait:
            taken = await until_taken(reading.database, command)
            _print_asked(call, head, found, command, taken.run if taken else None)
            return
        progress = await backfill_following.follow(reading.database, asked, found.zone, within_s=within_s)
    _print_end(call, head, found, asked, progress)


def _print_asked(
    call: Invocation, head: Definition, found: Dates, command: CommandId, first: WorkflowInstanceId | None
) -> None:
    from shlex import quote

    from shoal.cli import output

    fields = {"command_id": command, "workflow": head.name, "dates": found.count, "first_run_id": first}
    said = f'Workflow "{head.name}" is filled for {_said(found)}, by command {command}.{_said_skipped(found)}'
    see = f"The first date: shoal show {first}   All of them: shoal runs --workflow {quote(head.name)}"
    if first is None:
        see = f"No master has taken it yet: shoal why command {command}"
    output.print_result(call, output.json_fields({**fields, "skipped": found.skipped}), said, see)


def _print_end(call: Invocation, head: Definition, found: Dates, asked: Backfill, progress: BackfillProgress) -> None:
    """Report what became of the dates; exit code 1 unless all are done."""
    from shlex import quote

    from service.words import counted, plain
    from shoal.cli import output

    if call.as_json:
        fields = {"command_id": asked.command, "workflow": head.name, "dates": progress.total, "done": progress.done}
        stopped = []
        for chain in progress.stopped:
            run = {"run_id": chain.run.id, "state": chain.run.state} if chain.run else {}
            of_chain = {"workflow": chain.workflow, "date": chain.date, **run, "reason": chain.reason}
            stopped.append(output.json_fields({**of_chain, "dates_left": chain.left, "go_on": chain.go_on}))
        output.print_json({**output.json_fields({**fields, "skipped": found.skipped}), "stopped": stopped})
    else:
        many = counted(progress.total, "date")
        output.say(f'Workflow "{head.name}" is filled for {progress.done} of {many}.{_said_skipped(found)}')
        for chain in progress.stopped:
            what = f"run {chain.run.id} is {chain.run.state}" if chain.run else "its command was refused"
            left = f"; {counted(chain.left, 'date')} after it wait{'s' * (chain.left == 1)}" if chain.left else ""
            because = f": {plain(chain.reason)}" if chain.reason else ""
            output.say(f"  {chain.workflow} for {shown(chain.date, found.zone)}: {what}{because}{left}")
            output.hint(f"    Go on: {chain.go_on}")
        output.hint(f"All of them: shoal runs --workflow {quote(head.name)}")
    if progress.stopped:
        raise typer.Exit(NOT_ALL)


def _print_dates(call: Invocation, head: Definition, found: Dates) -> None:
    from service.words import counted, exact
    from shoal.cli import output
    from shoal.cli.output import Column

    if call.as_json:
        chains = [[exact(time) for time in chain] for chain in found.chains]
        fields = {"workflow": head.name, "time_zone": found.zone, "chains": chains}
        skipped = {"skipped": found.skipped} if found.skipped else {}
        output.print_json({**fields, "dependents": sorted(found.dependents.values()), **skipped})
        return
    if not found.count:
        output.say(f"Nothing to do: {counted(found.skipped, 'date')} left out, since a run for each has succeeded.")
        return
    steps = [(n, step, time) for n, chain in enumerate(found.chains, 1) for step, time in enumerate(chain, 1)]
    output.table(
        Column("CHAIN", [number for number, _, _ in steps], right=True),
        Column("STEP", [step for _, step, _ in steps], right=True, keep=0),
        Column("FOR", [exact(time) if call.utc else shown(time, found.zone) for _, _, time in steps]),
    )
    output.say(f"This would fill {_said(found)} (time zone {found.zone}).{_said_skipped(found)}")
    output.hint("Nothing was asked for. Do it: the same without --dry-run")


def shown(date: datetime, zone: str) -> str:
    """A date in the time zone of its backfill."""
    from zoneinfo import ZoneInfo

    return f"{date.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S %Z}"


def _said(found: Dates) -> str:
    from service.words import counted

    chains = "one after the other" if len(found.chains) == 1 else f"in {len(found.chains)} chains beside each other"
    names = sorted(found.dependents.values())
    below = f", and so {'is' if len(names) == 1 else 'are'} {', '.join(names)}" if names else ""
    return f"{counted(found.count, 'date')} {chains}{below}" if found.count > 1 else f"1 date{below}"


def _said_skipped(found: Dates) -> str:
    from service.words import counted

    return f" Left out, since a run for each has succeeded: {counted(found.skipped, 'date')}." if found.skipped else ""
