"""Asks on the database itself, as the user of this operating system, who may do everything there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from service.call import Backend, Call
from service.callers import Caller
from service.operation import Operation

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class DirectClient:
    """Runs operations in this process."""

    backend: Backend
    caller: Caller

    async def ask(self, operation: Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Client`."""
        return await operation(Call(self.backend, self.caller, operation), *args, **kwargs)
