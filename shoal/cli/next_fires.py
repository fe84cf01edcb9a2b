"""`shoal schedule next`: when a workflow's schedules, or a cron text that is not saved yet, fire next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from shlex import quote
from typing import Annotated

import typer

from model.errors import NotFound, Refused
from model.time import zones
from service.schedules import fire_times, schedule_answers, schedule_listing, schedule_requests
from service.words import exact
from service.workflows.typed_names import typed
from shoal.cli.completion import complete_workflow
from shoal.cli.invocation import Invocation
from shoal.cli.named import workflow_named
from shoal.cli.output import Column, hint, printed_json, say, table
from shoal.cli.values import AnyProject
from shoal.cli.verbs import verb


def add_to(group: typer.Typer) -> None:
    verb(
        group,
        "shoal schedule next",
        "shoal schedule next hello",
        'shoal schedule next --cron "0 0 5 * * ?" --zone Europe/Berlin -n 3',
        name="next",
    )(next_fires)


async def next_fires(
    call: Invocation,
    workflow: Annotated[
        str | None, typer.Argument(help="The workflow's name, or its code.", autocompletion=complete_workflow)
    ] = None,
    number: Annotated[
        int,
        typer.Option("--number", "-n", min=1, max=1000, help="How many times: of each schedule, or in all."),
    ] = 10,
    cron: Annotated[str | None, typer.Option(help="A cron expression, instead of a workflow.")] = None,
    zone: Annotated[str, typer.Option(help="The time zone of the cron expression.")] = "UTC",
    project: AnyProject = None,
) -> None:
    """Show when schedules fire next, in their zone and in UTC: all together, or those of a workflow.

    With --cron it is tried when a cron expression would fire.
    """
    if workflow is not None and cron is not None:
        raise Refused('say a workflow, or --cron with a text such as "0 0 5 * * ?"')
    if cron is not None:
        _show_cron(call, cron, zone, number)
    elif workflow is not None:
        await _show_workflow(call, workflow, project or "default", number)
    else:
        await _show_all(call, project, number)


def _show_cron(call: Invocation, text: str, zone: str, number: int) -> None:
    found = fire_times.preview(text, zone, datetime.now(UTC), number)
    if not found.fires:
        raise Refused(f'cron "{found.crontab}" never fires again; change it')
    if printed_json(call, found.fires):
        return
    say(f"{found.rule}, in {found.time_zone}.")
    _print(found.fires)
    hint(f"Save it: shoal schedule add WORKFLOW {quote(found.crontab)} --zone {found.time_zone}")


async def _show_workflow(call: Invocation, name: str, project: str, number: int) -> None:
    async with call.client() as client:
        head = await workflow_named(client, name, project)
        found = await client.ask(
            schedule_listing.list_fires, schedule_requests.FiresQuery(workflow_code=head.code, count=number)
        )
    if not found.schedules:
        named = typed(head.name, head.project, head.code)
        raise NotFound(f'workflow "{head.name}" has no schedule; add one: shoal schedule add {named} "0 0 5 * * ?"')
    _show(call, found, with_workflow=False)


async def _show_all(call: Invocation, project: str | None, number: int) -> None:
    found = await call.ask(
        schedule_listing.list_fires, schedule_requests.FiresQuery.read(project=project, count=number)
    )
    if not found.schedules:
        raise NotFound("no schedule is ONLINE; `shoal schedule list` lists those there are")
    _show(call, found, with_workflow=True)


def _show(call: Invocation, found: schedule_answers.NextFires, *, with_workflow: bool) -> None:
    if not found.fires:
        raise Refused("; ".join(found.faults))
    if printed_json(call, found.fires):
        return
    _print(found.fires, with_workflow=with_workflow)
    for fault in found.faults:
        say(fault)
    if found.offline:
        off = ", ".join(map(str, found.offline))
        hint(f"OFFLINE, so it does not fire: {off}; turn it on: shoal schedule on {found.offline[0]}")
    else:
        hint("All schedules: shoal schedule list")


def _print(fires: Sequence[schedule_answers.FireTime], *, with_workflow: bool = False) -> None:
    local = [each.utc.astimezone(zones.zone(each.time_zone)) for each in fires]
    ids = [each.schedule_id for each in fires if each.schedule_id is not None]
    days = ["-" if each.day_h is None else f"{each.day_h:g} h" for each in fires]
    table(
        *([Column("SCHEDULE", ids, right=True, keep=1)] if ids else []),
        *([Column("WORKFLOW", [each.workflow or "-" for each in fires], keep=4)] if with_workflow else []),
        Column("IN ITS ZONE", [f"{time:%a %Y-%m-%d %H:%M:%S %Z}" for time in local]),
        Column("UTC", [exact(each.utc) for each in fires], keep=2),
        *([Column("ITS DAY HAS", days, keep=0)] if any(each.day_h is not None for each in fires) else []),
    )
