"""`service/byte_stream.py`: slices of a stream whose oldest part is discarded while it is read."""

from __future__ import annotations

import pytest

from model.errors import Unavailable
from service.byte_stream import Slice, StreamQuery, slices


class Rolling:
    """Of so many bytes the first are discarded, more of them with each read after the first."""

    id, project = 1, None

    def __init__(self, *firsts: int, size: int = 100) -> None:
        self._firsts = list(firsts)
        self._bytes = bytes(range(size))

    async def read(self, offset: int, limit: int = 40) -> Slice:
        first = self._firsts.pop(0) if len(self._firsts) > 1 else self._firsts[0]
        data = self._bytes[max(offset, first) : offset + min(limit, 40)]
        return Slice(data, len(self._bytes), is_complete=True, first=first)

    async def aclose(self) -> None:
        """Nothing."""


async def _read(source: Rolling, **query: int | bool) -> list[int]:
    return [each async for part in slices(source, StreamQuery.read(**query)) for each in part.data]


async def test_what_was_discarded_before_is_left_out() -> None:
    assert await _read(Rolling(70)) == list(range(70, 100))
    assert await _read(Rolling(20)) == list(range(20, 100))
    assert await _read(Rolling(70), offset=10, limit=65) == list(range(70, 75))
    assert await _read(Rolling(70), offset=10, limit=5) == []
    assert await _read(Rolling(100)) == []


async def test_who_reads_all_of_it_hears_that_a_part_was_discarded_meanwhile() -> None:
    with pytest.raises(Unavailable, match="20 bytes are gone since the first were read"):
        await _read(Rolling(0, 60))


async def test_who_follows_goes_on_with_what_is_left_and_is_told_what_it_missed() -> None:
    assert await _read(Rolling(0, 60), follow=True) == [*range(40), *range(60, 100)]

    async def missed(**query: int) -> list[int]:
        return [part.missed async for part in slices(Rolling(30, 90), StreamQuery.read(follow=True, **query))]

    assert await missed() == [0, 50, 0], "nobody missed what was discarded before"
    assert await missed(offset=10) == [20, 40, 0]
    assert await missed(offset=50) == [0, 0]
