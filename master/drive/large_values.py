"""The large values that decisions need: read from the log store before a transaction is tried again.

A runnable is pure, and reads nothing. Where it needs a large value, for `each`, SWITCH, DYNAMIC or a path into JSON,
the transaction is rolled back, as for a plan that is missing; the value is read and remembered, and all begins again.
One that cannot be read fails only the task that needs it, and is tried again for another some seconds later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from logstore import value_files
from logstore.calls import StoreCalls
from logstore.protocol import Advanced, LogStore
from model.errors import Refused, Unavailable
from model.parameters.large_values import Content, LargeValue, ValuesMissing, forget, remember

R = TypeVar("R")

FAULT_S = 10.0
"""So long a value that cannot be read is not tried again: a store that hangs must not delay each decision."""


class LargeValues:
    """Those of one master; `calls` are of the log store, None if it knows none."""

    def __init__(self, calls: StoreCalls | None) -> None:
        self._calls = calls

    async def with_values(self, transaction: Callable[[], Awaitable[R]]) -> R:
        """Run a transaction with the values that it turns out to need."""
        while True:
            try:
                return await transaction()
            except ValuesMissing as missing:
                for value in missing.values:
                    await self._read(value)

    async def _read(self, value: LargeValue) -> None:
        try:
            if self._calls is None:
                raise value_files.not_set(value)
            remember(value, await self._calls.run(partial(_content, value)))
        except (Refused, Unavailable) as error:
            remember(value, Refused(str(error)))
            asyncio.get_running_loop().call_later(FAULT_S, forget, value)


def _content(value: LargeValue, store: LogStore, advanced: Advanced) -> Content:
    content = Content(value_files.read(store, advanced, value))
    if value.is_json:
        _ = content.json  # in this thread, since it may take some 100 ms
    return content
