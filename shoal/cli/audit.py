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
from service.words import when
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column, needs_table, table
from shoal.cli.verbs import verb
from shoal.clients.pages import all_items


def add_to(group: typer.Typer) -> None:
    """Add this verb."""
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
        found = await all_items(
            lambda size, cursor: client.ask(
                audit_pages.list_audit, asked.model_copy(update={"limit": size, "cursor": cursor})
            ),
            limit,
        )
    if not needs_table(call, found, "The audit has no such entry."):
        return
    table(
        Column("WHEN", [when(each.at, now, utc=call.utc) for each in found], right=True),
        Column("WHO", [each.actor for each in found]),
        Column("DID", [each.action for each in found]),
        Column("", ["denied" if each.outcome is Outcome.DENIED else "" for each in found]),
        Column("WHAT", [_subject(each) for each in found], sentence=True),
        Column("PROJECT", [each.project or "" for each in found], keep=2),
        Column("CHANGE", [change_of(each) for each in found], keep=0, sentence=True),
        Column("FROM", [each.address or "" for each in found], keep=1),
    )


def _subject(entry: audit_pages.AuditAnswer) -> str:
    return " ".join(filter(None, (entry.object_kind, entry.object_id, entry.object_name)))


def change_of(entry: audit_pages.AuditAnswer) -> str:
    """What differs after it, and what it was before. Pure."""
    before, after = entry.before or {}, entry.after or {}
    said = {name: (_written(before.get(name)), _written(after.get(name))) for name in {**before, **after}}
    return "; ".join(
        f"{name}: {old or '-'} → {new or '-'}" if name in before else f"{name}: {new}"
        for name, (old, new) in said.items()
        if old != new
    )


def _written(value: object) -> str:
    """A value of JSON as a person would write it; empty if there is nothing in it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_written(each)}" for name, each in value.items())
    return str(value)
