"""`shoal up`: everything on this machine, in one folder, until Ctrl-C.

An own PostgreSQL, its schema, masters and workers as processes. The first time it saves the sample workflow and runs
it once. A child that dies is started again, less and less eagerly. All of it ends with this process, however that ends.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from dao import commands, definitions, schema
from dao.database import Database
from dao.nodes import NodeRow
from model.backoff import Backoff
from model.errors import Refused
from model.nodes import NodeKind
from shoal.embedded.place import private_folder
from shoal.embedded.server import EmbeddedPostgres
from shoal.local_cluster import Child, LocalCluster
from shoal.settings import Settings
from shoal.waiting import RunEnd, follow_command
from shoal.whereabouts import remove_whereabouts, write_whereabouts
from shoal.workflow_file import read_workflow_files

SAMPLE_WITHIN_S = 30
STEADY_AFTER_S = 60
"""A child that ran so long before it died is started again at once."""

Tell = Callable[[str], None]


class Up:
    """One `shoal up`. `serve` runs it.

    Args:
        settings: for the folder and the times; masters and workers read the same from environment and file.
        masters, workers: how many of each.
        tell: gets a line for each thing that a person would like to know.
    """

    def __init__(self, settings: Settings, masters: int, workers: int, tell: Tell) -> None:
        if settings.database_url is not None or settings.registry_url is not None:
            raise Refused(
                "`shoal up` brings its own database and registry; take away SHOAL_DATABASE_URL and SHOAL_REGISTRY_URL "
                "(or the flags), or start `shoal master` and `shoal worker` on them"
            )
        self._settings = settings
        self._counts = {NodeKind.MASTER: masters, NodeKind.WORKER: workers}
        self._tell = tell
        self._stopping = False

    async def serve(self, stop: asyncio.Event) -> None:
        """Start everything, keep it running until `stop` is set, stop everything.

        Raises:
            Refused: another process uses the folder, or its data is not for this program.
            Unavailable: something does not start.
        """
        began_s = time.monotonic()
        server = EmbeddedPostgres(self._settings.data_folder)
        url = await server.start(lambda sentence: self._tell(f"  {sentence}"))
        try:
            self._line("PostgreSQL", f"{server.version}, started in {_since(began_s)} (own copy, data in {server.folder})")
            await self._serve_on(url, stop, began_s)
        finally:
            await server.stop()

    async def _serve_on(self, url: str, stop: asyncio.Event, began_s: float) -> None:
        database = Database(url, application_name="shoal-up", connections_max=2)
        folder = private_folder(self._settings.data_folder / "cluster")
        try:
            await schema.upgrade(database)
            async with LocalCluster(url, folder, settings=self._for_children()) as cluster:
                keepers: list[asyncio.Task[None]] = []
                try:
                    await _unless(stop, self._start(cluster, database, began_s))
                    keepers = [asyncio.create_task(self._keep(cluster, child)) for child in cluster.children]
                    write_whereabouts(self._settings.data_folder, url)
                    await stop.wait()
                finally:
                    self._stopping = True
                    remove_whereabouts(self._settings.data_folder)
                    for keeper in keepers:
                        keeper.cancel()
                    stopped_s = time.monotonic()
                    self._tell("  Stopping …")
                    await cluster.stop(self._patience_s())
            self._tell(f"  Stopped in {_since(stopped_s)}.")
        finally:
            await database.close()
'''
