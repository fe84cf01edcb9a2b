"""`shoal schedule`: cron rules that start workflows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from model.choices import Misfire, ReleaseState
from model.errors import Refused
from model.time.moments import begin_of
from model.time.zones import zone
from service.schedules import schedule_changes, schedule_listing, schedule_requests
from service.words import exact
from service.workflows.typed_names import typed
from shoal.cli import next_fires, output
from shoal.cli.completion import complete_workflow
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.named import workflow_named
from shoal.cli.values import Params, Project, StartOptions, read_values
from shoal.cli.verbs import new_group, verb
from shoal.clients.pages import all_items

if TYPE_CHECKING:
    from service.operation import Operation
    from service.schedules.schedule_answers import ScheduleAnswer

NONE = "none"
"""Removes the start or end of a schedule."""

Id = Annotated[int, typer.Argument(metavar="ID", min=1, help="The schedule.")]
Again = Annotated[bool, typer.Option("--again", help="Add it even if the workflow has an equal schedule.")]


def add_to(app: typer.Typer) -> None:
    group = new_group(app, "schedule", "Cron rules that start workflows: list, add, change, switch on or off, delete.")
    verb(group, "shoal schedule list", "shoal schedule list --utc", name="list")(list_all)
    next_fires.add_to(group)
    verb(
        group,
        'shoal schedule add hello "0 0 5 * * ?" --zone Europe/Berlin',
        'shoal schedule add hello "*/10 * * * *" --start 2026-01-01 --end 2026-12-31 --misfire FIRE_ALL',
    )(add)
    verb(group, 'shoal schedule edit 3 --cron "0 0 6 * * ?"', "shoal schedule edit 3 --end none --off")(edit)
    verb(group, "shoal schedule on 3", name="on")(turn_on)
    verb(group, "shoal schedule off 3", name="off")(turn_off)
    verb(group, "shoal schedule delete 3")(delete)


async def list_all(
    call: Invocation,
    project: Annotated[str | None, typer.Option(help="Only schedules of workflows of this project.")] = None,
    workflow: Annotated[str | None, typer.Option(help="Only schedules of this workflow.")] = None,
    state: Annotated[
        ReleaseState | None, typer.Option(case_sensitive=False, help="Only schedules in this state.")
    ] = None,
) -> None:
    """List the schedules by id: when each fires next, and why one does not."""
    asked = schedule_requests.ScheduleQuery.read(project=project, workflow=workflow, state=state)
    schedules: Listing[ScheduleAnswer] = Listing(
        (
            Field("ID", lambda each: each.id, right=True),
            Field("WORKFLOW", lambda each: each.workflow or f"code {each.workflow_code}", keep=4),
            Field("CRON", lambda each: each.crontab, keep=5),
            Field("ZONE", lambda each: each.time_zone, keep=2),
            Field("STATE", lambda each: output.state(each.state)),
            Field("NEXT", lambda each: each.next_fire_at, keep=3, right=True),
            Field("LAST", lambda each: each.last_fire_at, keep=1, right=True),
            Field("PROBLEM", lambda each: each.problem or "-", sentence=True),
        ),
        none="No schedule matches." if project or workflow or state else "There is no schedule.",
        first='Add one: shoal schedule add hello "0 0 5 * * ?" --zone Europe/Berlin',
        then=_next_of,
    )
    async with call.client() as client:
        found = await all_items(lambda page: client.ask(schedule_listing.list_schedules, page), asked)
        await schedules.show(call, client, found)


def _next_of(first: ScheduleAnswer) -> str:
    named = typed(first.workflow, first.project) if first.workflow else first.workflow_code
    return f"When one fires next: shoal schedule next {named}"


@dataclass(frozen=True)
class Times:
    """When a schedule fires, by the names of the API; None: unchanged, or the API's default for a new one."""

    time_zone: Annotated[
        str | None, typer.Option("--zone", help="Time zone of the cron expression; else the workflow's.")
    ] = None
    start_time: Annotated[
        str | None, typer.Option("--start", help="Not before this date or time, in the zone; or none.")
    ] = None
    end_time: Annotated[
        str | None, typer.Option("--end", help="Not after this date or time, in the zone; or none.")
    ] = None
    misfire: Annotated[
        Misfire | None, typer.Option(case_sensitive=False, help="What to do about missed times; else FIRE_ONCE.")
    ] = None
    misfire_grace_s: Annotated[
        float | None, typer.Option("--grace", min=0, help="Seconds that a fire may be late; else 60.")
    ] = None

    def check(self) -> None:
        """Raises `Refused`, naming the option, for an invalid time."""
        for option, text in (("--start", self.start_time), ("--end", self.end_time)):
            if text is not None and text != NONE:
                begin_of(text, option, zone("UTC"))


