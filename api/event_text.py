"""Server-sent events, as text: events of bytes that are shown to people."""

from __future__ import annotations

import codecs

PING = b": ping\n\n"


def event(data: str, *, id: int | None = None, kind: str | None = None) -> bytes:
    """One event. A line end of any kind in `data` arrives as LF."""
    head = (f"event: {kind}\n" if kind else "") + (f"id: {id}\n" if id is not None else "")
    lines = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return (head + "".join(f"data: {line}\n" for line in lines) + "\n").encode()


def whole_characters(data: bytes, *, is_end: bool) -> tuple[str, int]:
    """The text of the bytes, and how many of them it is: without a character or CRLF that has only begun.

    What is not UTF-8 is replaced; at the end of everything also a character that has only begun.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final=is_end)
    used = len(data) - len(decoder.getstate()[0])
    if text.endswith("\r") and not is_end:
        return text[:-1], used - 1
    return text, used
