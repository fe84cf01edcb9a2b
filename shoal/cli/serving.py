"""Shared by the verbs that run a process: its secrets, log, stop and exit code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import typer

from model.errors import Denied, Fenced, Outdated, Unavailable
from shoal import process, secrecy
from shoal.cli import exit_codes
from shoal.config import logging, metrics

if TYPE_CHECKING:
    from metrics.health import Health
    from shoal.cli.invocation import Invocation
    from shoal.config.settings import Settings

LEAVE_S_MAX = 20.0
"""How long a graceful stop may take, besides the time for running work."""


def begin(call: Invocation, flags: dict[str, Any], *, has_keys: bool = True) -> Settings:
    """Load the settings of a role, hide its secrets from other processes, and set up its log.

    Args:
        call: the call.
        flags: its own options, by the names of the settings.
        has_keys: whether it uses the keys of stored secrets.
    """
    secrecy.hide()
    if not has_keys:
        secrecy.clear_keys()
    settings = call.settings_with(flags)
    secrecy.clear_all()
    logging.configure_role_logging(settings)
    return settings


async def run(
    settings: Settings,
    role: str,
    name: str,
    health: Health,
    run_role: Callable[[asyncio.Event], Coroutine[Any, Any, None]],
    work_s: float,
) -> None:
    """Run a role with its metrics until it is stopped; then its work gets `work_s` seconds to end."""
    running = process.until_stopped(run_role, work_s + LEAVE_S_MAX, health)
    with metrics.serving_metrics(settings, role, name, health):
        await serve(running)


async def serve(role: Awaitable[None]) -> None:
    """Wait for a role's end. Raises `typer.Exit` if it failed, with a code different from that of wrong usage."""
    try:
        await role
    except Denied:
        raise
    except Unavailable as gone:
        typer.echo(f"shoal: {gone}", err=True)
        raise typer.Exit(exit_codes.FAILED) from None
    except Fenced as fenced:
        typer.echo(f"shoal: {fenced}", err=True)
        raise typer.Exit(exit_codes.FENCED) from None
    except Outdated as outdated:
        typer.echo(f"shoal: {outdated}", err=True)
        raise typer.Exit(exit_codes.OUTDATED) from None
