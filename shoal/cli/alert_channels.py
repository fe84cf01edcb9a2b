"""`shoal alert channel list/show/set/change/test/delete`: where alerts are sent."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from model.alerts.channels import MASK, parse_channel_url
from model.errors import NotFound, Refused
from service.alerts import channels as alert_channels
from service.alerts import groups
from service.cluster import clock
from service.words import counted, plain, when
from shoal.cli import exit_codes
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import answer_fields, hint, print_json, print_result, printed_json, say
from shoal.cli.secrets import read_url
from shoal.cli.verbs import new_group, verb

Name = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's name.")]
CHANNELS: Listing[alert_channels.ChannelAnswer] = Listing(
    (
        Field("CHANNEL", lambda each: each.name),
        Field("URL", lambda each: each.url, keep=2, sentence=True),
        Field("STATE", lambda each: ("fails" if each.last_error else "on") if each.enabled else "off"),
        Field("GROUPS", lambda each: each.groups, keep=1),
        Field("WAITING", lambda each: each.waiting, right=True),
        Field("LAST SENT", lambda each: each.last_sent_at, keep=1, right=True),
        Field("WHY NOT", lambda each: each.last_error or "", keep=3, sentence=True),
    ),
    none="There is no channel yet.",
    first="Save one: shoal alert channel set NAME --group default",
    then=lambda first: f"Try one: shoal alert channel test {quote(first.name)}",
)


def add_to(alert: typer.Typer) -> None:
    group = new_group(alert, "channel", "Where alerts are sent: mailboxes, chats, webhooks.")
    verb(group, "shoal alert channel list", "shoal alert channel list --json", name="list")(list_all)
    verb(group, "shoal alert channel show ops")(show)
    verb(
        group,
        "shoal alert channel set ops < url.txt",
        "shoal alert channel set ops 'mailto://mail.example.org?from=shoal@example.org&to=ops@example.org'",
        name="set",
    )(put)
    verb(
        group,
        "shoal alert channel change ops --off",
        "shoal alert channel change ops --subject '${severity}: ${subject}'",
    )(change)
    verb(group, "shoal alert channel test ops")(test)
    verb(group, "shoal alert channel delete ops")(delete)


async def put(
    call: Invocation,
    name: Name,
    url: Annotated[
        str, typer.Argument(help="As apprise writes it: mailtos://..., slack://...; - or none: from standard input.")
    ] = "-",
    group: Annotated[
        list[str] | None, typer.Option(help="An alert group that it joins, made if needed; may be repeated.")
    ] = None,
) -> None:
    """Save or replace a channel's URL. One with a password or token comes from standard input or a prompt."""
    instead = f"say `shoal alert channel set {quote(name)}`"
    given = read_url(url, lambda text: MASK in parse_channel_url(text).shown, instead)
    async with call.client() as client:
        try:
            before = await client.ask(alert_channels.get_channel, name)
            kept = before.model_dump(include={"description", "enabled", "subject_template", "text_template"})
        except NotFound:
            kept = {}
        saved = await client.ask(alert_channels.save_channel, name, alert_channels.SaveChannel.read(url=given, **kept))
        for each in group or ():
            try:
                found = await client.ask(groups.get_alert_group, each)
                members, about = [*found.channels, name], found.description
            except NotFound:
                members, about = [name], ""
            await client.ask(
                groups.save_alert_group, each, groups.SaveGroup.read(channels=sorted(set(members)), description=about)
            )
    said = f'Channel "{name}" is saved: {saved.url}'
    print_result(call, {"name": name, "url": saved.url}, said, f"Try it: shoal alert channel test {quote(name)}")


async def change(
    call: Invocation,
    name: Name,
    description: Annotated[str | None, typer.Option(help="What it is, for people.")] = None,
    subject: Annotated[
        str | None, typer.Option(help="Subject of its messages, with ${...} for values; '' = the usual one.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="The same for their text.")] = None,
    enabled: Annotated[bool | None, typer.Option("--on/--off", help="Off: nothing is sent to it.")] = None,
) -> None:
    """Change what is not the URL of a channel: its description, its templates, whether it is on."""
    async with call.client() as client:
        before = await client.ask(alert_channels.get_channel, name)
        body = alert_channels.SaveChannel.read(
            description=before.description if description is None else description,
            enabled=before.enabled if enabled is None else enabled,
            subject_template=(before.subject_template if subject is None else subject) or None,
            text_template=(before.text_template if text is None else text) or None,
        )
        saved = await client.ask(alert_channels.save_channel, name, body)
    state = "on" if saved.enabled else "off: nothing is sent to it"
    said = f'Channel "{name}" is changed; it is {state}.'
    print_result(call, answer_fields(saved), said, f"Try it: shoal alert channel test {quote(name)}")


async def show(call: Invocation, name: Name) -> None:
    """Show a channel: its URL without secrets, its groups, what waits for it and why."""
    async with call.client() as client:
        now = (await client.ask(clock.read_clock)).now
        found = await client.ask(alert_channels.get_channel, name)
    if printed_json(call, found):
        return
    say(f"{found.name}  {plain(found.url)}  {'on' if found.enabled else 'off'}  version {found.version}")
    if found.description:
        say(plain(found.description))
    say(f"groups: {', '.join(map(plain, found.groups)) or '-'}")
    for what, template in (("subject", found.subject_template), ("text", found.text_template)):
        if template is not None:
            say(f"{what}: {plain(template)}")
    say(f"last sent: {when(found.last_sent_at, now, utc=call.utc)}")
    if found.waiting:
        since = when(found.waits_since, now, utc=call.utc)
        say(f"{counted(found.waiting, 'alert')} wait, the oldest since {since}")
    if found.last_error:
        say(f"not sent: {plain(found.last_error)}")
    hint(f"Try it: shoal alert channel test {quote(name)}")


async def test(
    call: Invocation,
    name: Name,
    wait: Annotated[float, typer.Option(min=0, max=120, help="Seconds to wait for the result.")] = 40,
) -> None:
    """Have a test message sent to a channel by a running sender of alerts, and wait for the result."""
    found = await call.ask(alert_channels.check_channel, name, alert_channels.WaitForTest(wait=wait))
    if call.as_json:
        print_json(answer_fields(found))
    elif not found.is_sent:
        raise Refused(f'channel "{name}" did not take the test message: {found.reason}')
    else:
        say(f'Channel "{name}" took the test message.')
    if not found.is_sent:
        raise typer.Exit(exit_codes.FAILED)


async def delete(
    call: Invocation,
    name: Name,
    force: Annotated[bool, typer.Option("--force", help="Though alerts wait for it, which nobody gets then.")] = False,
) -> None:
    """Delete a channel, with its deliveries."""
    await call.ask(alert_channels.delete_channel, name, alert_channels.DeleteChannel(force=force))
    print_result(call, {"name": name, "deleted": True}, f'Channel "{name}" is deleted.')


async def list_all(call: Invocation) -> None:
    """List the channels, without their secrets: what waits for each, and why it does."""
    async with call.client() as client:
        await CHANNELS.show(call, client, (await client.ask(alert_channels.list_channels)).items)
