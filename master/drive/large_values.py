"""The large values that decisions need or make: read or kept before a transaction is retried.

A runnable is pure, and reads nothing. When it needs a large value (`each`, SWITCH, DYNAMIC, a path into JSON), or makes
one that is too large for a row, the transaction is rolled back, as for a missing plan; the value is read or kept and
cached, and the transaction is repeated. A failure only fails the task that needs the value, and is retried for another
task some seconds later.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from logstore import value_files
from logstore.calls import THREADS_MAX
from logstore.protocol import Advanced, LogStore
from model.errors import Refused, Unavailable
from model.logs.name import value_of_run
from model.parameters.large_values import (
    Content,
    LargeValue,
    ValuesMissing,
    forget,
    has_large,
    remember,
)
from model.parameters.values_to_keep import ToKeep, ValueUnkept, forget_kept, remember_kept
from node.store_access import StoreAccess

R = TypeVar("R")

FAULT_S = 10.0
"""How long a value that failed is not retried: a store that hangs must not delay each decision."""
READS_MAX = 3
"""How often a value is read for one transaction: other values may have displaced it."""


class LargeValues:
    """For one master; `store` is None without a store."""

    def __init__(self, store: StoreAccess | None) -> None:
        self._store = store

    async def with_values(self, transaction: Callable[[], Awaitable[R]]) -> R:
        """Run a transaction with the values that it turns out to need."""
        reads: dict[LargeValue, int] = {}
        while True:
            try:
                return await transaction()
            except ValuesMissing as missing:
                values = list(missing.values)
                for first in range(0, len(values), THREADS_MAX):
                    some = values[first : first + THREADS_MAX]
                    await asyncio.gather(*(self._read(value, reads) for value in some))
            except ValueUnkept as unkept:
                await self._keep(unkept.value)

    async def _read(self, value: LargeValue, reads: dict[LargeValue, int]) -> None:
        reads[value] = reads.get(value, 0) + 1
        try:
            if self._store is None:
                raise value_files.not_set(value)
            if reads[value] > READS_MAX:
                raise Refused(f"{value.said} does not fit into memory beside others that are needed with it")
            remember(value, await self._store.run(partial(_content, value)))
        except (Refused, Unavailable) as error:
            remember(value, Refused(str(error)))
            asyncio.get_running_loop().call_later(FAULT_S, forget, value)

    async def _keep(self, value: ToKeep) -> None:
        try:
            if self._store is None:
                remember_kept(value, LargeValue.lost(len(value.text.encode()), value.task, value.name))
                return
            await self._store.verify()
            remember_kept(value, await self._store.run(partial(_put, value, await self._store.today())))
        except Unavailable as error:
            size = len(value.text.encode())
            said = f'the value "{value.name}" of task "{value.task}" ({size:,} bytes) could not be kept: {error}'
            remember_kept(value, Refused(said))
            asyncio.get_running_loop().call_later(FAULT_S, forget_kept, value)


def _content(value: LargeValue, store: LogStore, advanced: Advanced) -> Content:
    content = Content(value_files.read(store, advanced, value))
    if value.is_json:
        _ = content.json  # in this thread, since it may take some 100 ms
    return content


def _put(value: ToKeep, date: str, store: LogStore, advanced: Advanced) -> LargeValue:
    digest = hashlib.sha256(value.text.encode(errors="replace")).hexdigest()
    key = value_of_run(date, value.workflow, value.run, digest)
    found = value_files.put(store, advanced, key, value.task, value.name, value.text, is_text=False)
    return replace(found, in_parts=has_large(value.text))
