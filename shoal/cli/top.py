"""`shoal top`: the present state of the cluster: masters, workers, what waits, and the last runs."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import typer

from model.errors import Denied, Unavailable
from service.cluster import clock, command_queue, members
from service.runs import answers, listing, requests
from service.slots import claims as cluster_claims
from service.words import exact
from shoal.cli import output, top_view
from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb
from shoal.clients.client import Client

EVERY_S = 1.0
ANSWER_WITHIN_S = 3.0
"""Seconds after which a server counts as away; it is asked again."""
RUNS_SHOWN = 15
QUIT = b"qQ\x04"


def add_to(app: typer.Typer) -> None:
    verb(app, "shoal top", "shoal top --once")(top)


@dataclass(frozen=True)
class Frame:
    """The state at `now`, the database's time."""

    now: datetime
    slots: members.SlotsAnswer
    claims: Sequence[cluster_claims.ClaimsAnswer]
    workers: Sequence[members.NodeAnswer]
    queue: command_queue.QueueAnswer
    runs: Sequence[answers.RunAnswer]


async def top(
    call: Invocation, once: Annotated[bool, typer.Option("--once", help="Print one picture, and end.")] = False
) -> None:
    """Show masters, workers, the queue and the last runs, once a second, until q or Ctrl-C.

    Where standard output is no terminal, or with --json, it is one picture.
    """
    async with call.client() as client:
        if not (once or call.as_json) and sys.stdout.isatty():
            await _live(client)
            return
        frame = await _read(client)
    if call.as_json:
        output.print_json(_fields_of(frame))
        return
    console = output.console()
    with console.capture() as captured:
        console.print(top_view.drawn(frame, console.width))
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


async def _read(client: Client) -> Frame:
    """Read the present state. The answers follow each other, so they are not of one moment."""
    return Frame(
        now=(await client.ask(clock.read_clock)).now,
        slots=await client.ask(members.get_slots),
        claims=(await client.ask(cluster_claims.list_claims)).items,
        workers=(await client.ask(members.list_workers)).items,
        queue=await client.ask(command_queue.get_queue, command_queue.QueueQuery(limit=1)),
        runs=(await client.ask(listing.list_runs, requests.RunQuery(limit=RUNS_SHOWN))).items,
    )


def _fields_of(frame: Frame) -> dict[str, Any]:
    return {
        "now": exact(frame.now),
        "slots": output.answer_fields(frame.slots),
        "claims": [output.answer_fields(each) for each in frame.claims],
        "workers": [output.answer_fields(each) for each in frame.workers],
        "queue": output.answer_fields(frame.queue),
        "runs": [output.answer_fields(each) for each in frame.runs],
    }


async def _live(client: Client) -> None:
    """Show the state until the user ends it, even while the server is away."""
    ended = asyncio.Event()
    frame = None
    with _keys(ended), top_view.whole_screen() as show:
        while not ended.is_set():
            fault = None
            try:
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    frame = await _read(client)
            except Denied:
                raise
            except TimeoutError:
                fault = f"no answer within {ANSWER_WITHIN_S:g} s"
            except Unavailable as error:
                fault = str(error)
            show(frame, fault)
            try:
                async with asyncio.timeout(EVERY_S):
                    await ended.wait()
            except TimeoutError:
                continue


@contextmanager
def _keys(ended: asyncio.Event) -> Iterator[None]:
    """Set `ended` when the user presses q; without a terminal to read from, only Ctrl-C ends it."""
    if not sys.stdin.isatty():
        yield
        return
    loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()

    def read() -> None:
        if not (typed := os.read(terminal, 64)) or any(key in QUIT for key in typed):
            ended.set()

    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    loop.add_reader(terminal, read)
    try:
        yield
    finally:
        loop.remove_reader(terminal)
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
