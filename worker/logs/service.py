"""Serves the task logs of this worker's disk over HTTP, from the worker's own event loop.

`GET /log/{date}/{code}/{instance}/{task_instance}?offset=N&limit=M&expires=T&signature=S` returns at most 1 MiB a call,
and the size of the whole log in `X-Shoal-Log-Size`; to follow a log, a client asks again from the end of the last part.
Bytes before `X-Shoal-Log-First` were discarded, and are zeros. Only requests with a valid signature are answered
(`model/logs/signature.py`). `GET /healthz` needs no signature.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dao.secrets.certificate import Certificate
from dao.tasks import task_logs
from http_server.limits import Limits
from http_server.server import HttpServer, listen
from model.errors import Fenced, NotFound, Refused, ShoalError, Unavailable
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logs.name import LogName
from model.logs.signature import TIME_HEADER, check
from node.life import Life
from registry.clock import boottime_s
from worker.logs.task_log import read_log

log = structlog.get_logger()

SLICE_BYTES_MAX = 1 << 20
LIMITS = Limits(
    connections=100, head_s=5, body_s=5, connection_s=30, head_bytes=16_384, one_request=True, at_once=64, stop_s=2
)
"""A client must have sent its request and read the answer within `connection_s`."""
PUBLISH_AGAIN_S = 2.0
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
        self._tls = Certificate.named(certificate, private_key, what="logs", settings="worker.log_")
        self._root = root
        self._host = host
        self._port = port
        self._key = key
        self._server: HttpServer | None = None
        self._publishing: asyncio.Task[None] | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and the real port, known once it has started."""
        return self._host, self._port

    @property
    def scheme(self) -> str:
        """The scheme of its address: http or https."""
        return "https" if self._tls is not None else "http"

    async def start(self) -> None:
        """Listen and answer.

        Raises:
            Refused: the address is taken or does not belong to this machine.
        """
        listener = listen(self._host, self._port, LIMITS, what="logs", instead="set another worker.log_port")
        self._port = listener.getsockname()[1]
        app = Starlette(
            routes=[
                Route("/healthz", self._healthz, methods=["GET"]),
                Route("/log/{date}/{code}/{instance}/{task_instance}", self._log, methods=["GET"]),
            ]
        )
        self._server = HttpServer(app, listener, LIMITS, tls=self._tls)
        await self._server.start()

    def publish_key(self, life: Life) -> None:
        """Write the key that signs requests in this life to the database, as soon as possible."""
        if self._publishing is not None:
            self._publishing.cancel()
        self._publishing = asyncio.create_task(self._publish(life))

    async def _publish(self, life: Life) -> None:
        while True:
            try:
                await life.write(task_logs.publish_key, life.me.epoch, self._key)
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
        if self._server is not None:
            await self._server.stop()

    async def _healthz(self, _request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _log(self, request: Request) -> Response:
        try:
            check(self._key, request.url.path, request.query_params, boottime_s())
        except Refused as error:
            told = {"WWW-Authenticate": "Shoal", TIME_HEADER: f"{boottime_s():.3f}"}
            return PlainTextResponse(f"{error}\n", 401, told)
        try:
            name = _name_of(request)
            offset = _number("offset", request.query_params.get("offset", "0"))
            limit = _number("limit", request.query_params.get("limit", str(SLICE_BYTES_MAX)))
            part = await asyncio.to_thread(read_log, self._root, name, offset, min(limit, SLICE_BYTES_MAX))
        except NotFound as error:
            return PlainTextResponse(f"{error}\n", 404)
        except Unavailable as error:
            return PlainTextResponse(f"{error}\n", 503)
        except Refused as error:
            return PlainTextResponse(f"{error}\n", 400)
        facts = {"X-Shoal-Log-Size": str(part.size), "X-Shoal-Log-First": str(part.first)}
        headers = {**facts, "X-Content-Type-Options": "nosniff"}
        return Response(part.data, media_type="application/octet-stream", headers=headers)


def _name_of(request: Request) -> LogName:
    given = request.path_params
    return LogName(
        given["date"],
        WorkflowCode(_number("code", given["code"])),
        WorkflowInstanceId(_number("instance", given["instance"])),
        TaskInstanceId(_number("task_instance", given["task_instance"])),
    )


def _number(what: str, text: str) -> int:
    """Parse digits only: no sign, blank or digits of other scripts, all of which `int` accepts."""
    if not (text.isascii() and text.isdecimal() and len(text) <= ID_DIGITS_MAX):
        raise Refused(f"{what} must be a number of at most {ID_DIGITS_MAX} digits")
    return int(text)
