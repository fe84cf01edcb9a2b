"""Asks through the API, with a token.

Every request that changes something has an idempotency key, so it is sent again when its answer was lost. A key has no
effect on requests with a secret: for these a lost answer is reported, since a repetition could make the change a second
time.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import ssl
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast
from urllib.parse import quote

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from model.errors import Refused, Unavailable, Unknown
from service.byte_stream import StreamOperation, StreamQuery
from service.error_codes import NO_SUCH_ADDRESS, NO_SUCH_METHOD, error_of
from service.operation import BODY, QUERY, Operation
from shoal.clients.gaps import WithGaps
from shoal.version import shoal_version

P = ParamSpec("P")
R = TypeVar("R")

BASE = "/api/v1"
RETRY_WITHIN_S = 10.0
TIMEOUT_S = 60.0
PAUSE_S_MAX = 1.0


class _Away(Unavailable):
    """There is no answer. The server may have processed the request, unless it was `never_sent`."""

    def __init__(self, sentence: str, *, never_sent: bool = False) -> None:
        super().__init__(sentence)
        self.never_sent = never_sent


class _NotThere(Refused):
    """The server has no such operation."""


class RemoteClient:
    """Sends operations to an API server.

    Args:
        url: of the server, such as https://shoal.example.org.
        token: of the user; None: requests are sent without.
        retry_within_s: how long a silent server is retried, counted from the first lost answer.
    """

    def __init__(self, url: str, token: str | None, *, retry_within_s: float = RETRY_WITHIN_S) -> None:
        parsed = httpx.URL(url)
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise Refused(f'"{url}" is no address of a server; write it as https://shoal.example.org')
        self._server = url.rstrip("/")
        self._is_clear = parsed.scheme == "http" and parsed.host not in ("127.0.0.1", "localhost", "::1")
        if token:
            self._check_secrecy()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if (trace := os.environ.get("TRACEPARENT", "")).isascii() and trace.isprintable() and trace:
            headers["traceparent"] = trace
        tls: ssl.SSLContext | bool = ssl.create_default_context() if parsed.scheme == "https" else False
        self._retry_within_s = retry_within_s
        self._http = httpx.AsyncClient(
            base_url=self._server, headers=headers, verify=tls, timeout=TIMEOUT_S, trust_env=False
        )

    async def __aenter__(self) -> RemoteClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def log_in(self, given: Mapping[str, str]) -> None:
        """Use a session from now on, until `log_out`. Raises `Unauthenticated`, `TooMany`."""
        self._check_secrecy()
        session = json.loads(await self._sent(self._http.build_request("POST", f"{BASE}/sessions", json=dict(given))))
        self._http.headers["X-CSRF-Token"] = session["csrf"]

    async def log_out(self) -> None:
        """End that session."""
        await self._sent(self._http.build_request("DELETE", f"{BASE}/sessions/current"))

    def _check_secrecy(self) -> None:
        if self._is_clear:
            raise Refused(f"a secret would be sent to {self._server} in clear text; use https://")

    async def ask(self, operation: Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        request = self._request(operation, *args, **kwargs)
        try:
            content = await self._answer(request, operation)
            if operation.answer is None:
                return cast(R, None)
            return cast(R, TypeAdapter(operation.answer).validate_json(content))
        except ValidationError as error:
            (first, *_) = error.errors()
            field = ".".join(map(str, first["loc"]))
            raise await self._of_releases(f"its answer cannot be read: {field}: {first['msg']}") from None
        except _NotThere as error:
            raise await self._of_releases(str(error)) from None

    async def _of_releases(self, sentence: str) -> Refused:
        """Add the versions of both sides to an error that another release of the server causes."""
        content = await self._sent(self._http.build_request("GET", f"{BASE}/version"))
        theirs, own = json.loads(content)["version"], shoal_version()
        cure = "" if theirs == own else f"; the server is of version {theirs}, and this shoal of {own}: use one of that"
        return Refused(f"{self._server}: {sentence}{cure}")

    async def stream(self, operation: StreamOperation[P], *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[bytes]:
        given = operation.signature.bind(*args, **kwargs).arguments
        query: StreamQuery = given.pop(QUERY)
        offset, end = query.offset or 0, None if query.limit is None else (query.offset or 0) + query.limit
        away_since_s: float | None = None
        has_begun, with_gaps, missed = False, WithGaps(), 0
        while True:
            limit = None if end is None else end - offset
            rest = query.model_copy(update={"offset": offset, "limit": limit})
            request = self._request(operation, **given, query=rest)
            request.headers["Accept"] = "text/plain"  # the bytes themselves, not events
            try:
                response = await self._opened(request)
                head = response.headers.get("X-Shoal-Log-First", "")  # what is before it was discarded
                first = max(offset, int(head)) if re.fullmatch("[0-9]{1,18}", head) else offset
                missed += first - offset if has_begun else 0
                has_begun, away_since_s, offset = True, None, first
                try:
                    async for part in response.aiter_raw():
                        offset += len(part)
                        yield with_gaps.next(part, missed)
                        missed = 0
                    if missed:
                        yield with_gaps.next(b"", missed)
                    return
                except httpx.HTTPError as error:
                    raise self._away(error) from error
                finally:
                    await response.aclose()
            except Unavailable as error:
                if not (has_begun or isinstance(error, _Away)):
                    raise  # its answer says that it cannot be read, for example because a worker is gone
                away_since_s = away_since_s or time.monotonic()
                if time.monotonic() + PAUSE_S_MAX > away_since_s + self._retry_within_s:
                    raise
            await asyncio.sleep(PAUSE_S_MAX)

    def _request(self, operation: Operation[Any, Any], *args: Any, **kwargs: Any) -> httpx.Request:
        given = operation.signature.bind(*args, **kwargs).arguments
        query, body = given.pop(QUERY, None), given.pop(BODY, None)
        path = operation.path.format(**{name: quote(str(value), safe="") for name, value in given.items()})
        headers = {"If-Match": "*", "Idempotency-Key": str(uuid.uuid4())} if operation.changes else {}
        return self._http.build_request(
            operation.method,
            BASE + path,
            params=_fields(query) if query is not None else None,
            json=_fields(body) if body is not None else None,
            headers=headers,
        )

    async def _answer(self, request: httpx.Request, operation: Operation[Any, Any]) -> bytes:
        """The body of the answer; retried while the server does not answer.

        Raises `Unknown` if the answer to a change was lost that must not be sent again.
        """
        is_once = operation.has_secret and operation.changes
        until_s, pause_s = None, 0.1
        while True:
            try:
                return await self._sent(request)
            except (Unavailable, Unknown) as error:
                if is_once and (isinstance(error, Unknown) or (isinstance(error, _Away) and not error.never_sent)):
                    raise self._lost(operation, error) from error
                now_s = time.monotonic()
                until_s = until_s or now_s + self._retry_within_s
                if now_s + pause_s > until_s:
                    raise
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_S_MAX)

    def _lost(self, operation: Operation[Any, Any], error: Exception) -> Unknown:
        what = operation.tag.replace("-", " ")
        return Unknown(
            f"the answer to {operation.name} was lost, and it may have been done: check the {what} of {self._server} "
            f"before you ask again ({error})"
        )

    async def _sent(self, request: httpx.Request) -> bytes:
        """The body of the answer. Raises the error in a problem document."""
        response = await self._opened(request)
        try:
            return await response.aread()
        except httpx.HTTPError as error:
            raise self._away(error) from error
        finally:
            await response.aclose()

    async def _opened(self, request: httpx.Request) -> httpx.Response:
        """An open answer, to be read and closed. Raises the error in a problem document."""
        try:
            response = await self._http.send(request, stream=True)
            if response.is_success:
                return response
            await response.aread()
        except httpx.HTTPError as error:
            raise self._away(error) from error
        try:
            problem = response.json()
            code, detail = str(problem["code"]), str(problem["detail"])
        except (ValueError, KeyError, TypeError):
            sentence = f"the server {self._server} answered {response.status_code}, and not as Shoal does; is it one?"
            raise (_Away if response.status_code >= 500 else Refused)(sentence) from None
        if code in (NO_SUCH_ADDRESS.code, NO_SUCH_METHOD.code):
            raise _NotThere(detail)
        after = response.headers.get("Retry-After", "")
        raise error_of(code, detail, float(after) if after.isdecimal() else 1.0)

    def _away(self, error: httpx.HTTPError) -> _Away:
        never_sent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        cure = "; SSL_CERT_FILE names a file with its CA" if _is_distrust(error) else ""
        return _Away(
            f"the server {self._server} does not answer: {error or type(error).__name__}{cure}", never_sent=never_sent
        )


def _is_distrust(error: BaseException | None) -> bool:
    """Whether the cause is a certificate that no CA of this machine signed."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


def _fields(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_defaults=True)
