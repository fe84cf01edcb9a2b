"""One API process: the application behind a socket. It has no state; any number of them may run."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import structlog
import uvicorn

from api.app import create_app
from api.connections import ApiConnection, TlsConnection
from api.heavy import HeavyRequests
from api.housekeeping import delete_expired
from api.large_bulk import go_on
from api.open_streams import OpenStreams
from api.page import Page
from api.rate_limits import RateLimits
from api.sending import STALLED_S_MAX
from api.settings import ApiSettings
from model.errors import Refused, Unavailable
from node.cluster_figures import show_figures
from service.call import Backend
from service.live.hub import Hub
from service.live.watchers import recheck_in

log = structlog.get_logger()

STOP_S_MAX = 5
HEADERS_BYTES_MAX = 32_768
IDLE_S_MAX = 30
BACKLOG = 1024
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class ApiServer:
    """Serves the API.

    Args:
        backend: what it works on.
        settings: its own.
        version: of Shoal.
        open_backend: opens such a backend in another process, where heavy requests are handled.
        page: the web page; None = the installed one.

    Raises `Refused` if its certificate cannot be read.
    """

    def __init__(
        self,
        backend: Backend,
        settings: ApiSettings,
        version: str,
        open_backend: Callable[[], Backend],
        page: Page | None = None,
    ) -> None:
        self._tls: ssl.SSLContext | None = None
        if settings.certificate is not None:
            try:
                self._tls = context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
                context.load_cert_chain(settings.certificate, settings.private_key)
            except OSError as error:
                raise Refused(
                    f"the API cannot be served by TLS with api.certificate {settings.certificate}: {error}; it must "
                    f"contain a certificate in PEM, and api.private_key its key"
                ) from None
        self._settings = settings
        self._backend = backend
        self._version = version
        self._page = page
        self._heavy = HeavyRequests(open_backend, version, settings.request_cpu_s)
        self._listener: socket.socket | None = None
        self._server: _QuietServer | None = None

    @property
    def url(self) -> str:
        """Its address for people, once it has started."""
        assert self._listener is not None
        return self._settings.url(self._listener.getsockname()[1])

    def listen(self) -> None:
        """Take the address. Raises `Refused` if another process has it, or it is not one of this machine."""
        settings = self._settings
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        # Named, since asyncio lets only the connections of such a one send at once what follows a head (TCP_NODELAY):
        # otherwise each answer waits for the client's delayed acknowledgement, 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Its connections have it too: one whose client reads nothing is ended with what is buffered for it.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(STALLED_S_MAX * 1000))
            listener.bind((settings.host, settings.port))
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            raise Refused(
                f"the API cannot listen on {settings.host}:{settings.port} ({error.strerror}); stop what has that "
                f"address, or give another --port"
            ) from None
        self._listener = listener

    async def serve(self, stop: asyncio.Event) -> None:
        """Answer requests until `stop` is set; then those that have begun, for a few seconds."""
        settings = self._settings
        assert self._listener is not None
        hub = Hub(self._backend.database, recheck_in(self._backend.database))
        streams = OpenStreams(settings.streams_max, settings.account_streams_max)
        limits = RateLimits(settings.address_requests_per_s, settings.account_requests_per_s)
        begun = asyncio.Event()
        backend = replace(self._backend, large_bulk=begun)
        page = await asyncio.to_thread(Page.installed) if self._page is None else self._page
        # In a thread: with its many routes it takes a second, in which a transaction on this loop would be ended.
        made_of = (backend, hub, self._version, streams, limits, page)
        app = await asyncio.to_thread(
            create_app, *made_of, hosts=self._hosts(), root_path=settings.root_path, heavy=self._heavy
        )
        made = partial(ApiConnection, line={}, connections_max=settings.connections_max, root_path=settings.root_path)
        tls = self._tls
        # Without uvicorn's TLS, in which a connection exists only after the handshake.
        connections = made if tls is None else lambda **named: TlsConnection(made(**named), tls)
        self._server = _QuietServer(
            uvicorn.Config(
                app,
                http=connections,  # type: ignore[arg-type]
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=bool(settings.proxies),
                forwarded_allow_ips=list(settings.proxies),
                h11_max_incomplete_event_size=HEADERS_BYTES_MAX,
                timeout_keep_alive=IDLE_S_MAX,
                timeout_graceful_shutdown=STOP_S_MAX,
            )
        )
        serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        stopping = asyncio.create_task(stop.wait())
        watching = asyncio.create_task(hub.run())
        deleting = asyncio.create_task(delete_expired(self._backend.database))
        changing = asyncio.create_task(go_on(self._backend.database, begun))
        showing = asyncio.create_task(show_figures(self._backend.database))
        try:
            await asyncio.wait({serving, stopping, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not stop.is_set():
                raise Unavailable("the API's server ended")
        finally:
            stopping.cancel()
            watching.cancel()
            deleting.cancel()
            changing.cancel()
            showing.cancel()
            self._server.should_exit = True
            await serving
            await self._heavy.close()
            self._listener.close()

    def _hosts(self) -> set[str]:
        """The names that requests may name. Beyond loopback without any, every name is right: it is behind a proxy."""
        settings = self._settings
        if not settings.hosts and settings.host not in LOOPBACK and settings.host != "::1":
            return set()
        return {*LOOPBACK, settings.host.lower(), *(host.lower() for host in settings.hosts)}


class _QuietServer(uvicorn.Server):
    """A uvicorn that leaves the signals to its process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield
