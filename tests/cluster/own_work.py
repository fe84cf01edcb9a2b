"""Tasks whose work is their type's own code, on a worker that is frozen in the middle of it, for the tests of these.

The first attempt is brought to the moment before its effect and held there, from outside of the worker: by a lock in a
database, a handshake that does not go on, a server that is busy. Then the worker is frozen, what held the attempt lets
go, another worker runs the second attempt, and the first one thaws.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dao.postgres.database import Database
from dao.secrets import data_sources
from dao.secrets.vault import Vault, new_key
from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually
from worker.launcher.tree import descendants

HOLD = 4242
"""The key of the advisory lock that holds a statement."""


class OwnWork:
    """A cluster with one task, a master, and a worker that has begun it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.key = new_key()
        cluster.environment["SHOAL_SECRETS__KEYS"] = self.key

    async def data_source(self, name: str, url: str) -> None:
        """Save one."""
        database = Database(self.cluster.environment["SHOAL_DATABASE_URL"], application_name="shoal-test")
        try:
            async with database.writing() as connection:
                await data_sources.put(connection, name, url, Vault([self.key]))
        finally:
            await database.close()

    async def begin(self, type_: str, params: dict[str, Any]) -> Node:
        """The worker that runs the only task."""
        self.cluster.define(1, "one", tasks=[{"name": "a", "type": type_, "params": params}])
        await self.cluster.master()
        worker = await self.cluster.worker()
        self.cluster.start(1)
        return worker

    @contextmanager
    def frozen(self, worker: Node, *, whole: bool) -> Iterator[None]:
        """SIGSTOP for the block: of the worker alone, or with all below it, as a paused machine would be."""
        pids = [worker.pid, *(descendants(worker.pid) if whole else [])]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    async def fenced(self, worker: Node) -> None:
        """Once others may run its task."""
        state = "SELECT state FROM node WHERE id = %s"
        await eventually(lambda: self.cluster.one(state, worker.epoch), until="FENCED", within_s=30)

    async def second_attempt_succeeds(self) -> None:
        """Let the second attempt succeed on another worker."""
        await self.cluster.worker()
        query = "SELECT max(attempt) FROM task_instance WHERE state = 'SUCCESS'"
        await eventually(lambda: self.cluster.one(query) == 2, within_s=60)

    async def thawed(self, worker: Node) -> None:
        """Wait until the worker is back in the cluster, and nothing of its former life runs."""
        await eventually(lambda: len(worker.events("joined")) == 2, within_s=30)
        await eventually(lambda: not [pid for pid in descendants(worker.pid) if is_a_keeper(pid)], within_s=10)


def is_a_keeper(pid: int) -> bool:
    """Whether a process is a keeper, by its name."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == "shoal-keeper"
    except OSError:
        return False
