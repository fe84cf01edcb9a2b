"""What a task printed, made harmless for a terminal."""

from __future__ import annotations

import re

_COLOUR_OR_CONTROL = re.compile(rb"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def harmless(output: bytes) -> bytes:
    """The same with its control characters shown as `^X`, but for colours, tabs and ends of lines.

    A task may print whatever it likes; it must not clear the screen, rename the window or type for who reads its log.
    """
    return _COLOUR_OR_CONTROL.sub(lambda found: found.group(1) or b"^" + bytes([found.group()[0] ^ 0x40]), output)
