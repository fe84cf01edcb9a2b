"""`shoal user audit`: who changed what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import typer

from model.accounts.audits import Outcome
from model.time.durations import read_duration
from service.accounts import audit_pages
from service.cluster import clock
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.verbs import verb
from shoal.clients.pages import all_items


def add_to(group: typer.Typer) -> None:
    verb(
        group,
        "shoal user audit",
        "shoal user audit --actor anna --since 7d",
        "shoal user audit --project etl --outcome DENIED",
    )(audit)


@dataclass(frozen=True)
class AuditFilters:
    """Which entries, by the names of the API."""

    project: Annotated[str | None, typer.Option(help="Only of this project.")] = None
    actor: Annotated[str | None, typer.Option(help="Only by this account, user or node.")] = None
    action: Annotated[str | None, typer.Option(help="Only this operation, such as start_run.")] = None
    object_kind: Annotated[
        str | None, typer.Option("--kind", help="Only about objects of this kind, such as account.")
    ] = None
    object_id: Annotated[str | None, typer.Option("--id", help="With --kind: only about this object.")] = None
    outcome: Annotated[Outcome | None, typer.Option(case_sensitive=False, help="Only DONE, or DENIED.")] = None


async def audit(
    call: Invocation,
    filters: AuditFilters,
    since: Annotated[str | None, typer.Option(help="Only of this time: 30s, 15m, 12h, 7d.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many.")] = 50,
) -> None:
    """List who changed what, newest first; and who was denied what."""
    async with call.client() as client:
        now = (await client.ask(clock.read_clock)).now
        began = None if since is None else now - min(read_duration(since, "--since"), timedelta(days=36_500))
        asked = audit_pages.AuditQuery.read(**vars(filters), since=began)
        found = await all_items(lambda page: client.ask(audit_pages.list_audit, page), asked, limit)
        await ENTRIES.show(call, client, found)


def _subject(entry: audit_pages.AuditAnswer) -> str:
    return " ".join(filter(None, (entry.object_kind, entry.object_id, entry.object_name)))


def change_of(entry: audit_pages.AuditAnswer) -> str:
    """The values after the change, and the former ones. Pure."""
    before, after = entry.before or {}, entry.after or {}
    said = {name: (_written(before.get(name)), _written(after.get(name))) for name in {**before, **after}}
    return "; ".join(
        f"{name}: {old or '-'} → {new or '-'}" if name in before else f"{name}: {new}"
        for name, (old, new) in said.items()
        if old != new
    )


def _written(value: object) -> str:
    """Format a JSON value for people; empty for an empty value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_written(each)}" for name, each in value.items())
    return str(value)


ENTRIES: Listing[audit_pages.AuditAnswer] = Listing(
    (
        Field("WHEN", lambda each: each.at, right=True),
        Field("WHO", lambda each: each.actor),
        Field("DID", lambda each: each.action),
        Field("", lambda each: "denied" if each.outcome is Outcome.DENIED else ""),
        Field("WHAT", _subject, sentence=True),
        Field("PROJECT", lambda each: each.project or "", keep=2),
        Field("CHANGE", change_of, keep=0, sentence=True),
        Field("FROM", lambda each: each.address or "", keep=1),
    ),
    none="The audit has no such entry.",
)