@dataclass(frozen=True)
class NewOptions(StartOptions):
    """How the runs of a new schedule start, and whether it is on."""

    params: Params = None
    off: Annotated[bool, typer.Option("--off", help="Save it OFFLINE.")] = False
    again: Again = False


@dataclass(frozen=True)
class Changes(StartOptions):
    """The new values of a schedule; None: unchanged."""

    cron: Annotated[str | None, typer.Option(help="Another rule: Quartz or ordinary cron, in quotes.")] = None
    params: Params = None
    without_params: Annotated[
        list[str] | None, typer.Option("--unset", help="A parameter to remove; may be repeated.")
    ] = None
    on: Annotated[bool | None, typer.Option("--on/--off", help="Turn it on or off.")] = None
    again: Again = False


async def add(
    call: Invocation,
    workflow: Annotated[
        str, typer.Argument(help="The workflow's name, or its code.", autocompletion=complete_workflow)
    ],
    cron: Annotated[str, typer.Argument(help="Quartz (second first) or ordinary cron, in quotes.")],
    times: Times,
    options: NewOptions,
    project: Project = "default",
) -> None:
    """Start a workflow by a cron rule. It applies from now on: earlier times do not fire."""
    times.check()
    given = {**vars(times), **vars(options), "params": read_values(options.params or [])}
    state = ReleaseState.OFFLINE if given.pop("off") else ReleaseState.ONLINE
    asked = schedule_requests.NewSchedule.read(**given, cron=cron, state=state)
    async with call.client() as client:
        head = await workflow_named(client, workflow, project)
        made = await client.ask(schedule_changes.add_schedule, head.code, asked)
    if output.printed_json(call, made):
        return
    whose = " (the workflow's time zone)" if made.is_workflow_zone else ""
    output.say(f'Schedule {made.id} starts workflow "{head.name}": {made.rule}, in {made.time_zone}{whose}.')
    _hint_first(made.id, made.first_fire_at, head.name, head.project)


async def edit(call: Invocation, schedule: Id, times: Times, options: Changes) -> None:
    """Change a schedule; what is not given stays unchanged. If its times change, they count from now."""
    times.check()
    given = {
        **vars(times),
        **vars(options),
        "params": read_values(options.params) if options.params else None,
        "without_params": options.without_params or None,
        "again": options.again or None,
    }
    on = given.pop("on")
    state = None if on is None else ReleaseState.ONLINE if on else ReleaseState.OFFLINE
    changes = schedule_requests.ChangeSchedule.read(**given, state=state)
    if not changes.model_fields_set - {"again"}:
        raise Refused("say what to change, such as --cron, --zone, --start, --end, --param or --off")
    saved = await call.ask(schedule_changes.change_schedule, schedule, changes)
    if output.printed_json(call, saved):
        return
    rule = f"{saved.rule}, in {saved.time_zone}"
    output.say(f'Schedule {saved.id} starts workflow "{saved.workflow}": {rule}.{_note_of_file(saved)}')
    if saved.fault is not None:
        output.say(f"It does not fire: {saved.fault}.")
    else:
        _hint_first(saved.id, saved.first_fire_at, saved.workflow or "", saved.project)


def _hint_first(id_: int, first: datetime | None, workflow: str, project: str | None) -> None:
    if first is None:
        output.hint(f"It is OFFLINE; turn it on: shoal schedule on {id_}")
    else:
        output.hint(f"First at {exact(first)}; then: shoal schedule next {typed(workflow, project)}")


def _note_of_file(schedule: ScheduleAnswer) -> str:
    note = "The file of its workflow lists it: change it there too, or the next `shoal workflow apply` undoes this."
    return f"\n{note}" if schedule.from_file else ""


async def turn_on(call: Invocation, schedule: Id) -> None:
    """Enable a schedule, from now on. One with a problem is retried."""
    await _set_state(call, schedule, schedule_changes.turn_on_schedule)


async def turn_off(call: Invocation, schedule: Id) -> None:
    """Disable a schedule. Times that pass meanwhile do not count as missed."""
    await _set_state(call, schedule, schedule_changes.turn_off_schedule)


async def _set_state(call: Invocation, schedule: int, operation: Operation[[int], ScheduleAnswer]) -> None:
    now = await call.ask(operation, schedule)
    said = f"Schedule {now.id} is {now.state}.{_note_of_file(now)}"
    output.print_result(call, output.answer_fields(now), said, "All of them: shoal schedule list")


async def delete(call: Invocation, schedule: Id) -> None:
    """Delete a schedule. The runs that it started continue."""
    gone = await call.ask(schedule_changes.delete_schedule, schedule)
    said = f"Schedule {schedule} is deleted.{_note_of_file(gone)}"
    output.print_result(call, str(schedule), said, "What is left: shoal schedule list")
