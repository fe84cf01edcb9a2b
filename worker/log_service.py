"""Serves the task logs of this worker's disk over HTTP, from the worker's own event loop.

`GET /log/{date}/{code}/{instance}/{task_instance}?offset=N&limit=M&expires=T&signature=S` returns at most 1 MiB a
call, and the size of the whole log in `X-Shoal-Log-Size`; to follow a log, a client asks again from the end of the last
part. Bytes before `X-Shoal-Log-First` were discarded, and are zeros. Only requests with a valid signature are answered
(`model/log_signature.py`). `GET /healthz` needs no signature.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dao.tasks import log_keys
from model.errors import Fenced, NotFound, Refused, ShoalError, Unavailable
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.log_name import LogName
from model.log_signature import TIME_HEADER, check
from node.life import Life
from registry.clock import boottime_s
from worker.log_connections import CONNECTIONS_MAX, LogConnection
from worker.task_log import read_log

log = structlog.get_logger()

SLICE_BYTES_MAX = 1 << 20
STOP_S_MAX = 2
PUBLISH_AGAIN_S = 2.0
_ONCE = {"Connection": "close"}
ID_DIGITS_MAX = 19
"""The number of digits of a bigint."""


class LogService:
    """The HTTP server of one worker, between `start` and `stop`."""

    def __init__(
        self,
        root: Path,
        key: str,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        certificate: Path | None = None,
        private_key: Path | None = None,
    ) -> None:
        """`port` 0 takes any free one. Requests are signed with `key`. With a certificate it uses TLS.

        Raises:
            Refused: the certificate or its key cannot be read.
        """
        self._tls = certificate is not None
        if certificate is not None:
            try:
                ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, private_key)
            except OSError as error:
                raise Refused(
                    f"logs cannot be served by TLS with worker.log_certificate {certificate}: {error}; it must contain "
                    f"a certificate in PEM, and worker.log_private_key its key"
                ) from None
        self._certificate = certificate
        self._private_key = private_key
        self._root = root
        self._host = host
        self._port = port
        self._key = key
        self._server: _QuietServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._listener: socket.socket | None = None
        self._publishing: asyncio.Task[None] | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and the real port, known once it has started."""
        return self._host, self._port

    @property
    def scheme(self) -> str:
        """The scheme of its address: http or https."""
        return "https" if self._tls else "http"

    async def start(self) -> None:
        """Listen and answer.

        Raises:
            Unavailable: the address is taken or does not belong to this machine.
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
                http=partial(LogConnection, line={}),  # type: ignore[arg-type]
                ssl_certfile=self._certificate,
                ssl_keyfile=self._private_key,
                timeout_graceful_shutdown=STOP_S_MAX,
            )
        )
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))

    def publish_key(self, life: Life) -> None:
        """Write the key with which requests are signed in this life to the database, as soon as possible."""
        if self._publishing is not None:
            self._publishing.cancel()
        self._publishing = asyncio.create_task(self._publish(life))

    async def _publish(self, life: Life) -> None:
        while True:
            try:
                async with life.writing() as connection:
                    await log_keys.publish(connection, life.me.epoch, self._key)
                return
            except Fenced:
                return  # the next life writes it
            except ShoalError as error:
                log.warning("log_key_unpublished", error=str(error))
            await asyncio.sleep(PUBLISH_AGAIN_S)

    async def stop(self) -> None:
        """Answer pending requests, for two seconds at most, and stop listening."""
        if self._publishing is not None:
            self._publishing.cancel()
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
            listener.listen(CONNECTIONS_MAX)  # at once: a client that reads our address may connect immediately
        except OSError as error:
            listener.close()
            raise Unavailable(f"logs cannot be served on {self._host}:{self._port}: {error.strerror}") from error
        self._port = listener.getsockname()[1]
        return listener

    async def _healthz(self, _request: Request) -> Response:
        return PlainTextResponse("ok\n", 200, _ONCE)

    async def _log(self, request: Request) -> Response:
        try:
            check(self._key, request.url.path, request.query_params, boottime_s())
        except Refused as error:
            return PlainTextResponse(
                f"{error}\n", 401, {"WWW-Authenticate": "Shoal", TIME_HEADER: f"{boottime_s():.3f}", **_ONCE}
            )
        try:
            name = _name_of(request)
            offset = _number("offset", request.query_params.get("offset", "0"))
            limit = _number("limit", request.query_params.get("limit", str(SLICE_BYTES_MAX)))
            part = await asyncio.to_thread(read_log, self._root, name, offset, min(limit, SLICE_BYTES_MAX))
        except NotFound as error:
            return PlainTextResponse(f"{error}\n", 404, _ONCE)
        except Unavailable as error:
            return PlainTextResponse(f"{error}\n", 503, _ONCE)
        except Refused as error:
            return PlainTextResponse(f"{error}\n", 400, _ONCE)
        facts = {"X-Shoal-Log-Size": str(part.size), "X-Shoal-Log-First": str(part.first)}
        headers = {**facts, "X-Content-Type-Options": "nosniff", **_ONCE}
        return Response(part.data, media_type="application/octet-stream", headers=headers)


class _QuietServer(uvicorn.Server):
    """A uvicorn that leaves the signals to the worker, which must end its tasks first."""

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
