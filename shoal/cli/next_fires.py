"""`shoal next`: when a workflow's schedules, or a cron text that is not saved yet, fire next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.completion import complete_workflow
from shoal.cli.invocation import Invocation
from shoal.cli.values import Project
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from model.schedules import ScheduleRow, Timetable


@dataclass(frozen=True)
class _Next:
    """A future fire time; `row` is the schedule, if it is saved."""

    time: datetime
    table: Timetable
    row: ScheduleRow | None = None

    @property
    def local(self) -> datetime:
        """The time in the zone of the schedule."""
        return self.time.astimezone(self.table.zone)


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "shoal next hello", 'shoal next --cron "0 0 5 * * ?" --zone Europe/Berlin -n 3', name="next")(next_fires)


async def next_fires(
    call: Invocation,
    workflow: Annotated[
        str | None, typer.Argument(help="The workflow's name, or its code.", autocompletion=complete_workflow)
    ] = None,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, max=10_000, help="How many times to show for each schedule.")
    ] = 10,
    cron: Annotated[str | None, typer.Option(help="A cron expression, instead of a workflow.")] = None,
    zone: Annotated[str, typer.Option(help="The time zone of the cron expression.")] = "UTC",
    project: Project = "default",
) -> None:
    """Show when a workflow's schedules fire next, in their zone and in UTC; or when a cron expression would."""
    from model.errors import Refused

    if (workflow is None) == (cron is None):
        raise Refused('say a workflow, or --cron with a text such as "0 0 5 * * ?"')
    if cron is not None:
        _show_cron(call, cron, zone, number)
    elif workflow is not None:
        await _show_workflow(call, workflow, project, number)


def _show_cron(call: Invocation, text: str, zone_name: str, number: int) -> None:
    from model.cron import Cron
    from model.errors import Refused
    from model.schedules import Timetable, upcoming
    from model.zones import zone
    from shoal.cli.output import hint, print_json, say

    table = Timetable(Cron.parse(text), zone(zone_name))
    times = upcoming(table, datetime.now(UTC), number)
    if not times:
        raise Refused(f'cron "{table.cron.text}" never fires again; change it')
    if call.as_json:
        print_json([_fields(_Next(time, table)) for time in times])
        return
    say(f"{table.cron.in_words}, in {table.zone.key}.")
    _print([_Next(time, table) for time in times])
    hint(f"Save it: shoal schedule add WORKFLOW {quote(table.cron.text)} --zone {table.zone.key}")


async def _show_workflow(call: Invocation, name: str, project: str, number: int) -> None:
    from dao.definitions import definitions
    from dao.definitions.schedules import of_workflow
    from model.errors import NotFound, Refused
    from model.schedules import Timetable, upcoming
    from service.workflows.typed_names import typed
    from shoal.cli.output import hint, print_json, say

    async with call.reading() as reading:
        head = await definitions.find(reading.connection, name, project)
        rows = await of_workflow(reading.connection, head.code)
    if not rows:
        named = typed(head.name, head.project, head.code)
        raise NotFound(f'workflow "{head.name}" has no schedule; add one: shoal schedule add {named} "0 0 5 * * ?"')
    times: list[_Next] = []
    faults: list[str] = []
    for row in rows:
        try:
            table = Timetable.of(row)
            found = upcoming(table, reading.now, number)
            if not found:
                raise Refused(table.why_exhausted)
            times += [_Next(time, table, row) for time in found]
        except Refused as error:
            faults.append(f"schedule {row.id}: {error}")
    if not times:
        raise Refused("; ".join(faults))
    times.sort(key=lambda each: each.time)
    if call.as_json:
        print_json([_fields(each) for each in times])
        return
    _print(times)
    for fault in faults:
        say(fault)
    off = [row.id for row in rows if row.state == "OFFLINE"]
    if off:
        hint(f"OFFLINE, so it does not fire: {', '.join(map(str, off))}; turn it on: shoal schedule on {off[0]}")
    else:
        hint("All schedules: shoal schedules")


def _print(times: list[_Next]) -> None:
    from service.words import exact
    from shoal.cli.output import Column, table

    schedules = [each.row.id for each in times if each.row]
    table(
        *([Column("SCHEDULE", schedules, right=True, keep=1)] if schedules else []),
        Column("IN ITS ZONE", [f"{each.local:%a %Y-%m-%d %H:%M:%S %Z}" for each in times]),
        Column("UTC", [exact(each.time) for each in times], keep=2),
    )


def _fields(each: _Next) -> dict[str, object]:
    of_row = {"schedule_id": str(each.row.id), "state": each.row.state} if each.row else {}
    return {"utc": each.time, "local": each.local.isoformat(), "time_zone": each.table.zone.key, **of_row}
