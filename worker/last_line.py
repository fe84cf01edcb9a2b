"""The last words of an output, as a reason for people: without colours, progress that was overwritten, and NULs."""

from __future__ import annotations

import re

LAST_LINE_BYTES_MAX = 200
"""A longer line is data, and not taken for a sentence for people."""

TAIL_BYTES = 4_000
"""So much of the end of an output is searched."""

BLANK_BYTES = 100
"""So many blanks at the end are kept as they are."""

_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, the cursor
    r"|\x1b[]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[ -/]*[0-~]?"
)


def tail_of(tail: bytes, data: bytes) -> bytes:
    """The end of an output to which `data` was added."""
    if len(data) >= TAIL_BYTES and not data[-TAIL_BYTES:].isspace():
        return data[-TAIL_BYTES:]
    both = tail + data
    words = both.rstrip()
    if len(both) - len(words) > BLANK_BYTES:  # empty lines do not push out the last one that has words
        both = words + (b"\n" if b"\n" in both[len(words) :] else b" ")
    return both[-TAIL_BYTES:]


def last_line_of(tail: bytes, bytes_max: int = LAST_LINE_BYTES_MAX) -> str:
    """The last line in the end of an output that has words; empty if it has none, or is no sentence for people."""
    for line in reversed(_ESCAPE.sub("", tail.decode(errors="replace")).split("\n")):
        shown = next((words for part in reversed(line.split("\r")) if (words := _words(part))), "")
        if shown:
            return shown if len(shown.encode()) <= bytes_max else ""
    return ""


def _words(text: str) -> str:
    return "".join(map(_shown, text)).strip()


def _shown(sign: str) -> str:
    if sign.isprintable():
        return sign
    return " " if sign < " " or sign.isspace() else ""
