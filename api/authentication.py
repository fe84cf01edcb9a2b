"""Who sent a request: the token in its Authorization header, or the session of a browser in a cookie.

A session's requests that change something also carry the session's CSRF secret in a header, which no other origin can
read or send. Every request is looked up in the database: a right that was taken away is gone with the next request.
"""

from __future__ import annotations

import hashlib
from typing import Any

from fastapi import Request

from model.errors import Forbidden, Refused, Unauthenticated
from model.runs.traces import read_traceparent
from service.call import Backend, Call, Replay
from service.callers import Caller, Visitor
from service.operation import Operation

COOKIE = "shoal_session"
CSRF_HEADER = "X-CSRF-Token"
IDEMPOTENCY_KEY = "Idempotency-Key"
IF_MATCH = "If-Match"
HEADER_LENGTH_MAX = 200
"""Characters of each of these three."""
SECRET_LENGTH_MAX = 200


async def make_call(backend: Backend, request: Request, operation: Operation[Any, Any]) -> Call:
    """The call that a request makes. Raises `Unauthenticated`."""
    caller = await authenticate(backend, request, changes=operation.changes)
    return Call(backend, caller, operation, _if_match(request), await _replay(request, operation))


async def authenticate(backend: Backend, request: Request, *, changes: bool) -> Caller:
    """Who sent a request; `changes`: one that changes something. Raises `Unauthenticated`."""
    visitor, csrf = visitor_of(request), _csrf(request)
    if (token := _bearer(request)) is not None:
        return await Caller.of_token(backend.database, backend.batches, token, visitor)
    cookie = request.cookies.get(COOKIE, "")
    if not 0 < len(cookie) <= SECRET_LENGTH_MAX:
        raise Unauthenticated("log in, or send a token in the header Authorization: Bearer shoal_...")
    caller = await backend.database.read(Caller.of_session, cookie, visitor)
    if changes and not caller.has_csrf(csrf):
        raise Forbidden(f"the header {CSRF_HEADER} is not that of this session; load the page again")
    return caller


def visitor_of(request: Request) -> Visitor:
    """From where a request comes."""
    agent = request.headers.get("User-Agent", "")[:200].replace("\0", "?")
    trace = read_traceparent(request.headers.get("traceparent"))
    return Visitor(
        address=address_of(request),
        user_agent=agent,
        request_id=request.state.request_id,
        traceparent=None if trace is None else str(trace),
    )


def address_of(request: Request) -> str:
    """The address from which a request came; that of the client if a trusted proxy tells it."""
    return request.client.host if request.client is not None else ""


def _bearer(request: Request) -> str | None:
    given = request.headers.get("Authorization")
    if given is None:
        return None
    kind, _, token = given.partition(" ")
    if kind.lower() != "bearer" or not 0 < len(token.strip()) <= SECRET_LENGTH_MAX:
        raise Unauthenticated("the header Authorization cannot be read; write Authorization: Bearer shoal_...")
    return token.strip()


def _csrf(request: Request) -> str:
    given = request.headers.get(CSRF_HEADER, "")
    if len(given) > HEADER_LENGTH_MAX:
        raise Refused(f"{CSRF_HEADER} has {HEADER_LENGTH_MAX} characters at most; send that of the session, or none")
    return given


def _if_match(request: Request) -> str | None:
    given = request.headers.get(IF_MATCH)
    if given is None:
        return None
    if len(given) > HEADER_LENGTH_MAX:
        raise Refused(f"{IF_MATCH} has {HEADER_LENGTH_MAX} characters at most; send the ETag as it was read")
    return given.strip().removeprefix("W/").strip('"')


async def _replay(request: Request, operation: Operation[Any, Any]) -> Replay | None:
    key = request.headers.get(IDEMPOTENCY_KEY)
    if key is None:
        return None
    if not key.isprintable() or not 0 < len(key) <= HEADER_LENGTH_MAX:
        raise Refused(
            f"{IDEMPOTENCY_KEY} has 1 to {HEADER_LENGTH_MAX} printable characters; make one with a random UUID"
        )
    if not operation.changes or operation.has_secret:
        return None
    whole = b"\n".join((request.method.encode(), request.url.path.encode(), await request.body()))
    return Replay(key, hashlib.sha256(whole).digest())
