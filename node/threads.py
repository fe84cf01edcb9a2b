"""Runs work that would block the event loop in a thread of the loop's pool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from model.cluster.means import NO_THREAD
from model.errors import Unavailable

P = ParamSpec("P")
R = TypeVar("R")

LARGE_CHARACTERS = 64_000
"""Python reads, checks and formats this much text in a few milliseconds."""


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run the function in a thread. Raises `Unavailable` while this machine can start no thread: a retry may work."""
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    except RuntimeError as error:
        if str(error) != NO_THREAD:
            raise
        raise Unavailable("this machine can begin no more threads just now") from error


async def in_thread_if_large(characters: int, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run the function in a thread if the text is so long that the loop would wait, else at once.

    A thread that runs Python yields to the loop every few milliseconds, but not inside one call of the C library: the
    text must have a limit.
    """
    if characters < LARGE_CHARACTERS:
        return function(*args, **kwargs)
    return await in_thread(function, *args, **kwargs)
