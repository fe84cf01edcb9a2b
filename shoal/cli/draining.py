"""The verbs `drain` and `undrain` of `shoal master` and `shoal worker`."""

from __future__ import annotations

import asyncio
import time
from shlex import quote
from typing import Annotated

import typer

from model.cluster import nodes
from model.errors import Refused
from service.cluster import drains, members
from service.words import ago, counted, plain
from shoal.cli import exit_codes, output, values
from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb
from shoal.clients.client import Client
from shoal.clients.waiting import poll

CONFIRM_WITHIN_S = 10.0
"""Longer than a master takes to hand over its runs and begin its next life."""
SILENT_S_MAX = 60.0
"""Without --timeout, a wait ends when a node has not confirmed, or has not beaten, for this long."""
ABSENT_S = 3.0
"""A drained master is absent this long between two lives."""

NodeName = Annotated[str, typer.Argument(metavar="NAME", help="Its name or address.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until nothing runs there.")]


def add_to_masters(group: typer.Typer) -> None:
    verb(group, "shoal master drain NAME", "shoal master drain NAME --wait", name="drain")(drain_master)
    verb(group, "shoal master undrain NAME", name="undrain")(undrain_master)


def add_to_workers(group: typer.Typer) -> None:
    verb(group, "shoal worker drain NAME", "shoal worker drain NAME --wait --timeout 5m", name="drain")(drain_worker)
    verb(group, "shoal worker undrain NAME", name="undrain")(undrain_worker)


async def drain_master(call: Invocation, name: NodeName, wait: Wait = False, timeout: values.Timeout = None) -> None:
    """Give the slot and the runs of a master to others; it takes nothing until it is undrained, even if it restarts."""
    await _drain(call, nodes.NodeKind.MASTER, name, values.Waiting(wait, timeout))


async def undrain_master(call: Invocation, name: NodeName) -> None:
    """Let a drained master take a slot and commands again."""
    await _undrain(call, nodes.NodeKind.MASTER, name)


async def drain_worker(call: Invocation, name: NodeName, wait: Wait = False, timeout: values.Timeout = None) -> None:
    """Let the tasks of a worker end, and its streams go on elsewhere at once; it begins no others until undrained.

    A restart does not change that.
    """
    await _drain(call, nodes.NodeKind.WORKER, name, values.Waiting(wait, timeout))


async def undrain_worker(call: Invocation, name: NodeName) -> None:
    """Let a drained worker take tasks again."""
    await _undrain(call, nodes.NodeKind.WORKER, name)


async def _drain(call: Invocation, kind: nodes.NodeKind, name: str, waiting: values.Waiting) -> None:
    wait, limit_s = waiting.wait, waiting.limit_s()
    operation = drains.drain_master if kind is nodes.NodeKind.MASTER else drains.drain_worker
    async with call.client() as client:
        answer = await client.ask(operation, name, drains.WaitForDrain(wait=CONFIRM_WITHIN_S))
        if wait and not call.as_json:
            output.say(_sentence(answer))
        if wait and answer.is_alive:
            answer = await _until_empty(client, answer, limit_s)
    if call.as_json:
        output.print_json(output.answer_fields(answer))
    elif wait:
        output.say(f"{plain(answer.name)} is empty.")
    else:
        output.say(_sentence(answer))
        who = f"shoal {kind.lower()}"
        again = f"Take work again: {who} undrain {quote(answer.name)}"
        output.hint(f"Wait until it is empty: {who} drain {quote(answer.name)} --wait   {again}")
    if not wait and not answer.is_done:
        raise typer.Exit(exit_codes.FAILED)


async def _undrain(call: Invocation, kind: nodes.NodeKind, name: str) -> None:
    operation = drains.undrain_master if kind is nodes.NodeKind.MASTER else drains.undrain_worker
    answer = await call.ask(operation, name)
    shown = plain(answer.name)
    if not answer.is_new:
        sentence = f"{shown} was not drained."
    elif answer.is_alive:
        sentence = f"{shown} takes work again."
    else:
        sentence = f"{shown} is no longer drained. It does not run; it takes work when it is started."
    output.print_result(call, output.answer_fields(answer), sentence)


