"""A task's progress as it reports it: `40/100 text` or `40% text`."""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE_BYTES_MAX = 1_000
"""A longer line is no progress report."""

TEXT_LENGTH_MAX = 200
"""Longer texts are cut."""

_AMOUNT = re.compile(rb"(\d{1,15}(?:\.\d{1,6})?)(?:/(\d{1,15}(?:\.\d{1,6})?)|%)")


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total`, or percent if `total` is None; `text` may be empty."""

    done: float
    total: float | None = None
    text: str = ""

    @property
    def percent(self) -> float:
        """From 0 to 100."""
        return 100 * self.done / (self.total or 100)


def read_progress(line: bytes) -> Progress | None:
    """Parse a line without its prefix; None if it is no report: more than all, parts of nothing, other text."""
    words = line.split(None, 1) if len(line) <= LINE_BYTES_MAX else []
    found = _AMOUNT.fullmatch(words[0]) if words else None
    if found is None:
        return None
    done, total = float(found[1]), float(found[2]) if found[2] else None
    if not 0 <= done <= (100 if total is None else total) or total == 0:
        return None
    text = words[1].decode(errors="replace") if len(words) > 1 else ""
    return Progress(done, total, "".join(filter(str.isprintable, text.replace("\t", " "))).strip())
