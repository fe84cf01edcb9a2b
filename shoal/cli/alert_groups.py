"""`shoal alert group list/set/delete`: named sets of channels."""

from __future__ import annotations

from typing import Annotated

import typer

from model.errors import NotFound
from service.alerts import groups
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import answer_fields, print_result
from shoal.cli.verbs import new_group, verb

Name = Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")]
GROUPS: Listing[groups.GroupAnswer] = Listing(
    (
        Field("GROUP", lambda each: each.name),
        Field("CHANNELS", lambda each: each.channels, sentence=True),
        Field("CHANGED", lambda each: each.updated_at, keep=1, right=True),
        Field("ABOUT", lambda each: each.description or "-", keep=0, sentence=True),
    ),
    none="There is no alert group yet.",
    first="Save one: shoal alert group set default CHANNEL",
    then="Where they lead: shoal alert channel list",
)


def add_to(alert: typer.Typer) -> None:
    group = new_group(alert, "group", "Sets of channels, which workflows, schedules and rules name.")
    verb(group, "shoal alert group list", name="list")(list_all)
    verb(group, "shoal alert group set default ops", "shoal alert group set data ops feishu", name="set")(put)
    verb(group, "shoal alert group delete data")(delete)


async def put(
    call: Invocation,
    name: Name,
    channels: Annotated[list[str] | None, typer.Argument(help="Its channels, all of them; none: it is empty.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is for; else as it was.")] = None,
) -> None:
    """Save or replace an alert group. `default` gets what concerns the cluster, and what names no group."""
    async with call.client() as client:
        if description is None:
            try:
                description = (await client.ask(groups.get_alert_group, name)).description
            except NotFound:
                description = ""
        body = groups.SaveGroup.read(channels=channels or [], description=description)
        saved = await client.ask(groups.save_alert_group, name, body)
    reached = ", ".join(saved.channels) or "no channel, so nobody gets what is for it"
    print_result(call, answer_fields(saved), f'Alert group "{name}" is saved: {reached}.')


async def delete(call: Invocation, name: Name) -> None:
    """Delete an alert group; its channels stay. Alerts for it are kept, and nobody gets them."""
    await call.ask(groups.delete_alert_group, name)
    print_result(call, {"name": name, "deleted": True}, f'Alert group "{name}" is deleted.')


async def list_all(call: Invocation) -> None:
    """List the alert groups and their channels."""
    async with call.client() as client:
        await GROUPS.show(call, client, (await client.ask(groups.list_alert_groups)).items)
