"""The bytes of a followed stream, with a line in each place where some were discarded before they were read."""

from __future__ import annotations


class WithGaps:
    """Adds those lines to the parts of one stream."""

    def __init__(self) -> None:
        self._is_line_open = False

    def next(self, part: bytes, missed: int) -> bytes:
        """The output for this part, before which `missed` bytes were discarded."""
        shown = part
        if missed:
            # The rest of such a stream begins with a whole line.
            line = f"[{missed} bytes were discarded before they were read]\n".encode()
            shown = b"\n" * self._is_line_open + line + part
        if shown:
            self._is_line_open = not shown.endswith(b"\n")
        return shown
