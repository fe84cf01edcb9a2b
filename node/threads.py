"""Runs work that would block the event loop in a thread of the loop's pool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from model.errors import Unavailable
from model.means import NO_THREAD

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What it returns or raises. Raises `Unavailable` while this machine can start no thread: a retry may work."""
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    except RuntimeError as error:
        if str(error) != NO_THREAD:
            raise
        raise Unavailable("this machine can begin no more threads just now") from error
