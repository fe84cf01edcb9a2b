"""The bridge between kazoo's threads and the event loop: the only module that uses kazoo.

Requests are sent from the loop (kazoo only queues them) and their answers come back as futures. Functions that run in
kazoo's own threads are named `_on_*`: they pass one call to the loop, never block and never call kazoo, which would
hang (python-zk/kazoo#355, #381). Only ending a session blocks; it gets a daemon thread and a deadline (#426).

kazoo reports LOST only once a server has reported it, and its watches may stop working permanently. So `Contact`
decides by its own clock whether the session is over, and a watch only wakes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, KazooException, NoAuthError, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.retry import KazooRetry
from kazoo.security import make_digest_acl

from model.errors import Denied, Unavailable
from registry.ensemble import Ensemble

# kazoo logs requests, passwords included, at DEBUG, and a warning for each failed attempt to connect.
_kazoo_log = logging.getLogger("shoal.kazoo")
_kazoo_log.addFilter(lambda record: record.levelno >= logging.ERROR)

# Without end, with pauses of at most 0.7 s plus 40 % jitter: kazoo's default doubles the pause up to an hour.
_RECONNECT: dict[str, Any] = {"max_tries": -1, "delay": 0.1, "max_delay": 0.7, "max_jitter": 0.4}
_ENDED = (KeeperState.CLOSED, KeeperState.AUTH_FAILED)


class Owner(Enum):
    """The owner of a znode."""

    US = "US"
    """Ephemeral, and of our current session."""
    OTHER = "OTHER"
    """Of another session, including a former one of ours, or of none."""
    NOBODY = "NOBODY"
    """There is no such znode."""


class KazooBridge:
    """One session with ZooKeeper, renewed automatically, for one event loop.

    Args:
        ensemble: the servers and the user. With credentials everything created is for that user alone.
        session_timeout: requested of the server, which may grant less or more within its own bounds.
        on_connection: called on the loop with True when a session is there (again), False when the connection is
            suspended, None when the session is over.
        on_children: called on the loop when children of a folder that was read may have come or gone.

    All requests raise `Unavailable` when no server answers in time (at once when that is known), or `Denied`.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        session_timeout: timedelta,
        *,
        on_connection: Callable[[bool | None], None],
        on_children: Callable[[], None],
    ) -> None:
        self._ensemble = ensemble
        self._session_timeout_s = session_timeout.total_seconds()
        self._request_timeout_s = max(1.0, self._session_timeout_s / 3)
        self._on_connection = on_connection
        self._on_children_changed = on_children
        self._loop = asyncio.get_running_loop()
        self._client = self._start()

    def revive(self, *, is_over: bool) -> None:
        """Recover where kazoo cannot do so by itself.

        It ends after an internal error: then a new client starts. And servers with empty folders or an older backup
        silently refuse clients that know a later transaction than they do. kazoo loses that transaction when a server
        reports the session as over; these servers never do.

        Args:
            is_over: the session is over, whatever a server would report.
        """
        if self._client.client_state in _ENDED:
            self._end_in_thread(self._client)
            self._client = self._start()
        elif is_over and not self._client.connected:
            self._client.last_zxid = 0

    async def close(self, deadline_s: float) -> None:
        """End the session; wait for that no longer than `deadline_s`. Never raises."""
        ended = self._end_in_thread(self._client)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline_s):
                await ended

    async def ensure_folder(self, path: str) -> None:
        """Create a persistent znode and its parents, unless they exist."""
        await self._ask(lambda client: client.ensure_path_async(path))

    async def children(self, path: str) -> list[str]:
        """The current names under a folder according to the leader, in no order; sets the watch.

        A missing folder is created, so that it can be watched.
        """
        for _ in range(3):
            try:
                return list(await self._ask(lambda client: self._read_children(client, path)))
            except NoNodeError:
                await self.ensure_folder(path)
        raise Unavailable(
            f"{path} in the registry {self._ensemble} vanishes as soon as it is made; find out who deletes it"
        )

    async def read(self, path: str) -> bytes | None:
        """A znode's data; None when it does not exist."""
        with contextlib.suppress(NoNodeError):
            data, _ = await self._ask(lambda client: client.get_async(path))
            return bytes(data)
        return None

    async def write(self, path: str, data: bytes) -> Owner:
        """Write a znode's data and return its owner. The write needs a quorum, so it also proves the session."""
        try:
            stat = await self._ask(lambda client: client.set_async(path, data))
        except NoNodeError:
            return Owner.NOBODY
        session = self._client.client_id
        return Owner.US if session is not None and stat.ephemeralOwner == session[0] else Owner.OTHER

    async def create_ephemeral(self, path: str, data: bytes) -> None:
        """Create a znode of our session, and its parents. Does nothing if it exists already: then check its owner."""
        with contextlib.suppress(NodeExistsError):
            await self._ask(lambda client: client.create_async(path, data, ephemeral=True, makepath=True))

    async def create(self, path: str, data: bytes) -> None:
        """Create a persistent znode, and its parents. Does nothing if it exists already."""
        with contextlib.suppress(NodeExistsError):
            await self._ask(lambda client: client.create_async(path, data, makepath=True))

    async def delete(self, path: str) -> None:
        with contextlib.suppress(NoNodeError):
            await self._ask(lambda client: client.delete_async(path))

    def _start(self) -> KazooClient:
        credentials = self._ensemble.credentials
        client = KazooClient(
            hosts=self._ensemble.hosts,
            timeout=self._session_timeout_s,
            connection_retry=KazooRetry(**_RECONNECT),
            # In the constructor: adding it later deadlocks with a retry (#229).
            auth_data=[("digest", f"{credentials.user}:{credentials.password}")] if credentials else None,
            default_acl=[make_digest_acl(credentials.user, credentials.password, all=True)] if credentials else None,
            logger=_kazoo_log,
        )
        client.add_listener(lambda state: self._on_state(client, state))
        try:
            client.start_async()
        except Exception:  # no descriptor or thread: the threads that it has started would stay
            client.handler.stop()
            raise
        return client

    def _read_children(self, client: KazooClient, path: str) -> Any:
        # Requests are served in order: the read waits until this server has caught up with the leader.
        client.sync_async(path)
        return client.get_children_async(path, watch=self._on_children)

    async def _ask(self, send: Callable[[KazooClient], Any]) -> Any:
        """Send one request and await its answer; raises NoNodeError and NodeExistsError, translates other errors."""
        client = self._client
        if not client.connected:
            raise Unavailable(f"no server of the registry {self._ensemble} answers; is ZooKeeper running there?")
        arrived: asyncio.Future[None] = self._loop.create_future()
        try:
            async with asyncio.timeout(self._request_timeout_s):
                answer = send(client)
                answer.rawlink(lambda _: self._on_answer(arrived))
                await arrived
                return answer.get_nowait()
        except (NoNodeError, NodeExistsError):
            raise
        except (NoAuthError, AuthFailedError) as error:
            raise Denied(
                f"the registry {self._ensemble} denies us access; "
                "give user:password@ of its owner in the registry URL, or another root"
            ) from error
        except (KazooException, KazooTimeoutError, TimeoutError) as error:
            raise Unavailable(f"the registry {self._ensemble} gave no answer: {type(error).__name__}") from error

    def _on_state(self, client: KazooClient, state: KazooState) -> None:
        """Runs in kazoo's thread."""
        self._call_on_loop(
            self._connection_changed, client, {KazooState.CONNECTED: True, KazooState.SUSPENDED: False}.get(state)
        )

    def _on_children(self, _event: object) -> None:
        """Runs in kazoo's thread. One bound method for all reads: kazoo stores it once per folder."""
        self._call_on_loop(self._on_children_changed)

    def _on_answer(self, arrived: asyncio.Future[None]) -> None:
        """Runs in one of kazoo's threads."""
        self._call_on_loop(_resolve, arrived)

    def _call_on_loop(self, function: Callable[..., None], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has been closed: nobody is left to notify
            self._loop.call_soon_threadsafe(function, *arguments)

    def _connection_changed(self, client: KazooClient, connected: bool | None) -> None:
        if client is self._client:
            self._on_connection(connected)

    def _end_in_thread(self, client: KazooClient) -> asyncio.Future[None]:
        ended: asyncio.Future[None] = self._loop.create_future()

        def end() -> None:
            try:
                client.stop()
                client.close()
            except Exception as error:  # noqa: BLE001 - the session then ends by its time-out
                _kazoo_log.error("a session did not end cleanly: %r", error)
            self._call_on_loop(_resolve, ended)

        try:
            threading.Thread(target=end, name="kazoo-end", daemon=True).start()
        except RuntimeError:  # the machine has no thread left: better block the loop than leave the session open
            end()
        return ended


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
