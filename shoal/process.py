"""Runs one role as a process: signals, exit codes, and its reserved address.

The first SIGTERM or SIGINT requests a graceful stop, a second one ends the process at once. SIGHUP makes it read files
of secrets and certificates again. If it came because the terminal was closed, which may send several, it requests a
graceful stop too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import structlog

from dao.secrets import kept
from metrics.health import Health
from model.errors import Refused
from node.address import advertised, joined
from shoal.hangups import has_terminal
from shoal.supervisor import Supervisor

log = structlog.get_logger()

HARD_STOP_EXIT_CODE = 130


async def until_stopped(
    serve: Callable[[asyncio.Event], Coroutine[Any, Any, None]],
    leave_within_s: float,
    health: Health,
) -> None:
    """Run `serve(stop)`; the first signal sets `stop`. Errors of `serve` are raised unchanged.

    Args:
        leave_within_s: seconds that a graceful stop may take; then the process ends as after a second signal. A server
            that hangs must not delay a stop by the sum of all its timeouts.
        serve: returns when it has stopped; must tolerate cancellation until it has set `health.begun`, since there is
            something to stop gracefully. A signal before that cancels it: it may be waiting for a server that is down.
            It may set `stop` itself.
        health: reported to the supervisor, if there is one.
    """
    stop, supervisor = asyncio.Event(), Supervisor()
    serving = asyncio.create_task(serve(stop))

    def stop_hard(why: str) -> None:
        log.warning("stopped_hard", why=why, so="what it owned is failed over by others")
        os._exit(HARD_STOP_EXIT_CODE)

    signals = 0

    def stop_softly() -> None:
        stop.set()
        if not health.begun.is_set():
            serving.cancel()

    def on_signal() -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            stop_hard("a second signal came")
        stop_softly()

    async def limit() -> None:
        await stop.wait()
        supervisor.stopping()
        await asyncio.sleep(leave_within_s)
        stop_hard(f"it could not leave within {leave_within_s:g} s")

    loop = asyncio.get_running_loop()
    beside = [loop.create_task(each) for each in (limit(), supervisor.tell(health))]
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    had_terminal = has_terminal()

    def on_hangup() -> None:
        if had_terminal and not has_terminal():
            stop_softly()
        elif not stop.is_set():
            read_again()

    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup: it is to outlive its terminal
        loop.add_signal_handler(signal.SIGHUP, on_hangup)
    try:
        with suppress(asyncio.CancelledError):
            await serving
    finally:
        for each in beside:
            each.cancel()


def read_again() -> None:
    """Read files again: faults are logged, and the former values stay in use."""
    is_right = kept.read_all_again()
    log.info("files_read_again", all_right=is_right)


def reserve_address(host: str, port: int) -> tuple[str, socket.socket]:
    """Reserve `port` on this machine for as long as the socket lives; it accepts no connections.

    Host name and port are a master's default name in the cluster, so two processes must not share them. Port 0 takes
    any free one. The address is for people: `host`, or the machine's name for the wildcard address (`0.0.0.0`).
    Raises `Refused` when another process has it.
    """
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    shown = advertised(host, "0.0.0.0")  # noqa: S104 - nothing is bound to it
    try:
        holder.bind(("127.0.0.1", port))
    except OSError as error:
        holder.close()
        raise Refused(
            f"the address {joined(shown, port)} cannot be used ({error.strerror}); "
            f"another master may have it: stop that one, or give another --port"
        ) from None
    return joined(shown, holder.getsockname()[1]), holder
