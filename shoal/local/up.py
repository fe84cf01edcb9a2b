"""`shoal up`: everything on this machine, in one folder, until Ctrl-C.

A separate PostgreSQL, its schema, masters, workers, an API and a sender of alerts as processes. The first start makes
an admin, saves the sample workflow and runs it once. A child that dies is restarted, with growing pauses. All of it
ends with this process, however that ends.
"""

from __future__ import annotations

import asyncio
import random
import shlex
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress

from dao.cluster.node_rows import NodeRow
from dao.postgres import schema
from dao.postgres.database import Database
from model.backoff import Backoff
from model.cluster.nodes import NodeKind
from model.errors import Refused, Unavailable
from service.callers import Caller
from service.secrets.key_settings import own_key_file
from shoal.backend import backend_of
from shoal.clients.direct import DirectClient
from shoal.config.settings import Settings
from shoal.config.whereabouts import LOG_STORE, default_folder, remove_whereabouts, write_whereabouts
from shoal.embedded.place import private_folder
from shoal.embedded.server import EmbeddedPostgres
from shoal.first_login import first_login
from shoal.local import example_runs, sample
from shoal.local.browser import open_page
from shoal.local.drill import DrillServer, socket_in
from shoal.local.local_cluster import ALERT, API, Child, LocalCluster
from shoal.local.up_options import UpOptions
from worker.attempts.tenants import runs_as_root

STEADY_AFTER_S = 60.0
"""A child that ran this long before it died is restarted at once."""

WORKER_DRAIN_S = 3.0
"""After Ctrl-C a user waits for the prompt: running tasks get less time than on a cluster, and run again next time."""

STOP_MARGIN_S = 20.0

AFTER_DRILL_S = 12.0
"""The pause before a master killed by a drill is restarted: longer than others need to fence it and take over its runs,
so that people can watch."""

AS_ROOT = (
    "you are root, and so is each task without a tenant: it can read the keys and the database of this cluster. "
    "Set worker.default_tenant, or start this as an ordinary user."
)

Say = Callable[[str], None]


