"""`shoal pool list/show/export`: what is free, who holds what, and who waits in which order."""

from __future__ import annotations

import sys
from datetime import datetime
from shlex import quote
from typing import Annotated

import typer

from model.errors import Forbidden
from service import paging
from service.cluster import clock
from service.pools import answers, requests
from service.pools import pools as resource_pools
from service.words import ahead, counted, period, plain, when
from shoal.cli import output, pool_changes
from shoal.cli.completion import complete_pool
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import Column
from shoal.cli.verbs import new_group, verb
from shoal.clients.pages import all_items

PoolName = Annotated[str, typer.Argument(metavar="POOL", help="The pool's name.", autocompletion=complete_pool)]
SHOWN_MAX = 1_000


def add_to(app: typer.Typer) -> None:
    group = new_group(app, "pool", "Scarce things that tasks share: proxies, licences, a number.")
    verb(group, "shoal pool list", "shoal pool list --json", name="list")(list_all)
    verb(group, "shoal pool show proxies", "shoal pool show proxies --limit 1000")(show)
    verb(group, "shoal pool export proxies > proxies.yaml")(export)
    pool_changes.add_to(group)


async def list_all(call: Invocation) -> None:
    """List the resource pools: how many of each are free, taken or set aside, and how many tasks wait."""
    async with call.client() as client:
        found = await all_items(lambda page: client.ask(resource_pools.list_pools, page), requests.PoolQuery())
        await POOLS.show(call, client, found)


async def show(
    call: Invocation,
    pool: PoolName,
    limit: Annotated[int, typer.Option(min=1, max=SHOWN_MAX, help="At most this many resources, and who wait.")] = 50,
) -> None:
    """Show a pool: who holds each resource and until when, what is set aside and why, and who waits in which order."""
    async with call.client() as client:
        now = (await client.ask(clock.read_clock)).now
        head = await client.ask(resource_pools.get_pool, pool)
        resources = await client.ask(resource_pools.list_resources, pool, requests.ResourceQuery(limit=limit))
        line = await client.ask(resource_pools.get_pool_line, pool, requests.LineQuery(limit=limit))
    if call.as_json:
        shown = output.answer_fields(head)
        more = {"more_resources": resources.has_more, "more_wait": line.has_more}
        output.print_json({**shown, "resources": _items(resources), "line": _items(line), **more})
        return
    _print_head(call, head, now)
    _print_resources(call, resources.items, now)
    if resources.has_more:
        output.say(f"and more resources{_how_many_more(pool, limit)}")
    _print_line(call, pool, line.items, now)
    if line.has_more:
        output.say(f"and more that wait{_how_many_more(pool, limit)}")
    output.hint(f"Give one to nobody: shoal pool set-aside {quote(pool)} RESOURCE   Change it: shoal pool export POOL")


async def export(call: Invocation, pool: PoolName) -> None:
    """Print a pool as YAML, with the data of its resources; `pool apply` reads it as the same pool."""
    found = await call.ask(resource_pools.get_pool, pool)
    if found.yaml is None:
        raise Forbidden(f'the file of pool "{pool}" may contain passwords: only an admin gets it')
    if call.as_json:
        output.print_json({"name": found.name, "version": found.version, "yaml": found.yaml})
        return
    sys.stdout.write(found.yaml)


def _how_many_more(pool: str, limit: int) -> str:
    return (
        f": shoal pool show {quote(pool)} --limit {SHOWN_MAX}" if limit < SHOWN_MAX else "; the API gives all of them"
    )


def _items(
    page: paging.PageOf[answers.ResourceAnswer] | paging.PageOf[answers.WaitingTaskAnswer],
) -> list[dict[str, object]]:
    return [output.answer_fields(each) for each in page.items]


def _print_head(call: Invocation, pool: answers.PoolContent, now: datetime) -> None:
    changed = f"changed {when(pool.changed_at, now, utc=call.utc)} by {plain(pool.changed_by)}"
    output.say(f"{pool.name}  {_kind(pool.kind)}  version {pool.version}  {changed}")
    if pool.description:
        output.say(plain(pool.description))
    states = (
        (pool.free, "free"),
        (pool.taken, "taken"),
        (pool.set_aside, "set aside"),
        (pool.checking, "being checked"),
    )
    shown = [f"{number} {word}" for number, word in states if number or word == "free"]
    leaving = f"; {pool.removed} removed, and still held" if pool.removed else ""
    waiting = (
        f"{counted(pool.waiting, 'task')} {'waits' if pool.waiting == 1 else 'wait'}"
        if pool.waiting
        else "no task waits"
    )
    output.say(f"{counted(pool.total, 'resource')}: {', '.join(shown)}{leaving}. {waiting[:1].upper()}{waiting[1:]}.")
    if pool.check is not None:
        how = "a script" if pool.check.kind == "SCRIPT" else "a URL"
        often = f"every {period(pool.check.every_s)}" if pool.check.every_s else "before each use"
        output.say(f"Checked by {how}, {often}, within {period(pool.check.timeout_s)}.")


