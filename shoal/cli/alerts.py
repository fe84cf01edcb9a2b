"""`shoal alert list/show/retry`: alerts, and their deliveries on each channel."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import typer

from model.alerts.alerts import AlertKind
from model.errors import Refused
from service.alerts import history
from service.cluster import clock
from service.words import counted, past_or_ahead, plain, when
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import Column, answer_fields, hint, print_result, printed_json, say, table
from shoal.cli.verbs import verb
from shoal.clients.pages import all_items

AlertId = Annotated[int, typer.Argument(metavar="ALERT", min=1, help="The alert's id.")]


def add_to(group: typer.Typer) -> None:
    verb(
        group,
        "shoal alert list",
        "shoal alert list --failed",
        "shoal alert list --kind FAILOVER --limit 10",
        name="list",
    )(list_all)
    verb(group, "shoal alert show 12")(show)
    verb(group, "shoal alert retry 12", "shoal alert retry 12 --channel ops")(retry)


@dataclass(frozen=True)
class AlertFilters:
    """Which alerts: one of three results, and the filters of the API under their names."""

    failed: Annotated[bool, typer.Option("--failed", help="Only those that a channel did not get.")] = False
    waiting: Annotated[bool, typer.Option("--waiting", help="Only those still to be sent somewhere.")] = False
    nobody: Annotated[bool, typer.Option("--nobody", help="Only those that nobody gets.")] = False
    kind: Annotated[
        list[AlertKind] | None, typer.Option(case_sensitive=False, help="Only of this kind; may be repeated.")
    ] = None
    project: Annotated[str | None, typer.Option(help="Only of this project.")] = None
    workflow: Annotated[str | None, typer.Option(help="Only of workflows of this name.")] = None
    run: Annotated[int | None, typer.Option(min=0, help="Only of this run.")] = None

    def given(self) -> dict[str, object]:
        """The filters by the names of the API. Raises `Refused` for two results."""
        others = {**vars(self), "kind": self.kind or None}
        flags = {"FAILED": others.pop("failed"), "WAIT": others.pop("waiting"), "NOBODY": others.pop("nobody")}
        results = [name for name, is_wanted in flags.items() if is_wanted]
        if len(results) > 1:
            raise Refused("give only one of --failed, --waiting and --nobody")
        return {**others, "result": results[0] if results else None}


async def list_all(
    call: Invocation,
    filters: AlertFilters,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many.")] = 50,
) -> None:
    """List the alerts, newest first, with the result of each."""
    asked = history.AlertQuery.read(**filters.given())
    async with call.client() as client:
        found = await all_items(lambda page: client.ask(history.list_alerts, page), asked, limit)
        await ALERTS.show(call, client, found)


async def show(call: Invocation, alert: AlertId) -> None:
    """Show an alert: its facts, and its delivery on each channel."""
    async with call.client() as client:
        now = (await client.ask(clock.read_clock)).now
        found = await client.ask(history.get_alert, alert)
    if printed_json(call, found):
        return
    say(f"alert {found.id}  {found.kind}  {found.severity}  {when(found.created_at, now, utc=call.utc)}")
    say(plain(found.subject))
    for name, value in found.facts.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        say(f"  {plain(name)}: {plain(text[:500])}")
    reason = f": {plain(found.state_reason)}" if found.state_reason else ""
    say(f"group {plain(found.group)}: {found.state}{reason}")
    if found.deliveries:
        say()
        table(
            Column("CHANNEL", [each.channel for each in found.deliveries]),
            Column("RESULT", [each.state for each in found.deliveries]),
            Column("TRIES", [each.tries for each in found.deliveries], right=True, keep=2),
            Column("SENT", [when(each.sent_at, now, utc=call.utc) for each in found.deliveries], right=True, keep=1),
            Column(
                "NEXT TRY", [past_or_ahead(each.next_try_at, now, utc=call.utc) for each in found.deliveries], keep=0
            ),
            Column("WHY", [each.error or "" for each in found.deliveries], sentence=True),
        )
    if found.state == "NOBODY" or any(each.state == "FAILED" for each in found.deliveries):
        hint(f"Send it again: shoal alert retry {found.id}")


async def retry(
    call: Invocation,
    alert: AlertId,
    channel: Annotated[str | None, typer.Option(help="Only on this channel.")] = None,
) -> None:
    """Have an alert sent again on the channels that did not get it, or to its group if nobody got it."""
    again = await call.ask(history.retry_alert, alert, history.RetryAlert.read(channel=channel))
    said = f"Alert {alert} is sent again on {counted(again.channels, 'channel')}."
    print_result(call, answer_fields(again), said, f"What becomes of it: shoal alert show {alert}")


def _result(alert: history.AlertAnswer) -> str:
    """The result in words, such as `sent`, `2 sent, 1 FAILED`, or `NOBODY`."""
    if alert.state != "EXPANDED":
        return alert.state
    words = {"SENT": "sent", "GROUPED": "sent", "WAIT": "waits", "SILENCED": "silenced", "FAILED": "FAILED"}
    counts = Counter(words.get(each.state, each.state) for each in alert.deliveries)
    if len(counts) == 1 and alert.deliveries:
        return next(iter(counts))
    return ", ".join(f"{number} {word}" for word, number in sorted(counts.items())) or "-"


ALERTS: Listing[history.AlertAnswer] = Listing(
    (
        Field("ALERT", lambda each: each.id, right=True),
        Field("WHEN", lambda each: each.created_at, right=True, keep=3),
        Field("KIND", lambda each: each.kind, keep=1),
        Field("GROUP", lambda each: each.group, keep=0),
        Field("RESULT", _result),
        Field("WHAT", lambda each: each.subject, sentence=True),
    ),
    none="There is no such alert.",
    then=lambda first: f"What became of one: shoal alert show {first.id}",
)
