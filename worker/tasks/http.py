"""HTTP: one request; its status and body decide, and parts of the response become values for later tasks.

The connection is direct: no proxy, no `.netrc` and no certificate settings of the worker's own environment are used. No
part of a header or a query is ever written to the log or into a reason; an address is shown as its definer wrote it.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from importlib import import_module
from typing import Annotated, Any, Literal, Self

import httpx
from pydantic import Field, field_validator, model_validator

from model.cluster.means import is_passing
from model.errors import Refused
from model.parameters.json_values import Missing, parse_json
from worker.secrets.masking import Masking
from worker.tasks.http_request import basic_authorization, request_body, request_headers, request_url, shown_url
from worker.tasks.inserted import mark, plain
from worker.tasks.json_path import parse_path, value_at
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult

REDIRECTS_MAX = 10
OUTPUT_CHARACTERS_MAX = 65_536
"""The maximum length of one value from the response."""

LOGGED_CHARACTERS_MAX = 2_000
"""How much of an unexpected response is shown in the log."""

_STATUS = re.compile(r"([1-5])xx|([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?", re.IGNORECASE)
_OUTPUT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_SENDS = ("send_request_headers.started", "send_request_body.started")
"""Suffixes of the names of httpcore's trace events before a connection is written to."""

_LOADED_LATE = ("anyio._backends._asyncio", "encodings.idna")
_OWN_OUTPUTS = ("status", "body")
_OF_HOST_NAMES = frozenset({"idna", "punycode"})
"""Python codecs that a server may name although they encode no texts; a megabyte takes minutes of processor time."""


