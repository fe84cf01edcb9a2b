"""`shoal top`: the cluster as it is now: masters, workers, what waits, and the last runs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from shoal.cli.top_view import Frame
    from shoal.clients.client import Client

EVERY_S = 1.0
ANSWER_WITHIN_S = 3.0
"""After which a server counts as away; it is asked again."""
RUNS_SHOWN = 15
QUIT = b"qQ\x04"


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "shoal top", "shoal top --once")(top)


async def top(
    call: Invocation, once: Annotated[bool, typer.Option("--once", help="Print one picture, and end.")] = False
) -> None:
    """Show masters, workers, the queue and the last runs, once a second, until q or Ctrl-C.

    Where standard output is no terminal, or with --json, it is one picture.
    """
    from shoal.cli import output
    from shoal.cli.top_view import drawn, fields_of

    async with call.client() as client:
        if not (once or call.as_json) and sys.stdout.isatty():
            await _live(client)
            return
        frame = await _read(client)
    if call.as_json:
        output.print_json(fields_of(frame))
        return
    console = output.console()
    with console.capture() as captured:
        console.print(drawn(frame, console.width))
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


async def _read(client: Client) -> Frame:
    """What is so now. The answers follow each other, so they are not of one moment."""
    from service.cluster.claims import list_claims
    from service.cluster.clock import read_clock
    from service.cluster.command_queue import QueueQuery, get_queue
    from service.cluster.members import get_slots, list_workers
    from service.runs.listing import list_runs
    from service.runs.requests import RunQuery
    from shoal.cli.top_view import Frame

    return Frame(
        now=(await client.ask(read_clock)).now,
        slots=await client.ask(get_slots),
        claims=(await client.ask(list_claims)).items,
        workers=(await client.ask(list_workers)).items,
        queue=await client.ask(get_queue, QueueQuery(limit=1)),
        runs=(await client.ask(list_runs, RunQuery(limit=RUNS_SHOWN))).items,
    )


async def _live(client: Client) -> None:
    """Show it until the user ends it, also while the server is away."""
    from rich.console import Console
    from rich.live import Live

    from model.errors import Denied, Unavailable
    from shoal.cli.top_view import drawn

    console = Console(markup=False, highlight=False, emoji=False)
    ended = asyncio.Event()
    frame = None
    with _keys(ended), Live(console=console, screen=True, auto_refresh=False) as live:
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
            live.update(drawn(frame, console.width, height=console.height, fault=fault, is_live=True), refresh=True)
            try:
                async with asyncio.timeout(EVERY_S):
                    await ended.wait()
            except TimeoutError:
                continue


@contextmanager
def _keys(ended: asyncio.Event) -> Iterator[None]:
    """Set `ended` when the user presses q; without a terminal to read from only Ctrl-C ends it."""
    if not sys.stdin.isatty():
        yield
        return
    import os
    import termios
    import tty

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
