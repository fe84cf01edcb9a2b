"""The header `Range`: which bytes of a file are asked for (RFC 9110, 14)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RANGE = re.compile(r"bytes=\s*(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))\s*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class ByteRange:
    """Bytes from `first` up to `end`, which does not belong to it."""

    first: int
    end: int


class NotThatLong(Exception):
    """The file has no such bytes."""


def read_range(header: str | None, size: int) -> ByteRange | None:
    """The range of a file of `size` bytes. None: all of it, also for several ranges, or what is no range.

    Raises:
        NotThatLong: it begins after the end.
    """
    found = _RANGE.fullmatch(header or "")
    if found is None:
        return None
    first, last, suffix = found.groups()
    if suffix is not None:
        if int(suffix) == 0 or size == 0:
            raise NotThatLong
        return ByteRange(max(0, size - int(suffix)), size)
    end = int(last) + 1 if last else size
    if end <= int(first) and last:
        return None
    if int(first) >= size:
        raise NotThatLong
    return ByteRange(int(first), min(end, size))