def _print_resources(
    call: Invocation, resources: list[answers.ResourceAnswer] | tuple[answers.ResourceAnswer, ...], now: datetime
) -> None:
    if not resources:
        return
    output.say()
    output.table(
        Column("RESOURCE", [each.name for each in resources]),
        Column("STATE", [output.state(each.state) for each in resources]),
        Column("HELD BY", [_holder(each) for each in resources], keep=6),
        Column("WORKER", [each.worker or "-" for each in resources], keep=3),
        Column("SINCE", [when(_since(each), now, utc=call.utc) for each in resources], right=True, keep=4),
        Column("FREE", [_free(each) for each in resources], right=True, keep=5),
        Column("WHY", [_why(each) for each in resources], keep=2, sentence=True),
    )


def _print_line(
    call: Invocation,
    pool: str,
    line: list[answers.WaitingTaskAnswer] | tuple[answers.WaitingTaskAnswer, ...],
    now: datetime,
) -> None:
    if not line:
        return
    output.say()
    output.table(
        Column("PLACE", [each.place for each in line], right=True),
        Column("TASK", [_task(each.task) for each in line]),
        Column("NEEDS", [each.needed for each in line], right=True),
        Column("PRIORITY", [each.priority for each in line], keep=2),
        Column("GROUP", [each.worker_group for each in line], keep=1),
        Column("WAITS SINCE", [when(each.queued_at, now, utc=call.utc) for each in line], right=True, keep=3),
        Column("NEEDS BESIDES", [_besides(each, pool) for each in line], keep=0),
    )


def _holder(resource: answers.ResourceAnswer) -> str:
    return _task(resource.task) if resource.taken_at is not None else "-"


def _task(task: answers.TaskOfRunAnswer | None) -> str:
    """The task as verbs take it, such as `12/load`; a task of a hidden project has no name."""
    return f"{task.run_id}/{task.name}" if task is not None else "(hidden)"


def _since(resource: answers.ResourceAnswer) -> datetime | None:
    return resource.taken_at or resource.set_aside_at or resource.free_since


def _free(resource: answers.ResourceAnswer) -> str:
    """When it is returned, by the usual duration of such tasks; a stream returns it only when it is stopped."""
    if resource.taken_at is None:
        return "-"
    if resource.task is not None and resource.task.is_stream:
        return "when stopped"
    return f"about {ahead(resource.left_s)}" if resource.left_s is not None else "at its end"


def _why(resource: answers.ResourceAnswer) -> str:
    if resource.set_aside_at is None:
        return "removed, and still held" if resource.state == "REMOVED" else ""
    by = f"by {resource.set_aside_by}" if resource.set_aside_by else "by its check"
    return f"set aside {by}: {resource.set_aside_why}"


def _besides(waiting: answers.WaitingTaskAnswer, pool: str) -> str:
    """Its needs of other pools: it begins only when it gets all at once."""
    others = sorted((name, number) for name, number in waiting.needs.items() if name != pool)
    return ", ".join(f"{number} of {name}" for name, number in others) or "-"


def _kind(kind: str) -> str:
    return "named" if kind == "NAMED" else "count"


POOLS: Listing[answers.PoolAnswer] = Listing(
    (
        Field("POOL", lambda each: each.name),
        Field("KIND", lambda each: _kind(each.kind), keep=1),
        Field("FREE", lambda each: each.free, right=True),
        Field("TAKEN", lambda each: each.taken, right=True),
        Field("SET ASIDE", lambda each: each.set_aside, right=True, keep=3),
        Field("CHECKING", lambda each: each.checking, right=True, keep=2),
        Field("TOTAL", lambda each: each.total, right=True),
        Field("WAITING", lambda each: each.waiting, right=True),
        Field("ABOUT", lambda each: each.description or "-", keep=0, sentence=True),
    ),
    none="There is no resource pool yet.",
    first="Make one: shoal pool apply FILE",
    then=lambda first: f"Who holds and who waits: shoal pool show {quote(first.name)}",
)
