"""`shoal schedules` and `shoal schedule`: cron rules that start workflows."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from model.choices import FailureStrategy, Misfire, Priority
from shoal.cli.invocation import Invocation
from shoal.cli.values import read_values
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from model.schedules import ScheduleRow

LIST_MAX = 10_000
TIMES = ("start_time", "end_time", "next_fire_at", "last_fire_at", "updated_at")

Id = Annotated[int, typer.Argument(metavar="ID", min=1, help="The schedule.")]


def add_to(app: typer.Typer) -> None:
    """Add the verb `schedules` and the group `schedule`."""
    verb(app, "shoal schedules", "shoal schedules --utc")(schedules)
    group = typer.Typer(no_args_is_help=True, help="Cron rules that start workflows: added, on, off, removed.")
    verb(
        group,
        'shoal schedule add hello "0 0 5 * * ?" --zone Europe/Berlin',
        'shoal schedule add hello "*/10 * * * *" --start 2026-01-01 --end 2026-12-31 --misfire FIRE_ALL',
    )(add)
    verb(group, "shoal schedule on 3", name="on")(turn_on)
    verb(group, "shoal schedule off 3", name="off")(turn_off)
    verb(group, "shoal schedule remove 3")(remove)
    app.add_typer(group, name="schedule")


async def schedules(call: Invocation) -> None:
    """List the schedules by id: when each fires next, and why one does not."""
    from dao.definitions.schedules import all_schedules
    from shoal.cli import output
    from shoal.cli.output import Column
    from shoal.words import plain

    async with call.reading() as reading:
        found = await all_schedules(reading.connection, LIST_MAX)
    if call.as_json:
        output.print_json([_fields(row) for row in found])
        return
    if not found:
        output.say("There is no schedule.")
        output.hint('Add one: shoal schedule add hello "0 0 5 * * ?" --zone Europe/Berlin')
        return
    columns = [
        Column("ID", right=True),
        Column("WORKFLOW", keep=4),
        Column("CRON", keep=5),
        Column("ZONE", keep=2),
        Column("STATE"),
        Column("NEXT", keep=3, right=True),
        Column("LAST", keep=1, right=True),
        Column("PROBLEM", sentence=True),
    ]
    rows = [
        (
            row.id,
            row.workflow or f"code {row.workflow_code}",
            row.crontab,
            row.time_zone,
            output.state(row.state),
            _when(row.next_fire_at, reading.now, utc=call.utc),
            _when(row.last_fire_at, reading.now, utc=call.utc),
            plain(row.problem or "-"),
        )
        for row in found
    ]
    output.table(columns, rows)
    output.hint(f"When one fires next: shoal next {found[0].workflow or found[0].workflow_code}")


async def add(
    call: Invocation,
    workflow: Annotated[str, typer.Argument(help="The workflow's name, or its code.")],
    cron: Annotated[str, typer.Argument(help="Quartz (second first) or ordinary cron, in quotes.")],
    zone: Annotated[str, typer.Option(help="The time zone that it means.")] = "UTC",
    start: Annotated[str | None, typer.Option(help="Not before this date or time, in the zone.")] = None,
    end: Annotated[str | None, typer.Option(help="Not after this date or time, in the zone.")] = None,
    misfire: Annotated[
        Misfire, typer.Option(case_sensitive=False, help="What becomes of times that are missed.")
    ] = Misfire.FIRE_ONCE,
    grace: Annotated[float, typer.Option(min=0, help="Seconds that a fire may be late and is not missed.")] = 60.0,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", help="A value, as name=value; may be repeated.")
    ] = None,
    priority: Annotated[
        Priority | None, typer.Option(case_sensitive=False, help="Instead of the definition's.")
    ] = None,
    failure_strategy: Annotated[
        FailureStrategy | None, typer.Option(case_sensitive=False, help="Instead of the definition's.")
    ] = None,
    worker_group: Annotated[str | None, typer.Option(help="Instead of the definition's.")] = None,
    environment: Annotated[str | None, typer.Option(help="Instead of the tasks' own.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Save it OFFLINE.")] = False,
    project: Annotated[str, typer.Option(help="The project that the workflow belongs to.")] = "default",
) -> None:
    """Start a workflow by a cron rule. It begins now: earlier times do not fire."""
    from dao.definitions import definitions
    from dao.definitions import schedules as rows
    from model.moments import begin_of, end_of
    from model.schedules import ScheduleSpec
    from model.zones import zone as zone_of
    from shoal.cli.output import hint, json_fields, print_json, say
    from shoal.runs.start_check import check_start
    from shoal.words import exact
    from shoal.workflows.sealing import sealed_for_start

    in_zone = zone_of(zone)
    spec = ScheduleSpec(
        cron,
        in_zone.key,
        begin_of(start, "--start", in_zone) if start else None,
        end_of(end, "--end", in_zone) if end else None,
        misfire=misfire,
        misfire_grace_s=grace,
        priority=priority,
        failure_strategy=failure_strategy,
        worker_group=worker_group,
        environment=environment,
    )
    async with call.reading() as reading:
        head = await definitions.find(reading.connection, workflow, project)
        values = read_values(param or [])
        await check_start(reading.connection, head, values, [], None)
        values = await sealed_for_start(reading.connection, head, values, call.settings.secrets)
        spec = replace(spec, params=json.dumps(values, ensure_ascii=False))
        table = spec.checked(reading.now)
        first = table.first_after(reading.now)
        async with reading.database.writing() as connection:
            id_ = await rows.insert(connection, head.code, spec, online=not off)
    if call.as_json:
        print_json(json_fields({"id": id_, "workflow": head.name, "first_fire_at": None if off else first}))
        return
    say(f'Schedule {id_} starts workflow "{head.name}": {table.cron.in_words}, in {in_zone.key}.')
    if off:
        hint(f"It is OFFLINE; turn it on: shoal schedule on {id_}")
    elif first is not None:
        hint(f"First at {exact(first)}; then: shoal next {head.name}")


async def turn_on(call: Invocation, schedule: Id) -> None:
    """Enable a schedule, from now on. One with a problem is retried."""
    await _set_state(call, schedule, online=True)


async def turn_off(call: Invocation, schedule: Id) -> None:
    """Disable a schedule. Times that pass meanwhile do not count as missed."""
    await _set_state(call, schedule, online=False)


async def _set_state(call: Invocation, schedule: int, *, online: bool) -> None:
    from dao.definitions import schedules as rows
    from model.ids import ScheduleId
    from shoal.cli.output import hint, print_json, say

    id_ = ScheduleId(schedule)
    async with call.reading() as reading:
        async with reading.database.writing() as connection:
            await rows.set_state(connection, id_, online=online)
        row = await rows.find(reading.connection, id_)
    if call.as_json:
        print_json(_fields(row))
        return
    say(f"Schedule {id_} is {row.state}.")
    hint("All of them: shoal schedules")


async def remove(call: Invocation, schedule: Id) -> None:
    """Delete a schedule. The runs that it started continue."""
    from dao.definitions import schedules as rows
    from model.ids import ScheduleId
    from shoal.cli.output import hint, print_json, say

    async with call.reading() as reading, reading.database.writing() as connection:
        await rows.remove(connection, ScheduleId(schedule))
    if call.as_json:
        print_json(str(schedule))
        return
    say(f"Removed schedule {schedule}.")
    hint("What is left: shoal schedules")


def _readable(text: str | None) -> datetime | str | None:
    """A stored time; its text, when a person wrote one that Python's calendar cannot represent."""
    from model.errors import Refused
    from model.schedules import stored_time

    try:
        return stored_time(text, "")
    except Refused:
        return text


def _when(text: str | None, now: datetime, *, utc: bool) -> str:
    from shoal.words import ahead, exact, when

    time = _readable(text)
    if not isinstance(time, datetime):
        return time or "-"
    if time > now:
        return exact(time) if utc else ahead((time - now).total_seconds())
    return when(time, now, utc=utc)


def _fields(row: ScheduleRow) -> dict[str, object]:
    from shoal.cli.output import json_fields

    return json_fields({**asdict(row), **{name: _readable(getattr(row, name)) for name in TIMES}})
