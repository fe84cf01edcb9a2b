"""Waiting for a condition instead of for a time."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")

PATIENCE = 3.0
"""Times as long as it says a test waits: a machine that does much else is no fault of what is tested. Chaos, whose
promises are about time, sets TEST_PATIENCE=1; other times are measured in bench/, and asserted nowhere."""


@overload
async def eventually(
    look: Callable[[], Awaitable[T]], *, within_s: float = 5.0, every_s: float = 0.05, until: object = True
) -> T: ...
@overload
async def eventually(
    look: Callable[[], T], *, within_s: float = 5.0, every_s: float = 0.05, until: object = True
) -> T: ...
async def eventually(
    look: Callable[[], Any], *, within_s: float = 5.0, every_s: float = 0.05, until: object = True
) -> Any:
    """Look again and again until what is seen is true (or equals `until`, if given), and return it.

    An exception of `look` counts as "not yet". After `within_s` seconds, times `PATIENCE`, raises AssertionError with
    the last value.
    """
    deadline = time.monotonic() + within_s * float(os.environ.get("TEST_PATIENCE", PATIENCE))
    while True:
        last: object
        try:
            last = look()
            if inspect.isawaitable(last):
                last = await last
            if bool(last) if until is True else last == until:
                return last
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported below
            last = error
        if time.monotonic() > deadline:
            wanted = "" if until is True else f", wanted {until!r}"
            raise AssertionError(f"not within {within_s} s: last seen {last!r}{wanted}")
        await asyncio.sleep(every_s)
