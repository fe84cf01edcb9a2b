"""The last words of an output, as a reason: without colours, overwritten progress and NULs."""

from __future__ import annotations

import re
from collections.abc import Callable

LAST_LINE_BYTES_MAX = 200

TAIL_BYTES = 4_000
"""How much of the end of an output is searched."""

BLANK_BYTES = 100
"""How many blanks at the end are kept as they are."""

_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, the cursor
    r"|\x1b[]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[ -/]*[0-~]?"
)


def tail_of(tail: bytes, data: bytes) -> bytes:
    """The end of an output after `data` was appended."""
    if len(data) >= TAIL_BYTES and not data[-TAIL_BYTES:].isspace():
        return data[-TAIL_BYTES:]
    both = tail + data
    words = both.rstrip()
    if len(both) - len(words) > BLANK_BYTES:  # empty lines do not push out the last one that has words
        both = words + (b"\n" if b"\n" in both[len(words) :] else b" ")
    return both[-TAIL_BYTES:]


def last_line_of(tail: bytes, bytes_max: int = LAST_LINE_BYTES_MAX, masked: Callable[[str], str] | None = None) -> str:
    """The last line with words in the end of an output; empty if there is none.

    A longer line is cut to its beginning, or to its end if the tail lost the beginning; "…" marks the cut. Without
    `masked` such a line is left out instead: a cut could leave a part of a secret that no masking finds.
    """
    lines = _ESCAPE.sub("", tail.decode(errors="replace")).split("\n")
    for place in reversed(range(len(lines))):
        shown = next((words for part in reversed(lines[place].split("\r")) if (words := _words(part))), "")
        if shown:
            shown = shown if masked is None else masked(shown)
            if len(shown.encode()) <= bytes_max:
                return shown
            has_beginning = place > 0 or len(tail) < TAIL_BYTES
            return "" if masked is None else _cut(shown, bytes_max, has_beginning=has_beginning)
    return ""


def _cut(text: str, bytes_max: int, *, has_beginning: bool) -> str:
    kept = text.encode()[:bytes_max] if has_beginning else text.encode()[-bytes_max:]
    words = kept.decode(errors="ignore").strip()
    return f"{words}…" if has_beginning else f"…{words}"


def _words(text: str) -> str:
    return "".join(map(_shown, text)).strip()


def _shown(sign: str) -> str:
    if sign.isprintable():
        return sign
    return " " if sign < " " or sign.isspace() else ""
