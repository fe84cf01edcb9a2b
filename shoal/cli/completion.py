"""Shell completion with names from the server; `shoal --install-completion` installs it."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Literal

import typer

from service import names
from shoal.cli import late_modules
from shoal.cli.invocation import Invocation
from shoal.clients import direct

Suggestions = list[tuple[str, str]]

WITHIN_S = 0.6
"""A slower server completes nothing, since the user waits. Our own work does not count."""
WORDS = (("@last", "the last run"), ("@failed", "the last run that failed"))


def complete_workflow(context: typer.Context, incomplete: str) -> Suggestions:
    return _asked(context, incomplete, "workflow")


def complete_run(context: typer.Context, incomplete: str) -> Suggestions:
    """Ids of the last runs, and names of workflows, which stand for their last run."""
    words = [(word, about) for word, about in WORDS if word.startswith(incomplete)]
    return [*words, *_asked(context, incomplete, "run", "workflow")]


def complete_pool(context: typer.Context, incomplete: str) -> Suggestions:
    return _asked(context, incomplete, "pool")


def complete_resource(context: typer.Context, incomplete: str) -> Suggestions:
    """Names of resources of the pool in the command line."""
    return _asked(context, incomplete, "resource")


def _asked(
    context: typer.Context, incomplete: str, *kinds: Literal["workflow", "run", "pool", "resource"]
) -> Suggestions:
    """What the server suggests; nothing if it does not answer in time, or there is any other problem."""
    # Here: a thread must not be the first to need a module that runs late.
    late_modules.run(names, direct)
    given = context.params
    call = Invocation(given.get("database_url"), given.get("registry_url"), given.get("server"), given.get("config"))
    found: list[names.SuggestionAnswer] = []

    async def ask() -> None:
        async with call.client() as client:
            for kind in kinds:
                asked = names.SuggestionQuery(
                    kind=kind, prefix=incomplete, project=given.get("project"), pool=given.get("pool")
                )
                found.extend((await client.ask(names.suggest_names, asked)).items)

    def ask_silently() -> None:
        try:
            asyncio.run(ask())
        except Exception:  # noqa: BLE001 - a message would stand in the middle of what the person types
            found.clear()

    asking = threading.Thread(target=ask_silently, daemon=True)
    asking.start()
    begun_s = time.monotonic() - time.process_time()
    while asking.is_alive() and (left_s := begun_s + WITHIN_S - time.monotonic() + time.process_time()) > 0:
        asking.join(left_s)
    if asking.is_alive():
        os._exit(0)  # an ordinary exit waits for the threads that look up a host's name
    return [(each.name, each.about) for each in found]
