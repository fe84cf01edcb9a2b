"""`shoal backfill`: one run of a workflow for each of many dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from model.command_moves import CommandType
from model.errors import Refused
from shoal.cli.invocation import Invocation, Reading
from shoal.cli.values import Project, read_values
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from dao.definitions.definitions import Definition

NAME = "backfill"


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(
        app,
        "shoal backfill sales --from 2026-01-01 --to 2026-01-31 --dry-run",
        "shoal backfill sales --from 2026-01-01 --to 2026-01-31 --parallel 4 --desc",
        "shoal backfill sales --date 2026-01-31 --date '2026-02-28 05:00'",
    )(backfill)


@dataclass(frozen=True)
class Dates:
    """The dates of a backfill: chains of times, aware, the zone that they refer to, and the dependents to fill."""

    chains: list[list[datetime]]
    zone: str
    dependents: list[str]

    @property
    def count(self) -> int:
        """The number of runs of the workflow itself."""
        return sum(map(len, self.chains))


async def backfill(
    call: Invocation,
    name: Annotated[str, typer.Argument(metavar="WORKFLOW", help="The workflow's name, or its code.")],
    begin: Annotated[str | None, typer.Option("--from", metavar="DATE", help="The first date.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="DATE", help="The last date; it counts.")] = None,
    date: Annotated[
        list[str] | None, typer.Option("--date", metavar="DATE", help="This date; may be repeated.")
    ] = None,
    parallel: Annotated[
        int | None, typer.Option(min=0, help="So many dates at once; 0 = all. Without it one after the other.")
    ] = None,
    desc: Annotated[bool, typer.Option("--desc", help="The latest date first.")] = False,
    dependents: Annotated[
        bool, typer.Option("--dependents", help="The workflows that depend on it as well, for the same dates.")
    ] = False,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", help="A value, as name=value; may be repeated.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say for which dates; ask for nothing.")] = False,
    project: Project = "default",
) -> None:
    """Run a workflow once for each date: those of its schedule in a range (daily if it has none), or a list.

    In a chain the next date begins when the one before has succeeded; a failed one stops its chain.
    """
    import json

    from dao.commands import commands
    from dao.commands.commands import NewCommand
    from shoal.cli import output
    from shoal.runs.references import find_startable
    from shoal.runs.start_check import check_start
    from shoal.runs.waiting import until_taken
    from shoal.workflows.sealing import sealed_for_start

    values = read_values(param or [])
    if NAME in values:
        raise Refused(f'a parameter of a backfill cannot be called "{NAME}"; give it another name')
    asked = _asked(begin, end, date or [], parallel, desc=desc, dependents=dependents)
    async with call.reading() as reading:
        head = await find_startable(reading.connection, name, project)
        found = await _dates(reading, head, asked)
        if dry_run:
            _print_dates(call, head, found)
            return
        await check_start(reading.connection, head, values, [], None)
        values = await sealed_for_start(reading.connection, head, values, call.settings.secrets)
        params = json.dumps({**values, NAME: asked}, ensure_ascii=False)
        async with reading.database.writing() as connection:
            command = await commands.insert(
                connection, NewCommand(CommandType.COMPLEMENT_DATA, head.code, params=params)
            )
        taken = await until_taken(reading.database, command)
    first = taken.run if taken else None
    if call.as_json:
        output.print_json(
            output.json_fields(
                {"command_id": command, "workflow": head.name, "dates": found.count, "first_run_id": first}
            )
        )
        return
    output.say(f'Workflow "{head.name}" is filled for {_said(found)}, by command {command}.')
    if first is None:
        output.hint(f"No master has taken it yet: shoal why command {command}")
    else:
        output.hint(f"The first date: shoal show {first}   All of them: shoal runs --workflow {quote(head.name)}")


def _asked(
    begin: str | None, end: str | None, dates: Sequence[str], parallel: int | None, *, desc: bool, dependents: bool
) -> dict[str, Any]:
    """The value of "backfill" in the command's parameters. Raises `Refused`."""
    if dates and (begin or end):
        raise Refused("--date and --from are two ways to say when; keep one of them")
    if not dates and not (begin and end):
        raise Refused("say for which dates: --from 2026-01-01 --to 2026-01-31, or --date 2026-01-31")
    when: dict[str, Any] = {"dates": list(dates)} if dates else {"from": begin, "to": end}
    mode: dict[str, Any] = {} if parallel is None else {"mode": "PARALLEL", "parallelism": parallel}
    return {**when, **mode, "order": "DESC" if desc else "ASC", "dependents": dependents}


async def _dates(reading: Reading, head: Definition, asked: dict[str, Any]) -> Dates:
    """The dates as the master will compute them. Raises `Refused`."""
    import json

    from dao.definitions import definitions, references
    from master.claim.backfills import dates_of
    from model.backfill import BackfillSpec

    key = (head.code, head.version)
    content = (await definitions.specs(reading.connection, [key])).get(key)
    if content is None or isinstance(content, Refused):
        raise Refused(f'version {head.version} of workflow "{head.name}" cannot be read: {content or "it is gone"}')
    spec = BackfillSpec.parse(json.dumps(asked))
    zone, chains = await dates_of(reading.connection, head.code, content.time_zone, spec)
    below = await references.depending_on(reading.connection, head.code) if spec.dependents else set()
    heads = await definitions.heads(reading.connection, below)
    return Dates(chains, zone, sorted(each.name for each in heads.values()))


def _print_dates(call: Invocation, head: Definition, found: Dates) -> None:
    from zoneinfo import ZoneInfo

    from shoal.cli import output
    from shoal.cli.output import Column
    from shoal.words import exact

    if call.as_json:
        chains = [[exact(time) for time in chain] for chain in found.chains]
        output.print_json(
            {"workflow": head.name, "time_zone": found.zone, "chains": chains, "dependents": found.dependents}
        )
        return
    zone = ZoneInfo(found.zone)
    columns = [Column("CHAIN", right=True), Column("STEP", right=True, keep=0), Column("FOR")]
    rows = [
        (number, step, exact(time) if call.utc else f"{time.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}")
        for number, chain in enumerate(found.chains, 1)
        for step, time in enumerate(chain, 1)
    ]
    output.table(columns, rows)
    output.say(f"This would fill {_said(found)} (time zone {found.zone}).")
    output.hint("Nothing was asked for. Do it: the same without --dry-run")


def _said(found: Dates) -> str:
    from shoal.words import counted

    chains = "one after the other" if len(found.chains) == 1 else f"in {len(found.chains)} chains beside each other"
    below = f", and so are {', '.join(found.dependents)}" if found.dependents else ""
    return f"{counted(found.count, 'date')} {chains}{below}" if found.count > 1 else f"1 date{below}"
