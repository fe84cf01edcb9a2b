"""What happens to every request before and after its route: its id, its host, its size, and the security headers."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Collection
from functools import lru_cache

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import problems
from api.rate_limits import RateLimit
from http_server.asgi import host_name
from metrics import api as metrics
from model.accounts.login_limits import counted_address
from model.errors import ShoalError, TooMany
from model.runs.traces import read_traceparent
from service import error_codes as kinds

log = structlog.get_logger()

BODY_BYTES_MAX = 4 << 20
PATH_BYTES_MAX = 8_192
HEALTH = ("/healthz", "/readyz")
"""What load balancers ask: it is answered however many ask, and under whatever name, mostly an address."""
REQUEST_ID = "X-Request-Id"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}

_counted = lru_cache(maxsize=1024)(counted_address)


class TooLarge(Exception):
    """The body of a request is larger than it may be."""


class Entrance:
    """Wraps the application.

    Args:
        app: the application.
        hosts: the names under which it may be reached; a request that names another is refused, since a web page of
            another origin could have made a browser send it (DNS rebinding). Empty: any.
        addresses: how often each address may ask.
        root_path: the path below which a proxy serves it.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], addresses: RateLimit, root_path: str) -> None:
        self._app = app
        self._root_path = root_path
        self._addresses = addresses
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._root_path:
            scope["root_path"] = self._root_path
        headers = Headers(scope=scope)
        request_id = _request_id(headers)
        scope.setdefault("state", {})["request_id"] = request_id
        is_started = is_too_large = False
        left = BODY_BYTES_MAX
        began_s = time.monotonic()

        async def answer(message: Message) -> None:
            nonlocal is_started
            if is_too_large and not is_started:
                return  # the framework's words about a body that could not be read
            if message["type"] == "http.response.start":
                is_started = True
                metrics.answered(scope["method"], message["status"], time.monotonic() - began_s, _operation(scope))
                found = MutableHeaders(scope=message)
                found[REQUEST_ID] = request_id
                if read_traceparent(trace := headers.get("traceparent", "")) is not None:
                    found["traceparent"] = trace
                for name, value in SECURITY_HEADERS.items():
                    found.setdefault(name, value)
            await send(message)

        async def limited() -> Message:
            nonlocal left, is_too_large
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                is_too_large = True
                raise TooLarge
            return message

        if (refusal := self._refusal(scope, headers, request_id)) is not None:
            await refusal(scope, receive, answer)
            return
        try:
            with structlog.contextvars.bound_contextvars(request=request_id, **_trace_of(headers)):
                await self._app(scope, limited, answer)
        except ClientDisconnect:
            log.info("request_cut", request=request_id, path=scope["path"][:200])
        except Exception as error:
            if is_started:
                raise
            if not is_too_large:
                await _of_exception(error, request_id)(scope, receive, answer)
        if is_too_large and not is_started:
            is_too_large = False
            await _too_large(request_id)(scope, receive, answer)

    def _refusal(self, scope: Scope, headers: Headers, request_id: str) -> ASGIApp | None:
        is_probe = scope["path"].removeprefix(scope.get("root_path", "")) in HEALTH
        if self._hosts and not is_probe and host_name(headers.get("host", "")) not in self._hosts:
            said = "this server is not reached under that name; add it to api.hosts in the settings if it is right"
            return problems.problem(kinds.WRONG_HOST, said, request_id)
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"") > PATH_BYTES_MAX:
            return problems.problem(kinds.MALFORMED, f"the address is longer than {PATH_BYTES_MAX} bytes", request_id)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            return problems.problem(kinds.MALFORMED, "Content-Length is not a number", request_id)
        if int(length) > BODY_BYTES_MAX:
            return _too_large(request_id)
        # A load balancer's address is that of all who come through it: its own requests are not counted.
        if not is_probe:
            try:
                self._addresses.take(_counted(scope["client"][0] if scope.get("client") else ""))
            except TooMany as error:
                return problems.problem_of(error, request_id)
        return None


def _of_exception(error: Exception, request_id: str) -> ASGIApp:
    if isinstance(error, ShoalError) and kinds.kind_of(error) is not kinds.UNEXPECTED:
        return problems.problem_of(error, request_id)
    log.exception("request_failed", request=request_id)
    said = f"an error of Shoal; the log of the API has it under {request_id}"
    return problems.problem(kinds.UNEXPECTED, said, request_id)


def _too_large(request_id: str) -> ASGIApp:
    said = f"the body is larger than {BODY_BYTES_MAX} bytes; send less at once"
    return problems.problem(kinds.TOO_LARGE, said, request_id)


def _trace_of(headers: Headers) -> dict[str, str]:
    """The trace that a request belongs to, if it says so (W3C Trace Context), as a field of log lines."""
    found = read_traceparent(headers.get("traceparent"))
    return {} if found is None else {"trace": f"{found.trace_id:032x}"}


def _request_id(headers: Headers) -> str:
    """The id that the client gave, if it can stand in a log; else a new one."""
    given = headers.get(REQUEST_ID, "")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _operation(scope: Scope) -> str | None:
    """The name of the operation whose route was taken; None if there was none, or it is a part of the page."""
    return getattr(scope.get("route"), "operation_id", None)