class HttpTask(Task):
    """One attempt of an HTTP task."""

    class Params(TaskParams):
        """The request, the expected response, and the outputs. Times in seconds, sizes in bytes or characters."""

        url: str = Field(min_length=1)
        method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET"
        headers: dict[str, str] = Field(default_factory=dict)
        user: str | None = None
        password: str | None = None
        query: dict[str, str | int | float | list[str | int | float]] = Field(default_factory=dict)
        body: str | dict[str, Any] | list[Any] | None = None
        timeout_s: float = Field(default=60, gt=0, le=86_400)
        connect_timeout_s: float = Field(default=10, gt=0, le=600)
        expected_status: list[int | str] = Field(default=["2xx"], min_length=1)
        body_contains: str | None = None
        body_not_contains: str | None = None
        outputs: dict[str, str] = Field(default_factory=dict)
        output_body_characters: int = Field(default=1_000, ge=0, le=OUTPUT_CHARACTERS_MAX)
        response_bytes_max: Annotated[int, Field(gt=0, le=268_435_456)] = 1_048_576
        follow_redirects: bool = False
        verify: bool = True
        ca_file: str | None = None

        @field_validator("expected_status")
        @classmethod
        def _are_statuses(cls, given: list[int | str]) -> list[int | str]:
            for each in given:
                if not _STATUS.fullmatch(str(each)):
                    raise ValueError(f"{each!a} is not a status; write 200, 200-204 or 2xx")
            return given

        @model_validator(mode="after")
        def _agree_who_asks(self) -> Self:
            if (self.user is None) != (self.password is None):
                raise ValueError("user and password go together; give both or none")
            if self.user is not None and any(name.lower() == "authorization" for name in self.headers):
                raise ValueError("user and password make the header Authorization; remove one of them")
            return self

        @field_validator("outputs")
        @classmethod
        def _are_paths(cls, given: dict[str, str]) -> dict[str, str]:
            for name, path in given.items():
                if not _OUTPUT_NAME.fullmatch(name) or name in _OWN_OUTPUTS:
                    raise ValueError(f"{name!a} cannot be the name of a value; {' and '.join(_OWN_OUTPUTS)} are taken")
                try:
                    parse_path(path)
                except Refused as error:
                    raise ValueError(str(error)) from None
            return given

        def expects(self, status: int) -> bool:
            """Whether a status is among the expected ones."""
            return any(_first(each) <= status <= _last(each) for each in map(str, self.expected_status))

    params: Params
    starts_processes = False
    below_keeper = True

    @classmethod
    def prepare(cls) -> None:
        """Load the usual certificates and httpx's lazy modules: each takes longer than most requests."""
        httpx.AsyncClient(verify=_tls(True, None), trust_env=False)
        for name in _LOADED_LATE:
            import_module(name)

    insert = staticmethod(mark)  # what is safe differs between URL, header and body

    async def run(self, context: TaskContext) -> TaskResult:
        """Send the request and evaluate the response. A cancellation closes the connection."""
        params = self.params
        shown = f"{params.method} {shown_url(params.url)}"
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        try:
            async with asyncio.timeout(params.timeout_s):
                headers = self._headers()
                request, client = await self._prepared(headers, context)
                async with client, _answer(client, request, params.follow_redirects) as response:
                    body = await _read(response, params.response_bytes_max)
        except TimeoutError:
            return TaskResult.failure(f"{shown}: no complete answer within {params.timeout_s:g} s")
        except httpx.ConnectTimeout:
            return TaskResult.failure(f"{shown}: no connection within {params.connect_timeout_s:g} s")
        except (httpx.LocalProtocolError, httpx.InvalidURL, httpx.UnsupportedProtocol):
            return TaskResult.failure(f"{shown}: the request cannot be sent, check its address and headers")
        except httpx.RequestError as error:
            return TaskResult.failure(f"{shown}: {_fault(error)}")
        except _Unwanted as error:
            return TaskResult.failure(f"{shown}: {error}")
        status = response.status_code
        context.log.write(f"{shown}: {status}, {len(body)} bytes in {loop.time() - began_s:.2f} s\n")
        text = _text_of(body, response.encoding)
        try:
            outputs = self._checked(response, text, context.value_bytes_max)
        except _Unwanted as error:
            _show(context, headers, text)
            return TaskResult.failure(f"{shown}: {error}")
        return TaskResult.success(outputs)

    def _headers(self) -> dict[str, str]:
        params = self.params
        headers = request_headers(params.headers)
        if params.user is not None and params.password is not None:
            headers["Authorization"] = basic_authorization(params.user, params.password)
        return headers

    async def _prepared(self, headers: dict[str, str], context: TaskContext) -> tuple[httpx.Request, httpx.AsyncClient]:
        params = self.params
        own_type = next((value for name, value in headers.items() if name.lower() == "content-type"), None)
        content, content_type = request_body(params.body, own_type, context.types)
        if content_type is not None and own_type is None:
            headers = {**headers, "Content-Type": content_type}
        # A compressed response can expand a thousand times: request it uncompressed.
        headers = {"Accept-Encoding": "identity", "User-Agent": "shoal", **headers}
        ca_file = plain(params.ca_file) if params.ca_file is not None else None
        try:
            # In a thread: reading the certificates takes longer than the loop may be blocked.
            tls = await asyncio.to_thread(_tls, params.verify, ca_file)
        except OSError as error:
            if is_passing(error):
                raise
            raise Refused(f"ca_file: no certificates can be read there: {error.strerror or error}") from None
        timeout = httpx.Timeout(None, connect=params.connect_timeout_s)
        client = httpx.AsyncClient(verify=tls, timeout=timeout, trust_env=False)
        url = request_url(params.url, params.query)

        async def before_it_is_sent(event: str, _details: object) -> None:
            if event.endswith(_SENDS):
                context.may_go_on()

        extensions = {"trace": before_it_is_sent}
        return client.build_request(params.method, url, headers=headers, content=content, extensions=extensions), client

    def _checked(self, response: httpx.Response, text: str, value_bytes_max: int) -> dict[str, str]:
        """The values for later tasks. Raises `_Unwanted` if the response is not as expected."""
        params = self.params
        status = response.status_code
        if not params.expects(status):
            wanted = ", ".join(map(str, params.expected_status))
            redirects = response.has_redirect_location
            cure = "; give the address it redirects to, or in an HTTP task follow_redirects" if redirects else ""
            raise _Unwanted(f"it answered {status}, expected was {wanted}{cure}")
        if params.body_contains is not None and plain(params.body_contains) not in text:
            raise _Unwanted("the body does not contain the text of body_contains")
        if params.body_not_contains is not None and plain(params.body_not_contains) in text:
            raise _Unwanted("the body contains the text of body_not_contains")
        body = text[: params.output_body_characters]
        return {"status": str(status), "body": body, **self._values(text, value_bytes_max)}

    def _values(self, text: str, bytes_max: int) -> dict[str, str]:
        if not self.params.outputs:
            return {}
        try:
            given = parse_json(text)
        except Refused:
            raise _Unwanted("the body is not JSON, and outputs has paths into it") from None
        values = {}
        for name, path in self.params.outputs.items():
            try:
                values[name] = value_at(given, parse_path(path))
            except Missing:
                raise _Unwanted(f'the body has nothing at {path} for "{name}"') from None
            if len(values[name]) > bytes_max:
                raise _Unwanted(f'what stands at {path} for "{name}" has over {bytes_max} characters')
        return values


