"""What every client can do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import ParamSpec, Protocol, TypeVar

from service import byte_stream
from service import operation as operations

P = ParamSpec("P")
R = TypeVar("R")


class Client(Protocol):
    """Asks for operations."""

    async def ask(self, operation: operations.Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The answer of an operation. Raises what the operation raises, and `Unavailable`."""

    def stream(
        self, operation: byte_stream.StreamOperation[P], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncGenerator[bytes]:
        """The bytes of a stream, continued after a lost connection. Use it in `aclosing`.

        Raises what the operation raises, and `Unavailable`.
        """
