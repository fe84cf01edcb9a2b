"""`shoal alert silence list/add/end`: times in which alerts are kept and not sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from model.alerts.alerts import AlertKind
from model.time.durations import read_duration
from service.alerts import silences as alert_silences
from service.cluster import clock
from service.words import past_or_ahead, plain
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import answer_fields, print_result
from shoal.cli.verbs import new_group, verb


def add_to(alert: typer.Typer) -> None:
    group = new_group(alert, "silence", "Times in which alerts are kept and not sent.")
    verb(group, "shoal alert silence list", "shoal alert silence list --past", name="list")(list_all)
    verb(
        group,
        'shoal alert silence add 2h --reason "the warehouse moves"',
        "shoal alert silence add 1h --project etl --workflow load",
        name="add",
    )(add)
    verb(group, "shoal alert silence end 3")(end)


@dataclass(frozen=True)
class Silence:
    """The begin, scope and reason of a silence, by the names of the API."""

    starts_at: Annotated[str | None, typer.Option("--from", help="When it begins: 2026-01-31T22:00:00Z; else now.")] = (
        None
    )
    project: Annotated[str | None, typer.Option(help="Only alerts of this project.")] = None
    workflow: Annotated[str | None, typer.Option(help="Only of this workflow of the project.")] = None
    kind: Annotated[AlertKind | None, typer.Option(case_sensitive=False, help="Only alerts of this kind.")] = None
    reason: Annotated[str, typer.Option(help="Why, in a sentence that everybody sees.")] = ""


async def add(
    call: Invocation,
    span: Annotated[str, typer.Argument(metavar="DURATION", help="How long: 30m, 2h, 1d.")],
    silence: Silence,
) -> None:
    """Silence alerts for a time: they are kept, and not sent."""
    lasts_s = read_duration(span, "the duration").total_seconds()
    body = alert_silences.NewSilence.read(lasts_s=lasts_s, **vars(silence))
    async with call.client() as client:
        made = await client.ask(alert_silences.add_silence, body)
        now = (await client.ask(clock.read_clock)).now
    until = past_or_ahead(made.ends_at, now, utc=call.utc)
    said = f"Silence {made.id} covers {_what(made)}; it ends {until}."
    print_result(call, answer_fields(made), said, f"End it now: shoal alert silence end {made.id}")


async def end(call: Invocation, silence: Annotated[int, typer.Argument(min=1, help="The silence's id.")]) -> None:
    """End a silence now; one that has not begun is deleted. What it has silenced stays so."""
    ended = await call.ask(alert_silences.end_silence, silence)
    print_result(call, answer_fields(ended), f"Silence {silence} is over.")


async def list_all(
    call: Invocation, past: Annotated[bool, typer.Option("--past", help="Those too that are over.")] = False
) -> None:
    """List the silences, the newest first."""
    query = alert_silences.SilencesQuery(past=past)
    async with call.client() as client:
        await SILENCES.show(call, client, (await client.ask(alert_silences.list_silences, query)).items)


def _what(silence: alert_silences.SilenceAnswer) -> str:
    kind = f"{silence.kind} alerts" if silence.kind else "all alerts"
    if silence.workflow is not None:
        return f'{kind} of workflow "{plain(silence.workflow)}" of project "{plain(silence.project or "")}"'
    return f'{kind} of project "{plain(silence.project)}"' if silence.project is not None else kind


SILENCES: Listing[alert_silences.SilenceAnswer] = Listing(
    (
        Field("SILENCE", lambda each: each.id, right=True),
        Field("COVERS", _what, sentence=True),
        Field("FROM", lambda each: each.starts_at, right=True),
        Field("UNTIL", lambda each: each.ends_at, right=True),
        Field("BY", lambda each: each.created_by, keep=1),
        Field("REASON", lambda each: each.reason or "-", keep=0, sentence=True),
    ),
    none="There is no silence.",
    first="Make one: shoal alert silence add 2h --project PROJECT",
)
