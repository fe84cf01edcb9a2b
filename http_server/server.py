"""A server: it listens, uses TLS if there is a certificate, and answers in the caller's loop or in a thread of its own.

Of uvicorn it has the protocol, not the server: that one takes the signals of its process, wakes ten times a second, and
does not know of connections before their TLS handshake.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial

from uvicorn.config import Config
from uvicorn.server import ServerState

from http_server.asgi import STALLED_S_MAX, App, all_in_use
from http_server.connections import Connection, Line, TlsConnection
from http_server.limits import Limits
from model.errors import Refused

LOOK_S = 0.02
START_S_MAX = 10.0


def listen(host: str, port: int, limits: Limits, *, what: str, instead: str) -> socket.socket:
    """A socket that has this address; port 0 = any free one.

    Args:
        what: is served, in words.
        instead: how to choose another port.

    Raises `Refused`: another process has the address, or it is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, since asyncio lets only the connections of such a one send at once what follows a head (TCP_NODELAY):
    # otherwise each answer waits for the client's delayed acknowledgement, 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Its connections have it too: one whose client reads nothing is ended with what is buffered for it.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(STALLED_S_MAX * 1000))
        listener.bind((host, port))
        listener.listen(
            limits.at_once
        )  # at once: a client may connect as soon as it knows our address, before the server has started
    except OSError as failed:
        listener.close()
        raise Refused(
            f"{what} cannot be served on {host}:{port} ({failed.strerror}); stop what has that address, or {instead}"
        ) from None
    return listener


class HttpServer:
    """Answers requests on a socket that listens, between `start` and `stop`.

    Args:
        app: answers them.
        listener: the socket; closed by `stop`.
        limits: what clients may take.
        tls: gives what the next connection uses; for https.
        full: answers when all connections have requests.
        proxies: addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.
    """

    def __init__(
        self,
        app: App,
        listener: socket.socket,
        limits: Limits,
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        full: App = all_in_use,
        proxies: Collection[str] = (),
    ) -> None:
        self._app = app
        self._listener = listener
        self._limits = limits
        self._tls = tls
        self._proxies = list(proxies)
        self._line = Line(limits, full)
        self._state = ServerState()
        self._accepting: asyncio.Server | None = None

    async def start(self) -> None:
        """Begin to answer, in the loop that runs. Raises `OSError` for want of descriptors."""
        config = Config(
            self._app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # what clients send wrongly is no line of the log
            access_log=False,
            proxy_headers=bool(self._proxies),
            forwarded_allow_ips=self._proxies,
            h11_max_incomplete_event_size=self._limits.head_bytes,
            timeout_keep_alive=self._limits.idle_s,
        )
        config.load()
        made = partial(Connection, config, self._state, self._line)
        tls, handshake_s = self._tls, self._limits.head_s
        # Without the loop's own TLS, in which a connection exists only after the handshake.
        connections: Callable[[], asyncio.BaseProtocol] = (
            made if tls is None else lambda: TlsConnection(made(), tls(), handshake_s)
        )
        self._accepting = await asyncio.get_running_loop().create_server(
            connections, sock=self._listener, backlog=self._limits.at_once
        )

    async def stop(self) -> None:
        """Accept no more, answer requests that have begun, for some seconds at most, and close all."""
        if self._accepting is not None and self._accepting.is_serving():
            # A client that has just been accepted has a place in the line some turns of the loop later. When asyncio
            # closes, it loses the clients without a place: they would wait for ever.
            asyncio.get_running_loop().remove_reader(self._listener)
            await asyncio.sleep(LOOK_S)
            self._accepting.close()
        self._listener.close()
        for connection in list(self._line):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.stop_s):
                while self._line or self._state.tasks:  # noqa: ASYNC110 - uvicorn tells nobody of their ends
                    await asyncio.sleep(LOOK_S)
        for connection in list(self._line):
            self._line.end(connection)
        for task in self._state.tasks:
            task.cancel()


@contextmanager
def in_thread(server: HttpServer, name: str) -> Iterator[None]:
    """Serve during the block in a thread with a loop of its own, which answers though the caller's loop hangs.

    Raises:
        OSError: it cannot start, for want of descriptors.
        TimeoutError: it has not started within 10 seconds.
    """
    started: Future[Callable[[], object]] = Future()
    thread = threading.Thread(target=_run, args=(server, started), name=name, daemon=True)
    thread.start()
    stop = started.result(START_S_MAX)
    try:
        yield
    finally:
        with suppress(RuntimeError):  # its loop has ended
            stop()
        thread.join(START_S_MAX)


def _run(server: HttpServer, started: Future[Callable[[], object]]) -> None:
    try:
        asyncio.run(_serve(server, started))
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)


async def _serve(server: HttpServer, started: Future[Callable[[], object]]) -> None:
    stop = asyncio.Event()
    try:
        await server.start()
        started.set_result(partial(asyncio.get_running_loop().call_soon_threadsafe, stop.set))
        await stop.wait()
    finally:
        await server.stop()