async def _until_empty(client: Client, answer: drains.DrainAnswer, limit_s: float | None) -> drains.DrainAnswer:
    """Wait until nothing runs there: the node has confirmed that it begins nothing and has nothing, or is gone.

    Raises `typer.Exit` after `limit_s`, with the reason.
    """
    seen_s = well_s = time.monotonic()
    why = "the server did not answer"

    async def read() -> drains.DrainAnswer | None:
        nonlocal seen_s, well_s, why
        row = await _row(client, answer)
        if row is None:
            is_gone = time.monotonic() - seen_s > ABSENT_S
            return answer.model_copy(update={"is_alive": False, "running": None}) if is_gone else None
        seen_s = time.monotonic()
        if row.drain is None:
            raise Refused(f"{answer.name} was undrained meanwhile, and takes work again")
        if row.drain.confirmed and row.beat_age_s < SILENT_S_MAX:
            well_s = seen_s
        elif limit_s is None and seen_s - well_s > SILENT_S_MAX:
            raise TimeoutError
        if row.drain.confirmed and row.running == 0:
            return answer.model_copy(update={"running": 0, "drain": row.drain})
        why = _why_not_empty(row)
        return None

    try:
        async with asyncio.timeout(limit_s):
            return await poll(read, lambda error: output.say(f"waiting for the server: {error}", style="dim"))
    except TimeoutError:
        typer.echo(f"shoal: {plain(answer.name)} is not empty: {why}", err=True)
        raise typer.Exit(exit_codes.FAILED) from None


def _why_not_empty(row: members.NodeAnswer) -> str:
    beat = f"its last beat was {ago(row.beat_age_s)}"
    if row.drain is None or not row.drain.confirmed:
        return f"it has not confirmed the drain, and {beat}: it is dead, frozen, cut off, or too old"
    running = row.running or 0
    kind = "run" if isinstance(row, members.MasterAnswer) else "task"
    return f"{counted(running, kind)} still run{'s' * (running == 1)} there, and {beat}"


async def _row(client: Client, answer: drains.DrainAnswer) -> members.NodeAnswer | None:
    """The row of its latest life, if it is alive."""
    if answer.kind is nodes.NodeKind.MASTER:
        items = (await client.ask(members.list_masters)).items
    else:
        items = (await client.ask(members.list_workers)).items
    return next((row for row in reversed(items) if row.name == answer.name), None)


def _sentence(answer: drains.DrainAnswer) -> str:
    assert answer.drain is not None
    name, is_master = plain(answer.name), answer.kind is nodes.NodeKind.MASTER
    already = "" if answer.is_new else f" already, {ago(answer.drain.age_s)} by {plain(answer.drain.asked_by)}"
    if not answer.is_alive:
        return (
            f"{name} is drained{already}. It does not run; when it is started it takes nothing until it is undrained."
        )
    if not answer.drain.confirmed:
        return (
            f"{name} is asked to drain{already}, and has not confirmed it yet: it may still begin what it claimed "
            f"before. Is it asleep, or cut off from the database? When it wakes, it takes nothing new."
        )
    if is_master:
        said = f"{name} is drained{already}: it has no slot and takes no commands"
        nobody = ". No other master does, so these wait, and no run continues."
        alone = nobody if answer.alone else ", and other masters go on with its runs."
    else:
        running = answer.running or 0
        left = f"{counted(running, 'task')} still run{'s' * (running == 1)} there" if running else "nothing runs there"
        said = f"{name} is drained{already}: it begins no more tasks, and {left}."
        groups = ", ".join(map(plain, answer.alone))
        alone = f" No other worker of {groups} takes tasks, so what is queued there waits." if groups else ""
    return said + alone
