"""The registry in ZooKeeper: ephemeral znodes `<root>/masters/<epoch>` and `<root>/workers/<epoch>`.

An epoch is written with 19 digits, so that names sort like numbers; it is never used twice, so a new life never meets
its old entry. One task corrects the entry: at least every third of the session time-out, and at once
after a reconnect, it writes the entry and checks that it is still ours. That write also proves that our session lives.
So nothing depends on ZooKeeper notifying us of a loss.

ZooKeeper ends sessions and deletes their entries in two steps, sometimes long after the client has a new session: an
entry of our own epoch that belongs to another session is deleted and created again.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta

from dao.logger import logger
from dao.postgres.listen import Listener
from model.cluster.nodes import Heartbeat, NodeKind
from model.errors import Denied, Refused, Unavailable
from registry.clock import boottime_s
from registry.contact import Contact
from registry.ensemble import Ensemble
from registry.entry import EntryReader, write_entry
from registry.kazoo_bridge import KazooBridge, Owner
from registry.protocol import ConnectionState

log = logger()

_FOLDERS = {NodeKind.MASTER: "masters", NodeKind.WORKER: "workers"}
_CLOSE_S = 2.0
_RETRY_S = 1.0
_OPEN_AGAIN_S = 0.2
_EPOCH_DIGITS = 19  # of the largest bigint


class ZooKeeperRegistry:
    """`registry.protocol.Registry` by ZooKeeper. Watches begin with the first `members` of a kind.

    Args:
        ensemble: servers, root and credentials.
        session_timeout: how long other nodes still see us after we are gone.
    """

    def __init__(self, ensemble: Ensemble, *, session_timeout: timedelta) -> None:
        self.url = str(ensemble)
        self.changed = asyncio.Event()
        self._ensemble = ensemble
        self._session_timeout = session_timeout
        self._prove_every_s = session_timeout.total_seconds() / 3
        self._contact = Contact(session_timeout)
        self._entries = EntryReader(self.url)
        self._bridge: KazooBridge | None = None
        self._correcting: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._connected = asyncio.Event()
        self._entry_lock = asyncio.Lock()
        self._wanted: Heartbeat | None = None
        self._mark: str | None = None
        self._text: str | None = None
        """What is to be remembered and is not yet."""
        self._made: str | None = None
        """The path of an entry that may exist, wanted or not."""

    @property
    def state(self) -> ConnectionState:
        return self._contact.state

    @property
    def last_contact(self) -> float:
        return self._contact.last_s

    @property
    def unbroken_since(self) -> float:
        return self._contact.unbroken_since_s

    async def open(self, timeout_s: float) -> None:
        """Connect and create the folders.

        Raises:
            Unavailable: no server answered within `timeout_s` seconds.
            Refused: a server answered, but denies these credentials access to the root.
        """
        bridge = self._bridge = KazooBridge(
            self._ensemble,
            self._session_timeout,
            on_connection=self._connection_changed,
            on_children=self.changed.set,
        )
        try:
            async with asyncio.timeout(timeout_s):
                await self._connected.wait()
                await self._make_folders(bridge)
        except Denied as error:
            await self.close()
            raise Refused(str(error)) from error
        except TimeoutError:
            await self.close()
            raise Unavailable(
                f"no server of the registry {self.url} answered within {timeout_s:g} s; is ZooKeeper running there?"
            ) from None
        except BaseException:
            await self.close()
            raise
        self._wake.clear()
        self._correcting = asyncio.create_task(self._correct(), name="registry-entry")

    async def _make_folders(self, bridge: KazooBridge) -> None:
        """Again and again: that a server was too busy for one request says nothing of the next one."""
        while True:
            try:
                for kind in NodeKind:
                    await bridge.children(self._folder(kind))
                await self._prove()
                return
            except Denied:
                raise
            except Unavailable:
                await asyncio.sleep(_OPEN_AGAIN_S)
                bridge.revive(is_over=False)

    def use(self, ears: Listener) -> None:
        """Watches need no connection to the database."""

    async def close(self) -> None:
        """Delete our entry and end the session."""
        if self._correcting is not None:
            self._correcting.cancel()
            await asyncio.wait([self._correcting])
            self._correcting = None
        if self._bridge is None:
            return
        with contextlib.suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self.unregister()
        await self._bridge.close(_CLOSE_S)
        self._bridge = None
        self._contact.over()

    async def register(self, heartbeat: Heartbeat) -> None:
        """Create our entry. If this raises `Unavailable`, the entry still appears as soon as a server accepts it."""
        self._wanted = heartbeat
        await self._prove()

    async def update(self, heartbeat: Heartbeat) -> None:
        """Write the latest heartbeat, now or when a server answers again. Does nothing before `register`."""
        if self._wanted is None:
            return
        self._wanted = heartbeat
        with contextlib.suppress(Unavailable):
            await self._prove()

    async def unregister(self) -> None:
        """Delete our entry. If this raises `Unavailable`, it is deleted as soon as a server answers."""
        self._wanted = None
        await self._prove()

    async def members(self, kind: NodeKind) -> list[Heartbeat]:
        """A fresh read, which also sets the watch again."""
        bridge = self._connected_bridge()
        folder = self._folder(kind)
        names = await bridge.children(folder)
        texts = await asyncio.gather(*(bridge.read(f"{folder}/{name}") for name in names))
        found = ((name, text) for name, text in zip(names, texts, strict=True) if text is not None)
        return self._entries.read(kind, found)

    async def read_mark(self) -> str | None:
        found = await self._connected_bridge().read(self._mark_path)
        return found.decode(errors="replace") if found else None

    async def set_mark(self, mark: str) -> str:
        """See the protocol. Servers with empty folders get the mark again from a node that was connected before."""
        await self._connected_bridge().create(self._mark_path, mark.encode())
        self._mark = await self.read_mark() or mark
        return self._mark

    def remember(self, text: str | None) -> None:
        """See the protocol. It is written beside the entry, at least every third of the session time-out."""
        self._text = text

    async def remembered(self) -> str | None:
        found = await self._connected_bridge().read(self._text_path)
        return found.decode(errors="replace") if found else None

    async def forget(self) -> None:
        await self._connected_bridge().delete(self._text_path)

    @property
    def _mark_path(self) -> str:
        return f"{self._ensemble.root}/cluster"

    @property
    def _text_path(self) -> str:
        return f"{self._ensemble.root}/database"

    async def _correct(self) -> None:
        """Prove the session and maintain the entry, until cancelled."""
        proved, is_new = True, False
        while True:
            due_s = self._prove_every_s - self._contact.silent_s if proved else _RETRY_S
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, due_s)):
                    await self._wake.wait()
            reconnected = self._wake.is_set()
            self._wake.clear()
            proved, is_new = False, is_new or reconnected
            try:
                self._connected_bridge().revive(is_over=self.state is ConnectionState.LOST)
                await self._prove()
                proved = True
                if is_new and self._mark is not None:
                    await self._connected_bridge().create(self._mark_path, self._mark.encode())
                is_new = False
            except Exception as error:  # noqa: BLE001 - whatever the error, the entry must be retried
                if self._contact.up:
                    log.warning("registry_entry_unproved", registry=self.url, error=str(error), so="it tries again")
            if reconnected:
                log.info("registry_connected", registry=self.url)
                self.changed.set()

    async def _prove(self) -> None:
        """Bring the entry to its wanted state, by at least one round trip that proves the session."""
        bridge = self._connected_bridge()
        async with self._entry_lock:
            sent_s = boottime_s()
            if self._wanted is not None:
                await self._correct_entry(bridge, self._wanted)
            elif self._made is not None:
                await bridge.delete(self._made)
                self._made = None
            else:
                await bridge.ensure_folder(self._ensemble.root)
            await self._write_text(bridge)
            self._contact.proved(sent_s)

    async def _write_text(self, bridge: KazooBridge) -> None:
        text, self._text = self._text, None
        if text is not None and await bridge.write(self._text_path, text.encode()) is Owner.NOBODY:
            await bridge.create(self._text_path, text.encode())

    async def _correct_entry(self, bridge: KazooBridge, heartbeat: Heartbeat) -> None:
        path = f"{self._folder(heartbeat.kind)}/{heartbeat.epoch:0{_EPOCH_DIGITS}}"
        self._made = path
        data = write_entry(heartbeat).encode()
        # The worst sequence: another session's entry, no entry, created, ours.
        for _ in range(4):
            match await bridge.write(path, data):
                case Owner.US:
                    return
                case Owner.OTHER:
                    await bridge.delete(path)
                case Owner.NOBODY:
                    await bridge.create_ephemeral(path, data)
                    log.info("registry_entry_made", registry=self.url, kind=heartbeat.kind, epoch=heartbeat.epoch)
        raise Unavailable(f"our entry {path} in the registry {self.url} does not stay; see who else writes there")

    def _connection_changed(self, connected: bool | None) -> None:
        if connected:
            self._connected.set()
            self._wake.set()
            return
        if connected is None:
            self._contact.over()
        self._contact.up = False
        if self._correcting is not None:
            log.warning("registry_disconnected", registry=self.url, state=self.state, so="members are as last read")

    def _connected_bridge(self) -> KazooBridge:
        if self._bridge is None:
            raise Unavailable(f"the registry {self.url} is not open")
        return self._bridge

    def _folder(self, kind: NodeKind) -> str:
        return f"{self._ensemble.root}/{_FOLDERS[kind]}"
