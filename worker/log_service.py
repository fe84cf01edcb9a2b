"""Serves the task logs of this worker's disk over HTTP, from the worker's own event loop.

`GET /log/{date}/{code}/{instance}/{task_instance}?offset=N&limit=M` gives bytes, at most 1 MiB a call, and the size of
the whole log in `X-Shoal-Log-Size`; who follows a log asks again from where it got to. `GET /healthz` needs no token.

Logs may tell more than they should, so beyond this machine they are only given for a token. Without one only callers
that name a loopback host are answered: a web page that points its own name at 127.0.0.1 does not.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from model.errors import NotFound, Refused, Unavailable
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from worker.task_log import LogName, read_log

SLICE_BYTES_MAX = 1 << 20
CONNECTIONS_MAX = 100
STOP_S_MAX = 2
ID_DIGITS_MAX = 19
"""As many as a bigint has."""


class LogService:
    """The HTTP server of one worker, between `start` and `stop`."""

    def __init__(self, root: Path, host: str = "127.0.0.1", port: int = 0, token: str | None = None) -> None:
        """`port` 0 takes any free one. `token` is what callers send as `Authorization: Bearer`.

        Raises:
            Refused: an address that others can reach, and no token.
        """
        if not token and not _is_loopback(host):
            raise Refused(f"logs are not served on {host} without a token: set a log token, or listen on 127.0.0.1")
        self._root = root
        self._host = host
        self._port = port
        self._token = token.encode() if token else None
        self._server: _QuietServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._listener: socket.socket | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and the real port, known once it has started."""
        return self._host, self._port

    async def start(self) -> None:
        """Listen and answer.

        Raises:
            Unavailable: the address is taken or is not ours.
        """
        self._listener = self._listen()
        app = Starlette(
            routes=[
                Route("/healthz", self._healthz, methods=["GET"]),
                Route("/log/{date}/{code}/{instance}/{task_instance}", self._log, methods=["GET"]),
            ]
        )
        self._server = _QuietServer(
            uvicorn.Config(
                app,
                log_config=None,
                log_level="warning",
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                limit_concurrency=CONNECTIONS_MAX,
                timeout_graceful_shutdown=STOP_S_MAX,
            )
        )
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))

    async def stop(self) -> None:
        """Answer what has been asked, for two seconds at most, and stop listening."""
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._serving
        if self._listener is not None:
            self._listener.close()  # uvicorn leaves it open if it is stopped before it has begun

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self._host, self._port))
            listener.listen(CONNECTIONS_MAX)  # at once: who reads our address now may connect now
        except OSError as error:
            listener.close()
            raise Unavailable(f"logs cannot be served on {self._host}:{self._port}: {error.strerror}") from error
        self._port = listener.getsockname()[1]
        return listener

    async def _healthz(self, _request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _log(self, request: Request) -> Response:
        if not self._may_read(request):
            return PlainTextResponse("a valid token is needed\n", 401, {"WWW-Authenticate": "Bearer"})
        try:
            name = _name_of(request)
            offset = _number("offset", request.query_params.get("offset", "0"))
            limit = _number("limit", request.query_params.get("limit", str(SLICE_BYTES_MAX)))
            part = await asyncio.to_thread(read_log, self._root, name, offset, min(limit, SLICE_BYTES_MAX))
        except NotFound as error:
            return PlainTextResponse(f"{error}\n", 404)
        except Refused as error:
            return PlainTextResponse(f"{error}\n", 400)
        headers = {"X-Shoal-Log-Size": str(part.size), "X-Content-Type-Options": "nosniff"}
        return Response(part.data, media_type="application/octet-stream", headers=headers)

    def _may_read(self, request: Request) -> bool:
        if self._token is None:
            return _is_loopback(request.url.hostname or "")
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        sent = given.encode("latin-1")  # as Starlette decoded it: the bytes that came
        return scheme.lower() == "bearer" and secrets.compare_digest(sent, self._token)


class _QuietServer(uvicorn.Server):
    """A uvicorn that leaves the signals to the worker, which has tasks to end first."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _name_of(request: Request) -> LogName:
    given = request.path_params
    return LogName(
        given["date"],
        WorkflowCode(_number("code", given["code"])),
        WorkflowInstanceId(_number("instance", given["instance"])),
        TaskInstanceId(_number("task_instance", given["task_instance"])),
    )


def _number(what: str, text: str) -> int:
    """Digits only: no sign, no blank, no digits of other scripts, all of which `int` would take."""
    if not (text.isascii() and text.isdecimal() and len(text) <= ID_DIGITS_MAX):
        raise Refused(f"{what} must be a number of at most {ID_DIGITS_MAX} digits")
    return int(text)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
