"""Routes of stream operations: a slice, a range or all of a file, or what is added to it, as events or as plain bytes.

    GET …/log                    the whole file; with `Range` a part of it
    GET …/log?offset=N&limit=M   a slice; `X-Shoal-Log-Size` is the size of the whole
                                 what is before `X-Shoal-Log-First` was discarded, and is left out
    GET …/log?follow=1           server-sent events until it has ended; with `Accept: text/plain` the bytes themselves

Who follows more slowly than the oldest part is discarded is told: by an event `missed` with the number of bytes, or, if
it reads the bytes themselves, by an answer that is cut off; the next one begins at its `X-Shoal-Log-First`.

The id of an event is the number of bytes up to its end, so that `Last-Event-ID` goes on there.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response

from api import problems
from api.event_text import PING, event, whole_characters
from api.ranges import NotThatLong, read_range
from api.routes import PROBLEM, PROBLEMS, Serving, described, parameter_of
from api.sending import SentInParts
from model.errors import Refused, ShoalError, Unavailable
from service import error_codes as kinds
from service.byte_stream import Slice, Source, StreamOperation, StreamQuery, slices
from service.operation import QUERY

TEXT = "text/plain; charset=utf-8"
EVENTS = "text/event-stream"
SIZE_HEADER = "X-Shoal-Log-Size"
FIRST_HEADER = "X-Shoal-Log-First"
COMPLETE_HEADER = "X-Shoal-Log-Complete"
PING_EVERY_S = 15.0
EVENT_BYTES_MAX = 1 << 16
OFFSET_DIGITS_MAX = 18

RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {}, EVENTS: {}}, "description": "a slice, the whole file, or events"},
    206: {"content": {"text/plain": {}}, "description": "the range that was asked for"},
    416: {"content": PROBLEM, "description": "it is not that long"},
    **PROBLEMS,
}


def add_stream(router: APIRouter, operation: StreamOperation[Any]) -> None:
    async def endpoint(**given: Any) -> Response:
        request: Request = given.pop("request")
        given_range, last_event = given.pop("range_"), given.pop("last_event_id")
        query = _after(given[QUERY], last_event)
        serving = Serving.of(request)
        call = await serving.make_call(request, operation)
        async with serving.denials.recording(call, request):
            source = await operation(call, **{**given, QUERY: query})

        async def check() -> None:
            (await serving.make_call(request, operation)).permit(source.project)

        where = str(request.url_for(operation.name, id=source.id).path)
        headers = {"Content-Type": TEXT, "Content-Location": where}
        try:
            head = await source.read(0, 0)
            headers[FIRST_HEADER] = str(head.first)
            if query.follow:
                headers["X-Accel-Buffering"] = "no"
                plain = "text/plain" in (accept := request.headers.get("Accept", "")) and EVENTS not in accept
                if plain:  # the reader counts from the place that its header names
                    query = query.model_copy(update={"offset": max(query.offset or 0, head.first)})
                else:
                    headers["Content-Type"] = EVENTS
                parts = _bytes(source, query) if plain else _events(source, query)
                place = serving.streams.another(call.caller.key)
                return SentInParts(source, parts, headers, check, place=place)
            headers |= {SIZE_HEADER: str(head.size), COMPLETE_HEADER: str(head.is_complete).lower()}
            if "If-Range" in request.headers:
                given_range = None  # no version of a file has a name here
            status, query, more = _file(query, head, given_range, source.file_name)
            headers.update(more)
            return SentInParts(source, _bytes(source, query), headers, check, status=status)
        except NotThatLong:
            await source.aclose()
            said = f"there are {head.size} bytes; ask for some of them"
            at = {"Content-Range": f"bytes */{head.size}"}
            return problems.problem(kinds.NO_SUCH_RANGE, said, request.state.request_id, headers=at)
        except BaseException:
            await source.aclose()
            raise

    named = inspect.Parameter.KEYWORD_ONLY
    parameters = [parameter_of(each) for each in operation.signature.parameters.values()]
    for name, alias in (("range_", "Range"), ("last_event_id", "Last-Event-ID")):
        kind = Annotated[str | None, Header(alias=alias, max_length=200)]
        parameters.append(inspect.Parameter(name, named, annotation=kind, default=None))
    parameters.append(inspect.Parameter("request", named, annotation=Request))
    endpoint.__dict__["__signature__"] = inspect.Signature(parameters)
    router.add_api_route(
        operation.path,
        endpoint,
        response_class=Response,
        responses=RESPONSES,
        **described(operation),
    )


def _after(query: StreamQuery, last_event: str | None) -> StreamQuery:
    """The query of a reader that goes on after its last event."""
    if not query.follow or not last_event:
        return query
    if not (last_event.isascii() and last_event.isdecimal() and len(last_event) <= OFFSET_DIGITS_MAX):
        raise Refused("Last-Event-ID is not one that an event had; begin without it")
    return query.model_copy(update={"offset": int(last_event)})


def _file(
    query: StreamQuery, head: Slice, range_: str | None, file_name: str
) -> tuple[int, StreamQuery, Mapping[str, str]]:
    """Status, bytes and headers of an answer with the present content. Raises `NotThatLong`."""
    if query.offset is not None or query.limit is not None:
        first = min(query.offset or 0, head.size)
        end = head.size if query.limit is None else min(first + query.limit, head.size)
        first = max(first, min(head.first, end))
        return 200, StreamQuery(offset=first, limit=end - first), {"Content-Length": str(end - first)}
    headers = {"Accept-Ranges": "bytes", "Content-Disposition": f'attachment; filename="{file_name}"'}
    found = read_range(range_, head.size)
    if found is not None:
        first = max(found.first, head.first)
        length = found.end - first
        if length <= 0:
            raise NotThatLong
        of = str(head.size) if head.is_complete else "*"
        headers |= {"Content-Range": f"bytes {first}-{found.end - 1}/{of}", "Content-Length": str(length)}
        return 206, StreamQuery(offset=first, limit=length), headers
    if head.is_complete:
        headers["Content-Length"] = str(head.size - head.first)
    return 200, StreamQuery(), headers


async def _bytes(source: Source, query: StreamQuery) -> AsyncGenerator[bytes]:
    offset = query.offset or 0
    async for found in slices(source, query):
        if query.follow and (missed := found.first - offset) > 0:
            raise Unavailable(f"{missed} bytes were discarded before they were read; go on with what is left")
        offset += len(found.data)
        yield found.data


async def _events(source: Source, query: StreamQuery) -> AsyncGenerator[bytes]:
    """Text as it is added, `missed`, a comment now and then, and at last `end`, or `problem` with a sentence."""
    offset, left, sent_s = query.offset or 0, b"", time.monotonic()
    try:
        async for found in slices(source, query):
            if found.first > offset + len(left):
                offset, left = found.first, b""
            if found.missed:
                yield event(str(found.missed), id=offset, kind="missed")
            for at in range(0, len(found.data), EVENT_BYTES_MAX):
                left += found.data[at : at + EVENT_BYTES_MAX]
                text, used = whole_characters(left, is_end=False)
                offset, left, sent_s = offset + used, left[used:], time.monotonic()
                if text:
                    yield event(text, id=offset)
            if time.monotonic() - sent_s >= PING_EVERY_S:
                yield PING
                sent_s = time.monotonic()
        if left:
            offset += len(left)
            yield event(whole_characters(left, is_end=True)[0], id=offset)
        yield event("ended", id=offset, kind="end")
    except ShoalError as error:
        yield event(str(error), kind="problem")
