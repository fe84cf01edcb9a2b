"""Operations that answer with a stream of bytes, which may be large and still grow.

Nothing ever holds the whole of it: it is read in slices, from anywhere, so that a reader whose connection broke goes on
where it stood.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Concatenate, ParamSpec, Protocol

from pydantic import Field

from model.accounts.rights import Right
from model.errors import Unavailable
from service.fields import ID_MAX, Asked
from service.operation import Operation

if TYPE_CHECKING:
    from service.call import Call

P = ParamSpec("P")

SLICE_BYTES_MAX = 1 << 20
LOOK_EVERY_S = 0.5
"""How often a stream that has no more bytes is asked whether it has grown."""


@dataclass(frozen=True)
class Slice:
    """Some bytes, and what was known of the stream before they were read: its size, and whether that is its last.

    What is before `first` was discarded: if it was asked for, the bytes begin there, or there are none. `missed` is how
    many bytes after the slice before, or after the offset that was asked for, were discarded before they were read.
    """

    data: bytes
    size: int
    is_complete: bool
    first: int = 0
    missed: int = 0


class Source(Protocol):
    """Where the bytes are. Use it in `contextlib.aclosing`."""

    @property
    def id(self) -> int:
        """Of the object whose bytes these are."""

    @property
    def project(self) -> str | None:
        """On which the right to read them is needed."""

    @property
    def file_name(self) -> str:
        """Under which a browser saves all of them: letters, digits and `_ . -`."""

    async def read(self, offset: int, limit: int = SLICE_BYTES_MAX) -> Slice:
        """At most `limit` bytes from `offset`, at most 1 MiB; none at the end.

        Raises:
            NotFound: there are none.
            Unavailable: they cannot be read now.
        """

    async def aclose(self) -> None:
        """Close its connections."""


class StreamQuery(Asked):
    """Which part of a stream. Without any of these it is all there is, as a file."""

    offset: Annotated[int | None, Field(ge=0, le=ID_MAX, description="begin after this many bytes")] = None
    limit: Annotated[int | None, Field(ge=0, le=ID_MAX, description="at most this many bytes")] = None
    follow: Annotated[bool, Field(description="wait for more, until it has ended")] = False


@dataclass(frozen=True)
class StreamOperation(Operation[P, Source]):
    """An operation that opens a source. Clients and API read it; `StreamQuery` says which part."""


def stream(
    path: str, right: Right, tag: str
) -> Callable[[Callable[Concatenate[Call, P], Awaitable[Source]]], StreamOperation[P]]:
    """Make a stream operation of a function. See `Declaration` for the arguments."""

    def declare(run: Callable[Concatenate[Call, P], Awaitable[Source]]) -> StreamOperation[P]:
        return StreamOperation("GET", path, right, tag, run=run)

    return declare


async def slices(source: Source, query: StreamQuery) -> AsyncGenerator[Slice]:
    """The slices that are asked for: of the present bytes, or those to come too, until nothing more is added.

    Where a source that is followed has no more bytes for now, an empty slice is given each time that it was asked.
    What was discarded is left out, at the beginning, and by who follows; `missed` of a slice says so to the latter.

    Raises:
        Unavailable: it has fewer bytes than it had.
    """
    offset, size, has_begun = query.offset or 0, None, False
    end = None if query.limit is None else offset + query.limit
    while True:
        left = [each - offset for each in (end, size) if each is not None]
        limit = min(SLICE_BYTES_MAX, *left) if left else SLICE_BYTES_MAX
        if limit <= 0:
            return
        found = await source.read(offset, limit)
        if not query.follow and size is None:
            size = found.size
        gone = max(0, found.first - offset)
        if gone and (query.follow or not has_begun):
            found = replace(found, missed=gone if query.follow and (has_begun or query.offset) else 0)
            offset, gone = found.first, 0
        elif not found.data and size is not None:
            gone = max(gone, size - offset)
        if gone:
            raise Unavailable(f"{gone} bytes are gone since the first were read; ask again")
        has_begun = has_begun or bool(found.data)
        yield found
        offset += len(found.data)
        if query.follow and offset >= found.size:
            if found.is_complete:
                return
            await asyncio.sleep(LOOK_EVERY_S)
