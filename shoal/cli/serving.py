"""What the verbs that run a process have in common: how long a stop may take, and what exit code tells a supervisor."""

from __future__ import annotations

from collections.abc import Awaitable

import typer

from model.errors import Denied, Fenced, Outdated, Unavailable
from shoal.cli import exit_codes

LEAVE_S_MAX = 20.0
"""How long a graceful stop may take in addition to the time that running work gets."""


async def serve(role: Awaitable[None]) -> None:
    """Wait for a role's end. Raises `typer.Exit` when it failed, with a code different from that of wrong usage."""
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
