"""What every way of asking can do."""

from __future__ import annotations

from typing import ParamSpec, Protocol, TypeVar

from service.operation import Operation

P = ParamSpec("P")
R = TypeVar("R")


class Client(Protocol):
    """Asks for operations."""

    async def ask(self, operation: Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The answer of an operation. Raises what the operation raises, and `Unavailable`."""
