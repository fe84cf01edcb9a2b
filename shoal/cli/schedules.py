"""`shoal schedules` and `shoal schedule`: cron rules that start workflows."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from model.choices import Misfire, ReleaseState
from shoal.cli.completion import complete_workflow
from shoal.cli.invocation import Invocation
from shoal.cli.values import OnFailure, Params, Project, RunPriority, WorkerGroup, read_values
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from model.schedules import ScheduleRow

LIST_MAX = 10_000
TIMES = ("start_time", "end_time", "next_fire_at", "last_fire_at", "updated_at")

Id = Annotated[int, typer.Argument(metavar="ID", min=1, help="The schedule.")]
Environment = Annotated[str | None, typer.Option(help="Instead of the tasks' own.")]
Again = Annotated[bool, typer.Option("--again", help="Add it even if the workflow has an equal schedule.")]


def add_to(app: typer.Typer) -> None:
    """Add the verb `schedules` and the group `schedule`."""
    verb(app, "shoal schedules", "shoal schedules --utc")(schedules)
    group = typer.Typer(
        no_args_is_help=True, help="Cron rules that start workflows: add, change, switch on or off, remove."
    )
    verb(
        group,
        'shoal schedule add hello "0 0 5 * * ?" --zone Europe/Berlin',
        'shoal schedule add hello "*/10 * * * *" --start 2026-01-01 --end 2026-12-31 --misfire FIRE_ALL',
    )(add)
    verb(group, 'shoal schedule edit 3 --cron "0 0 6 * * ?"', "shoal schedule edit 3 --end none --off")(edit)
    verb(group, "shoal schedule on 3", name="on")(turn_on)
    verb(group, "shoal schedule off 3", name="off")(turn_off)
    verb(group, "shoal schedule remove 3")(remove)
    app.add_typer(group, name="schedule")


async def schedules(call: Invocation) -> None:
    """List the schedules by id: when each fires next, and why one does not."""
    from dao.definitions.schedules import all_schedules
    from service.workflows.typed_names import typed
    from shoal.cli import output
    from shoal.cli.output import Column

    async with call.reading() as reading:
        found = await all_schedules(reading.connection, LIST_MAX)
    if call.as_json or not found:
        how = 'Add one: shoal schedule add hello "0 0 5 * * ?" --zone Europe/Berlin'
        output.print_result(call, [_fields(row) for row in found], "There is no schedule.", how)
        return
    output.table(
        Column("ID", [row.id for row in found], right=True),
        Column("WORKFLOW", [row.workflow or f"code {row.workflow_code}" for row in found], keep=4),
        Column("CRON", [row.crontab for row in found], keep=5),
        Column("ZONE", [row.time_zone for row in found], keep=2),
        Column("STATE", [output.state(row.state) for row in found]),
        Column("NEXT", [_when(row.next_fire_at, reading.now, utc=call.utc) for row in found], keep=3, right=True),
        Column("LAST", [_when(row.last_fire_at, reading.now, utc=call.utc) for row in found], keep=1, right=True),
        Column("PROBLEM", [row.problem or "-" for row in found], sentence=True),
    )
    first = found[0]
    named = typed(first.workflow, first.project) if first.workflow else first.workflow_code
    output.hint(f"When one fires next: shoal next {named}")


async def add(
    call: Invocation,
    workflow: Annotated[
        str, typer.Argument(help="The workflow's name, or its code.", autocompletion=complete_workflow)
    ],
    cron: Annotated[str, typer.Argument(help="Quartz (second first) or ordinary cron, in quotes.")],
    zone: Annotated[str | None, typer.Option(help="Time zone of the cron expression; else the workflow's.")] = None,
    start: Annotated[str | None, typer.Option(help="Not before this date or time, in the zone.")] = None,
    end: Annotated[str | None, typer.Option(help="Not after this date or time, in the zone.")] = None,
    misfire: Annotated[
        Misfire, typer.Option(case_sensitive=False, help="What to do about missed times.")
    ] = Misfire.FIRE_ONCE,
    grace: Annotated[float, typer.Option(min=0, help="Seconds that a fire may be late without being missed.")] = 60.0,
    param: Params = None,
    priority: RunPriority = None,
    failure_strategy: OnFailure = None,
    worker_group: WorkerGroup = None,
    environment: Environment = None,
    off: Annotated[bool, typer.Option("--off", help="Save it OFFLINE.")] = False,
    again: Again = False,
    project: Project = "default",
) -> None:
    """Start a workflow by a cron rule. It applies from now on: earlier times do not fire."""
    from dao.definitions import definitions
    from service.workflows import scheduling
    from service.workflows.schedule_entry import ScheduleEntry
    from shoal.cli.output import json_fields, print_json, say

    entry = ScheduleEntry.of(
        cron=cron,
        time_zone=zone,
        start_time=start,
        end_time=end,
        state=ReleaseState.OFFLINE if off else ReleaseState.ONLINE,
        params=read_values(param or []),
        misfire=misfire,
        misfire_grace_s=grace,
        priority=priority,
        failure_strategy=failure_strategy,
        worker_group=worker_group,
        environment=environment,
    )
    async with call.reading() as reading:
        head = await definitions.find(reading.connection, workflow, project)
        async with reading.database.writing() as connection:
            made = await scheduling.add(connection, head, entry, call.settings.secrets, reading.now, again=again)
    first = None if off else made.table.first_after(reading.now)
    if call.as_json:
        fields = {"id": made.id, "workflow": head.name, "time_zone": made.table.zone.key, "first_fire_at": first}
        print_json(json_fields(fields))
        return
    whose = " (the workflow's time zone)" if made.of_workflow else ""
    rule = f"{made.table.cron.in_words}, in {made.table.zone.key}{whose}"
    say(f'Schedule {made.id} starts workflow "{head.name}": {rule}.')
    _hint_first(made.id, first, head.name, head.project)


async def edit(
    call: Invocation,
    schedule: Id,
    cron: Annotated[str | None, typer.Option(help="Another rule: Quartz or ordinary cron, in quotes.")] = None,
    zone: Annotated[str | None, typer.Option(help="Another time zone.")] = None,
    start: Annotated[str | None, typer.Option(help="Not before this date or time, in the zone; or none.")] = None,
    end: Annotated[str | None, typer.Option(help="Not after this date or time, in the zone; or none.")] = None,
    misfire: Annotated[
        Misfire | None, typer.Option(case_sensitive=False, help="What to do about missed times.")
    ] = None,
    grace: Annotated[float | None, typer.Option(min=0, help="Seconds that a fire may be late.")] = None,
    param: Params = None,
    unset: Annotated[list[str] | None, typer.Option(help="A parameter to remove; may be repeated.")] = None,
    priority: RunPriority = None,
    failure_strategy: OnFailure = None,
    worker_group: WorkerGroup = None,
    environment: Environment = None,
    on: Annotated[bool | None, typer.Option("--on/--off", help="Turn it on or off.")] = None,
    again: Again = False,
) -> None:
    """Change a schedule; what is not given stays unchanged. If its times change, they count from now."""
    from model.errors import Refused
    from model.ids import ScheduleId
    from service.workflows import scheduling
    from shoal.cli.output import print_json, say

    options = {
        "misfire": misfire,
        "misfire_grace_s": grace,
        "priority": priority,
        "failure_strategy": failure_strategy,
        "worker_group": worker_group,
        "environment": environment,
    }
    columns = {name: value for name, value in options.items() if value is not None}
    changes = scheduling.Changes(cron, zone, start, end, read_values(param or []), unset or (), columns, on)
    if changes == scheduling.Changes():
        raise Refused("say what to change, such as --cron, --zone, --start, --end, --param or --off")
    async with call.reading() as reading, reading.database.writing() as connection:
        id_, secrets = ScheduleId(schedule), call.settings.secrets
        row, table = await scheduling.edit(connection, id_, changes, secrets, reading.now, again=again)
        listed = await scheduling.is_from_file(connection, row)
    if call.as_json:
        print_json(_fields(row))
        return
    rule = f"{table.cron.in_words}, in {table.zone.key}"
    say(f'Schedule {id_} starts workflow "{row.workflow}": {rule}.{_note_of_file(listed=listed)}')
    first = table.first_after(reading.now) if row.state == "ONLINE" else None
    if row.state == "ONLINE" and first is None:
        say(f"It does not fire: {table.why_exhausted}.")
    else:
        _hint_first(id_, first, row.workflow or "", row.project)


def _hint_first(id_: int, first: datetime | None, workflow: str, project: str | None) -> None:
    from service.words import exact
    from service.workflows.typed_names import typed
    from shoal.cli.output import hint

    if first is None:
        hint(f"It is OFFLINE; turn it on: shoal schedule on {id_}")
    else:
        hint(f"First at {exact(first)}; then: shoal next {typed(workflow, project)}")


def _note_of_file(*, listed: bool) -> str:
    note = "The file of its workflow lists it: change it there too, or the next `shoal workflow apply` undoes this."
    return f"\n{note}" if listed else ""


async def turn_on(call: Invocation, schedule: Id) -> None:
    """Enable a schedule, from now on. One with a problem is retried."""
    await _set_state(call, schedule, online=True)


async def turn_off(call: Invocation, schedule: Id) -> None:
    """Disable a schedule. Times that pass meanwhile do not count as missed."""
    await _set_state(call, schedule, online=False)


async def _set_state(call: Invocation, schedule: int, *, online: bool) -> None:
    from dao.definitions import schedules as rows
    from model.ids import ScheduleId
    from service.workflows.scheduling import is_from_file
    from shoal.cli.output import print_result

    id_ = ScheduleId(schedule)
    async with call.reading() as reading:
        async with reading.database.writing() as connection:
            await rows.set_state(connection, id_, online=online)
        row = await rows.find(reading.connection, id_)
        listed = await is_from_file(reading.connection, row)
    said = f"Schedule {id_} is {row.state}.{_note_of_file(listed=listed)}"
    print_result(call, _fields(row), said, "All of them: shoal schedules")


async def remove(call: Invocation, schedule: Id) -> None:
    """Delete a schedule. The runs that it started continue."""
    from dao.definitions import schedules as rows
    from model.ids import ScheduleId
    from service.workflows.scheduling import is_from_file
    from shoal.cli.output import print_result

    async with call.reading() as reading, reading.database.writing() as connection:
        listed = await is_from_file(connection, await rows.find(connection, ScheduleId(schedule)))
        await rows.remove(connection, ScheduleId(schedule))
    said = f"Removed schedule {schedule}.{_note_of_file(listed=listed)}"
    print_result(call, str(schedule), said, "What is left: shoal schedules")


def _readable(text: str | None) -> datetime | str | None:
    """A stored time; its text, when a person wrote one that Python's calendar cannot represent."""
    from model.errors import Refused
    from model.schedules import stored_time

    try:
        return stored_time(text, "")
    except Refused:
        return text


def _when(text: str | None, now: datetime, *, utc: bool) -> str:
    from service.words import ahead, exact, when

    time = _readable(text)
    if not isinstance(time, datetime):
        return time or "-"
    if time > now:
        return exact(time) if utc else ahead((time - now).total_seconds())
    return when(time, now, utc=utc)


def _fields(row: ScheduleRow) -> dict[str, object]:
    from shoal.cli.output import json_fields

    return json_fields({**asdict(row), **{name: _readable(getattr(row, name)) for name in TIMES}})
