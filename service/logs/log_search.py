"""Search in the log of an attempt, on the worker that has it.

A part at a time, so that a long log neither holds up the server nor leaves the reader without an answer. It also counts
lines, for readers that begin in the middle of a log.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from typing import Annotated

from pydantic import Field

from model.accounts.rights import Right
from model.errors import Refused
from model.ids import TaskInstanceId
from service.byte_stream import SLICE_BYTES_MAX, Source
from service.call import Call
from service.fields import ID_MAX, Answer, Asked, Id, Text
from service.logs.log_source import open_log
from service.operation import operation

SCAN_BYTES_MAX = 1 << 24
LINE_SHOWN_MAX = 500
ERROR_WORDS = (b"error", b"fatal", b"critical", b"exception", b"traceback", b"panic", b"\x1b[31m", b"\x1b[1;31m")
_ERROR = re.compile(
    rb"(?<![a-z])(?:error|fatal|critical|exception|traceback|panic)(?![a-z])|(?:error|exception):|\x1b\[(?:1;)?31m"
)
"""What the lines of `ERROR_WORDS` that mean an error look like, in lower case."""


class LogSearchQuery(Asked):
    """What is looked for: `text`, or errors; without either, lines are only counted."""

    text: Annotated[Text | None, Field(min_length=1, max_length=200, description="in upper or lower case of ASCII")] = (
        None
    )
    errors: Annotated[bool, Field(description="lines that look like an error")] = False
    offset: Annotated[int, Field(ge=0, le=ID_MAX, description="begin after this many bytes, where a line begins")] = 0
    until: Annotated[int | None, Field(ge=0, le=ID_MAX, description="up to this many bytes")] = None
    limit: Annotated[int, Field(ge=1, le=1000, description="at most so many lines")] = 200


class LogLine(Answer):
    """A line that was found. It begins after `offset` bytes; `line` lines stand before it, from where was begun."""

    offset: int
    line: int
    text: str


class LogFound(Answer):
    """What was found up to `searched_to` bytes; go on there unless `is_done`. `lines` ended in this part, and the log
    has `size` bytes by now."""

    found: Sequence[LogLine]
    searched_to: int
    lines: int
    size: int
    is_done: bool


@operation("GET", "/task-instances/{id}/log:search", Right.VIEW, "task-instances")
async def search_log(call: Call, id: Id, query: LogSearchQuery) -> LogFound:
    """Search in the log of an attempt, or count its lines: at most 16 MiB of it, from `offset`."""
    if query.errors and query.text is not None:
        raise Refused("`text` and `errors` are two things to look for; keep one of them")
    async with aclosing(await open_log(call, TaskInstanceId(id), waits=True)) as source:
        return await _search(source, query)


async def _search(source: Source, query: LogSearchQuery) -> LogFound:
    found: list[LogLine] = []
    at, lines, rest = query.offset, 0, b""
    end = query.offset + SCAN_BYTES_MAX if query.until is None else min(query.offset + SCAN_BYTES_MAX, query.until)
    while True:
        head = at + len(rest)
        part = await source.read(head, max(0, min(SLICE_BYTES_MAX, end - head)))
        if part.first > head:  # what is before it was discarded
            head, at, rest = part.first, part.first, b""
            if not part.data and head < end:
                continue
        is_end = not part.data or head + len(part.data) >= min(part.size, end)
        data = rest + part.data
        # A line is looked at when all of it is there, or at the end, or when it is longer than what is read at once.
        whole = len(data) if is_end or len(data) > 2 * SLICE_BYTES_MAX else data.rfind(b"\n") + 1
        done, rest = data[:whole], data[whole:]
        before, last = 0, 0
        for begin in _lines_with(done, query):
            before += done.count(b"\n", last, begin)
            last = begin
            line = done[begin : begin + 4 * LINE_SHOWN_MAX].partition(b"\n")[0]
            text = line.decode(errors="replace")[:LINE_SHOWN_MAX]
            found.append(LogLine(offset=at + begin, line=lines + before, text=text))
            if len(found) == query.limit:
                following = done.find(b"\n", begin) + 1 or len(done)
                return LogFound(
                    found=found,
                    searched_to=at + following,
                    lines=lines + done.count(b"\n", 0, following),
                    size=part.size,
                    is_done=is_end and following == len(data),
                )
        lines += done.count(b"\n")
        at += len(done)
        if is_end:
            is_done = at >= part.size or (query.until is not None and at >= query.until)
            return LogFound(found=found, searched_to=at, lines=lines, size=part.size, is_done=is_done)
        await asyncio.sleep(0)  # others have their turn, also when the source never waits


def _lines_with(data: bytes, query: LogSearchQuery) -> Iterator[int]:
    """Where the lines begin that have what is looked for, in order."""
    if query.text is None and not query.errors:
        return
    words = ERROR_WORDS if query.text is None else (query.text.lower().encode(),)
    lower = data.lower()
    nexts = {word: lower.find(word) for word in words}
    while nexts := {word: at for word, at in nexts.items() if at >= 0}:
        at = min(nexts.values())
        begin, following = lower.rfind(b"\n", 0, at) + 1, lower.find(b"\n", at) + 1 or len(lower)
        if query.text is not None or _ERROR.search(lower, begin, following):
            yield begin
        nexts = {word: lower.find(word, following) if place < following else place for word, place in nexts.items()}
