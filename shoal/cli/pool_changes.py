"""`shoal pool apply/set-aside/take-back/delete`."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from service.pools import answers, pool_changes, requests
from service.words import counted, plain
from shoal import workflow_files
from shoal.cli.completion import complete_pool, complete_resource
from shoal.cli.invocation import Invocation
from shoal.cli.output import answer_fields, hint, print_result, printed_json, say
from shoal.cli.verbs import verb

PoolName = Annotated[str, typer.Argument(metavar="POOL", help="The pool's name.", autocompletion=complete_pool)]
Resource = Annotated[
    str, typer.Argument(metavar="RESOURCE", help="The resource's name.", autocompletion=complete_resource)
]


def add_to(group: typer.Typer) -> None:
    verb(group, "shoal pool apply examples/pool.yaml", "shoal pool apply proxies.yaml --dry-run")(apply)
    verb(group, 'shoal pool set-aside proxies p3 --reason "blocked by the shop"')(set_aside)
    verb(group, "shoal pool take-back proxies p3")(take_back)
    verb(group, "shoal pool delete proxies")(delete)


async def apply(
    call: Invocation,
    pool_files: Annotated[list[Path], typer.Argument(metavar="FILES", help="YAML files with `kind: pool`.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be saved.")] = False,
    version: Annotated[
        int | None, typer.Option(min=1, help="Refuse it unless the pool has this version now: you changed that one.")
    ] = None,
) -> None:
    """Save pools from YAML files, all or none. What stays in a pool keeps its holder; what is new is given at once."""
    given = [{"name": name, "content": content} for name, content in workflow_files.read_texts(pool_files)]
    saved = (
        await call.ask(
            pool_changes.apply_pools, requests.ApplyPools.read(files=given, dry_run=dry_run, version=version)
        )
    ).pools
    if printed_json(call, saved):
        return
    for each in saved:
        print_saved(each, dry_run=dry_run)
    if not dry_run:
        hint(f"Who holds and who waits: shoal pool show {quote(saved[0].name)}")


async def set_aside(
    call: Invocation,
    pool: PoolName,
    resource: Resource,
    reason: Annotated[str, typer.Option(help="Why, in a sentence that everybody sees.")] = "",
) -> None:
    """Let nobody get a resource, whatever its check finds, until it is taken back. A task that holds it continues."""
    found = await call.ask(
        pool_changes.set_aside_resource, pool, requests.SetAsideResource.read(resource=resource, reason=reason)
    )
    held = " A task holds it, and goes on." if found.is_held else ""
    if found.is_new:
        said = f'"{plain(resource)}" of pool "{pool}" is set aside: nobody gets it until it is taken back.{held}'
    else:
        by, why = plain(found.set_aside_by or "its check"), plain(found.set_aside_why or "")
        said = f'"{plain(resource)}" of pool "{pool}" is set aside already, by {by}: {why}'
    print_result(
        call, answer_fields(found), said, f"Give it again: shoal pool take-back {quote(pool)} {quote(resource)}"
    )


async def take_back(call: Invocation, pool: PoolName, resource: Resource) -> None:
    """Let a resource that is set aside be given again."""
    found = await call.ask(pool_changes.take_resource_back, pool, requests.TakeBackResource.read(resource=resource))
    when = "when the task that holds it has ended" if found.is_held else "from now on"
    said = f'"{plain(resource)}" of pool "{pool}" is given again {when}.'
    if found.set_aside_at is not None:
        said = (
            f'"{plain(resource)}" of pool "{pool}" is set aside by its check still: {plain(found.set_aside_why or "")}'
        )
    again = f"Give it despite that: shoal pool take-back {quote(pool)} {quote(resource)}"
    print_result(call, answer_fields(found), said, again if found.set_aside_at is not None else "")


async def delete(
    call: Invocation,
    pool: PoolName,
    force: Annotated[
        bool, typer.Option("--force", help="Though tasks wait for it; they wait for a new pool of this name then.")
    ] = False,
) -> None:
    """Delete a pool of which no task holds a resource."""
    await call.ask(pool_changes.delete_pool, pool, requests.DeletePool(force=force))
    print_result(call, {"name": pool, "deleted": True}, f'Pool "{pool}" is deleted.', "What is left: shoal pool list")


def print_saved(saved: answers.SavedPool, *, dry_run: bool = False) -> None:
    """Report what changed in a pool of a file."""
    would = "would be " if dry_run else ""
    if not saved.is_new_version:
        said = f"unchanged, version {saved.version}"
    else:
        parts = [
            f"{number} {word}"
            for number, word in ((saved.added, "added"), (saved.removed, "removed"))
            if number and saved.version_before is not None
        ]
        said = f"{would}saved as version {saved.version}" + (f", {' and '.join(parts)}" if parts else "")
        if saved.leaving:
            said += f"; {saved.leaving} of the removed are held, and go when they are given back"
    say(f'Pool "{saved.name}" ({counted(saved.total, "resource")}): {said}.')
