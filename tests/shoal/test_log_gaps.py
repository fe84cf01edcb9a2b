"""The markers in a followed log where text was discarded before it was read."""

from __future__ import annotations

import pytest

from shoal.clients.gaps import WithGaps


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([(b"a\n", 0), (b"b", 0), (b"c\n", 0)], b"a\nbc\n"),
        ([(b"a\n", 0), (b"c\n", 7)], b"a\n[7 bytes were discarded before they were read]\nc\n"),
        ([(b"hal", 0), (b"", 0), (b"c\n", 7)], b"hal\n[7 bytes were discarded before they were read]\nc\n"),
        ([(b"", 7), (b"c\n", 0)], b"[7 bytes were discarded before they were read]\nc\n"),
    ],
)
def test_a_gap_is_a_line_of_its_own(parts: list[tuple[bytes, int]], shown: bytes) -> None:
    with_gaps = WithGaps()
    assert b"".join(with_gaps.next(*part) for part in parts) == shown
