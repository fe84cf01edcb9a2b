"""One API process: the application behind a socket. It has no state; any number of them may run."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from dataclasses import replace

from starlette.types import Receive, Scope, Send

from api import problems
from api.app import create_app
from api.heavy import HeavyRequests
from api.housekeeping import delete_expired
from api.large_bulk import go_on
from api.middleware import HEALTH
from api.settings import ApiSettings
from api.web_page import Page
from dao.secrets.certificate import Certificate
from http_server.limits import Limits
from http_server.server import HttpServer, listen
from metrics.health import Health
from model.errors import Unavailable
from node.cluster_gauges import show_figures
from node.vitals import hears
from service import error_codes as kinds
from service.call import Backend
from service.live.hub import Hub
from service.live.watchers import recheck_in

STOP_S_MAX = 5
HEAD_S_MAX = 10.0
BODY_S_MAX = 60.0
HEAD_BYTES_MAX = 32_768


class ApiServer:
    """Serves the API.

    Args:
        backend: what it works on.
        settings: its own.
        version: of Shoal.
        open_backend: opens such a backend in another process, where heavy requests are handled.
        page: the web page; None = the installed one.
        health: learns whether it serves.

    Raises `Refused` if its certificate cannot be read.
    """

    def __init__(
        self,
        backend: Backend,
        settings: ApiSettings,
        version: str,
        open_backend: Callable[[], Backend],
        page: Page | None = None,
        health: Health | None = None,
    ) -> None:
        self._tls = Certificate.named(settings.certificate, settings.private_key, what="the API", settings="api.")
        always = {f"{below}{path}" for below in ("", settings.root_path) for path in HEALTH}
        most = settings.connections_max
        self._limits = Limits(most, HEAD_S_MAX, BODY_S_MAX, HEAD_BYTES_MAX, always=always, stop_s=STOP_S_MAX)
        self._settings = settings
        self._backend = backend
        self._version = version
        self._page = page
        self._health = health or Health()
        self._heavy = HeavyRequests(open_backend, version, settings.request_cpu_s)
        self._listener: socket.socket | None = None

    @property
    def url(self) -> str:
        """Its address for people, once it has started."""
        assert self._listener is not None
        return self._settings.url(self._listener.getsockname()[1])

    def listen(self) -> None:
        """Take the address. Raises `Refused` if another process has it, or it is not one of this machine."""
        host, port = self._settings.host, self._settings.port
        self._listener = listen(host, port, self._limits, what="the API", instead="give another --port")

    async def serve(self, stop: asyncio.Event) -> None:
        """Answer requests until `stop` is set; then those that have begun, for a few seconds."""
        settings = self._settings
        assert self._listener is not None
        hub = Hub(self._backend.database, recheck_in(self._backend.database))
        begun = asyncio.Event()
        backend = replace(self._backend, large_bulk=begun)
        page = await asyncio.to_thread(Page.installed) if self._page is None else self._page
        # In a thread: with its many routes it takes a second, in which a transaction on this loop would be ended.
        app = await asyncio.to_thread(create_app, backend, hub, self._version, settings, page, self._heavy)
        server = HttpServer(
            app,
            self._listener,
            self._limits,
            tls=self._tls,
            full=self._all_in_use,
            proxies=settings.proxies,
        )
        stopping = asyncio.create_task(stop.wait())
        watching = asyncio.create_task(hub.run())
        deleting = asyncio.create_task(delete_expired(self._backend.database))
        changing = asyncio.create_task(go_on(self._backend.database, begun))
        showing = asyncio.create_task(show_figures(self._backend.database))
        try:
            await server.start()
            with self._health.judged_by(ready=[hears(hub.ears)]):
                await asyncio.wait({stopping, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not stop.is_set():
                raise Unavailable("the API's server ended")
        finally:
            for task in (stopping, watching, deleting, changing, showing):
                task.cancel()
            await server.stop()
            await self._heavy.close()

    async def _all_in_use(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = f"all {self._limits.connections} connections are in use; ask again, or raise api.connections_max"
        await problems.problem(kinds.UNAVAILABLE, said, secrets.token_hex(8))(scope, receive, send)
