"""Runs operations on the database itself, as the operating-system user, who may do everything there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from service.answered import masked
from service.byte_stream import StreamOperation, StreamQuery, slices
from service.call import Backend, Call
from service.callers import Caller
from service.operation import QUERY, Operation
from shoal.clients.gaps import WithGaps

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class DirectClient:
    """Runs operations in this process."""

    backend: Backend
    caller: Caller

    async def ask(self, operation: Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return masked(await operation(Call(self.backend, self.caller, operation), *args, **kwargs))

    async def stream(self, operation: StreamOperation[P], *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[bytes]:
        query: StreamQuery = operation.signature.bind(*args, **kwargs).arguments[QUERY]
        source = await operation(Call(self.backend, self.caller, operation), *args, **kwargs)
        async with aclosing(source):
            with_gaps = WithGaps()
            async for found in slices(source, query):
                if part := with_gaps.next(found.data, found.missed):
                    yield part
