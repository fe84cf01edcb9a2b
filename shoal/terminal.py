"""Makes a task's output safe for a terminal."""

from __future__ import annotations

import re

_COLOUR_OR_CONTROL = re.compile(rb"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def harmless(output: bytes) -> bytes:
    """The output with its control characters shown as `^X`, except for colours, tabs and line ends.

    A task may print anything; it must not clear the reader's screen, rename the window or send input to the terminal.
    """
    return _COLOUR_OR_CONTROL.sub(lambda found: found.group(1) or b"^" + bytes([found.group()[0] ^ 0x40]), output)
