"""A log on a terminal shows control characters and obeys none but colours."""

from __future__ import annotations

import pytest

from shoal.terminal import harmless


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (b"plain\ttext\r\n", b"plain\ttext\r\n"),
        ("grün 🐟".encode(), "grün 🐟".encode()),
        (b"\x1b[1;31mred\x1b[0m", b"\x1b[1;31mred\x1b[0m"),
        (b"\x1b]0;evil\x07\x1b[2J", b"^[]0;evil^G^[[2J"),
        (b"\x00\x7f", b"^@^?"),
    ],
)
def test_only_colours_and_ends_of_lines_pass(printed: bytes, shown: bytes) -> None:
    assert harmless(printed) == shown