class Up:
    """One `shoal up`.

    Args:
        settings: its folder and timing; masters and workers read the same from environment and file.
        options: what to start.
        say: called with a line for each event that is useful to the user.

    Raises `Refused` when settings contain another database or registry, which would be ignored.
    """

    def __init__(self, settings: Settings, options: UpOptions, say: Say) -> None:
        if settings.database_url is not None or settings.registry_url is not None:
            raise Refused(
                "`shoal up` brings its own database and registry: take --database-url, --registry-url and their "
                "SHOAL_ variables away, or run `shoal master` and `shoal worker` with them"
            )
        self.started = asyncio.Event()
        """Set when everything is started; before that, `serve` may be cancelled."""
        self._settings = settings
        self._folder = settings.data_folder
        self._options = options
        self._kinds = [NodeKind.MASTER] * options.masters + [NodeKind.WORKER] * options.workers
        self._say = say
        worker = settings.worker
        drain_s = worker.drain.total_seconds() if "drain" in worker.model_fields_set else WORKER_DRAIN_S
        self._for_children = {"SHOAL_WORKER__DRAIN": str(drain_s)}
        self._key_file = settings.secrets.key_file
        leave_s = max(settings.master.drain.total_seconds(), drain_s + settings.timing.kill_grace.total_seconds())
        self._patience_s = leave_s + STOP_MARGIN_S
        self._port = 0
        self._drill_socket = socket_in(self._folder / "cluster")

    async def serve(self, stop: asyncio.Event) -> None:
        """Start everything, keep it running until `stop` is set, and stop it in the reverse order.

        Raises:
            Refused: another process uses the folder, or its data is not usable by this program.
            Unavailable: something does not start; the message quotes it.
        """
        began_s = time.monotonic()
        async with AsyncExitStack() as running:
            server = EmbeddedPostgres(self._folder)
            url = await server.start(lambda sentence: self._say(f"  {sentence}"))
            running.push_async_callback(server.stop)
            self._line("PostgreSQL", f"{server.version}   started in {_since(began_s)}   (data in {self._folder})")
            database = Database(url, application_name="shoal-up", connections_max=2)
            running.push_async_callback(database.close)
            await schema.upgrade(database, nobody_runs=True)  # the processes of a previous `up` ended with its database
            keys = {"SHOAL_SECRETS__KEY_FILE": str((self._key_file or own_key_file(self._folder)).absolute())}
            store = self._settings.log_store.url or private_folder(self._folder / LOG_STORE).absolute().as_uri()
            api = self._settings.api
            self._port = _free_port(api.host, api.port, self._options.port)
            cluster = LocalCluster(
                url,
                private_folder(self._folder / "cluster"),
                settings={**self._for_children, **keys, "SHOAL_LOG_STORE__URL": store},
            )
            running.push_async_callback(self._stop, cluster)
            drill = DrillServer(cluster)
            if self._drill_socket is not None:
                await running.enter_async_context(drill.serve(self._drill_socket))
            login = await first_login(database, "shoal up")
            await self._start(cluster, login)
            write_whereabouts(self._folder, url, api.url(self._port))
            running.callback(remove_whereabouts, self._folder)
            await self._welcome(database, began_s)
            if self._options.opened:
                await asyncio.to_thread(open_page, f"{api.url(self._port)}{login or ''}")
            keepers = [asyncio.create_task(self._keep(cluster, child, drill)) for child in cluster.children]
            self.started.set()
            try:
                await stop.wait()
            finally:
                await _cancel(keepers)

    async def _start(self, cluster: LocalCluster, login: str | None) -> None:
        children = [await cluster.start(kind) for kind in self._kinds]
        api = await cluster.start(API, **self._port_of_api)
        sender = await cluster.start(ALERT)
        rows = {child.name: await cluster.joined(child) for child in children}
        rows |= await cluster.agreed()
        for name, row in rows.items():
            self._line(f"{row.kind.lower()} {name}", _described(row))
        try:
            self._line(f"api {api.name}", await self._joined(cluster, api))
        except Unavailable:
            if api.runs or self._options.port is not None:
                raise
            # Another process has taken the port since it was free.
            self._port = _free_port(self._settings.api.host, 0, None)
            api.settings = self._port_of_api
            await cluster.start_again(api)
            self._line(f"api {api.name}", await self._joined(cluster, api))
        self._line(f"alert {sender.name}", await self._joined(cluster, sender))
        if NodeKind.WORKER in self._kinds and runs_as_root(self._settings.worker):
            self._line("root", AS_ROOT)
        if login is not None:
            self._line("first login", f"{self._settings.api.url(self._port)}{login}   (once, within 5 minutes)")

    async def _joined(self, cluster: LocalCluster, child: Child) -> str:
        """Describe a child once it has started. Raises `Unavailable`."""
        if child.kind not in (API, ALERT):
            return _described(await cluster.joined(child))
        await cluster.answers(child)
        return self._settings.api.url(self._port) if child.kind == API else "sends alerts"

    @property
    def _port_of_api(self) -> Mapping[str, str]:
        drill = {} if self._drill_socket is None else {"SHOAL_API__DRILL_SOCKET": str(self._drill_socket)}
        return {"SHOAL_API__PORT": str(self._port), **drill}

    async def _welcome(self, database: Database, began_s: float) -> None:
        ready = f"  Ready in {_since(began_s)}."
        is_wanted = self._options.sample and NodeKind.WORKER in self._kinds
        client = DirectClient(backend_of(database, self._settings), Caller.of_system_user("shoal up"))
        end = await sample.run_once(database, client) if is_wanted else None
        if end is not None:
            ready += f' Sample workflow "{end.workflow}": {end.state}, {end.tasks} tasks, {end.took_s:.1f} s.'
        if self._options.examples is not None:
            self._line("examples", await example_runs.run_all(client, self._options.examples))
        self._say(f"{ready}   Ctrl-C stops everything cleanly.")
        first = f"run {sample.NAME} --wait" if self._options.sample else "workflow apply FILE"
        is_usual = self._folder == default_folder()
        found = "" if is_usual else f"export SHOAL_FOLDER={shlex.quote(str(self._folder.absolute()))}   "
        self._say(f"  In another terminal: {found}shoal {first}   shoal runs   shoal master list")

    async def _keep(self, cluster: LocalCluster, child: Child, drill: DrillServer) -> None:
        """Restart a child whenever it ends by itself."""
        backoff = Backoff(first_s=0.5, max_s=30)
        while True:
            began_s = time.monotonic()
            code = await child.ended()
            if time.monotonic() - began_s > STEADY_AFTER_S:
                backoff.reset()
            is_drill = child.name in drill.killed
            drill.killed.discard(child.name)
            pause_s = AFTER_DRILL_S if is_drill else backoff.next_pause_s(random.random())  # noqa: S311 - jitter
            self._say(
                f"  {child.name} ended with {code}: {child.last_words()} (log: {child.log}); "
                f"starting it again in {pause_s:.1f} s"
            )
            await asyncio.sleep(pause_s)
            await cluster.start_again(child)
            try:
                self._line(f"{child.kind.lower()} {child.name}", await self._joined(cluster, child))
            except Unavailable as error:
                self._say(f"  {error}")

    async def _stop(self, cluster: LocalCluster) -> None:
        began_s = time.monotonic()
        self._say("  Stopping …")
        await cluster.stop(self._patience_s)
        self._say(f"  Masters and workers stopped in {_since(began_s)}.")

    def _line(self, what: str, about: str) -> None:
        self._say(f"  {what:<14} {about}")


def _described(row: NodeRow) -> str:
    if row.heartbeat is None:
        return row.address
    if row.kind is NodeKind.MASTER:
        slot = row.heartbeat.slot
        return f"slot {slot.current} of {slot.total}   {row.address}" if slot else f"no slot yet   {row.address}"
    groups = ", ".join(row.heartbeat.groups)
    return f"group {groups}, {row.heartbeat.capacity} places   {row.address}"


def _since(began_s: float) -> str:
    return f"{time.monotonic() - began_s:.1f} s"


def _free_port(host: str, usual: int, wanted: int | None) -> int:
    """A free port: the wanted one, else the usual one, else any. Raises `Refused` if the wanted one is taken."""
    for port in (usual, 0) if wanted is None else (wanted,):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as holder, suppress(OSError):
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind((host, port))
            return int(holder.getsockname()[1])
    raise Refused(f"the API cannot be served on {host}:{wanted}; stop what has that address, or give another --port")


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
