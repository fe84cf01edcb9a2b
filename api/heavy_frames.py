"""What an API and a process that handles its heavy requests send each other: frames, each with its length before it."""

from __future__ import annotations

import asyncio
import pickle
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from service.call import Backend

LENGTH = struct.Struct("!Q")
"""Stands before each frame."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The first frame: how the backend is opened, the version of Shoal, and the processor time of a request."""

    open_backend: Callable[[], Backend]
    version: str
    cpu_s: int


@dataclass(frozen=True, slots=True)
class HeavyRequest:
    """A request as its API received it. `scope` is the part of the ASGI scope that can be sent."""

    scope: dict[str, Any]
    body: bytes


@dataclass(slots=True)
class HeavyAnswer:
    """The answer to a request."""

    status: int = 500
    headers: Sequence[tuple[bytes, bytes]] = ()
    body: bytearray = field(default_factory=bytearray)


def frame(content: object) -> bytes:
    """A frame for the other process, with its length."""
    data = pickle.dumps(content)
    return LENGTH.pack(len(data)) + data


async def read_frame(reader: asyncio.StreamReader) -> Any:
    """The next frame. Raises `asyncio.IncompleteReadError`: the other process has ended."""
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return pickle.loads(await reader.readexactly(length))  # noqa: S301 - from our own process, through a private pipe