class _Unwanted(Exception):
    """The response is not as expected; the text gives the reason without showing it."""


@lru_cache(maxsize=16)
def _tls(verify: bool, ca_file: str | None) -> ssl.SSLContext:
    """One context for all requests: reading the certificates takes milliseconds of CPU."""
    if verify and ca_file is not None:
        return ssl.create_default_context(cafile=ca_file)
    return httpx.create_ssl_context(verify=verify, trust_env=False)


@asynccontextmanager
async def _answer(client: httpx.AsyncClient, request: httpx.Request, follow: bool) -> AsyncIterator[httpx.Response]:
    """The response with its body unread, of the last redirect if redirects are to be followed.

    Another origin gets none of the definer's headers (one may be a password) and no body, and https never becomes http.
    """
    origin = _origin(request.url)
    for _ in range(REDIRECTS_MAX + 1):
        response = await client.send(request, stream=True)
        try:
            if not (follow and response.next_request is not None):
                yield response
                return
            following = response.next_request
        finally:
            await response.aclose()
        if request.url.scheme == "https" and following.url.scheme != "https":
            raise _Unwanted(f"it redirects from https to {following.url.scheme}, which anyone can read")
        if _origin(following.url) != origin:
            if following.headers.get("Content-Length", "0") != "0":
                raise _Unwanted(f"it redirects the body to {following.url.host}; name that address if it is meant")
            following = httpx.Request(
                following.method, following.url, headers={"Accept-Encoding": "identity"}, extensions=request.extensions
            )
        request = following
    raise _Unwanted(f"it redirects more than {REDIRECTS_MAX} times")


def _origin(url: httpx.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


async def _read(response: httpx.Response, bytes_max: int) -> bytes:
    """The whole body. Raises `_Unwanted` once it is larger, having read no more than that and one chunk."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > bytes_max:
            raise _Unwanted(
                f"its answer is larger than {bytes_max} bytes; raise response_bytes_max if that size is expected"
            )
    return bytes(body)


def _text_of(body: bytes, encoding: str | None) -> str:
    """The body in the encoding that its server names; in UTF-8 if it names none, or one that is none for texts."""
    with suppress(LookupError, UnicodeError):
        if encoding is not None and codecs.lookup(encoding).name not in _OF_HOST_NAMES:
            return body.decode(encoding, errors="replace")
    return body.decode(errors="replace")


def _fault(error: httpx.RequestError) -> str:
    if isinstance(error, httpx.ConnectError):
        return f"cannot connect: {error}"
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
        return "the connection was cut, or the response was not HTTP"
    return f"the answer could not be read ({type(error).__name__})"


def _show(context: TaskContext, headers: dict[str, str], text: str) -> None:
    """Log the beginning of a response; a server may send back our headers, so their values are masked."""
    words = [word for value in headers.values() for word in (value, *value.split())]
    shown = context.masked(Masking(words).masked(text))[:LOGGED_CHARACTERS_MAX]
    context.log.write(f"{shown}\n")


def _first(status: str) -> int:
    return int(status[:3].lower().replace("xx", "00"))


def _last(status: str) -> int:
    return int(status[-3:].lower().replace("xx", "99"))
