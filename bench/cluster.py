"""Masters and workers as a user starts them, on one database of the bench's PostgreSQL; they end with the bench."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

from bench.costs import CostWatch
from bench.cpu import CpuWatch
from bench.server import BenchServer
from tests.servers.child import Child

# Settings that differ from the defaults, and are shown in the result. The limit of running workflows would make a
# master BUSY during a measurement of starts, in which no run ever ends.
SETTINGS = {
    "SHOAL_MASTER__MAX_RUNNING_WORKFLOWS": "2000000",
    "SHOAL_WORKER__CAPACITY": "256",
}
_JOIN_S = 30
_SLOT_QUERY = """
    SELECT count(*) FROM node n JOIN node_beat b ON b.node_id = n.id
    WHERE n.kind = 'MASTER' AND n.state = 'ALIVE' AND (b.heartbeat::json->>'slot_total')::int = %(masters)s
"""
_ENDED = """
    SELECT count(*) FROM workflow_instance
    WHERE command_id BETWEEN %(first)s AND %(last)s AND ended_at IS NOT NULL
"""
_TOOK = """
    SELECT extract(epoch FROM max(i.ended_at) - (SELECT max(created_at) FROM command_history
                                                 WHERE command_id BETWEEN %(first)s AND %(last)s))::float8
    FROM workflow_instance i WHERE i.command_id BETWEEN %(first)s AND %(last)s
"""


class BenchFailed(Exception):
    """A measurement could not be made; the text contains the reason."""


class Node:
    """One process of Shoal."""

    def __init__(self, role: str, folder: Path, environment: dict[str, str]) -> None:
        self.role = role
        self._log = folder / "log"
        folder.mkdir()
        self._child = Child.of(
            [sys.executable, "-m", "shoal", role], cwd=folder, log=self._log, environment={**os.environ, **environment}
        )
        self.pid = self._child.pid
        self._child.wait_until(lambda: '"joined"' in self._log.read_text(), _JOIN_S)

    def memory_bytes(self) -> int:
        """Resident memory of the process itself, without its launcher's small children."""
        return int(psutil.Process(self.pid).memory_info().rss)

    def check(self) -> None:
        """Raise `BenchFailed` if it has ended."""
        if not self._child.running:
            raise BenchFailed(f"a {self.role} ended in the midst of it:\n{self._child.log_tail()}")

    def warnings(self) -> list[str]:
        """The names of the warnings and errors in its log."""
        found = []
        for line in self._log.read_text().splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                found.append(line)
                continue
            if event.get("level") in ("warning", "error", "critical"):
                found.append(str(event.get("event")))
        return found

    def metrics_url(self) -> str:
        """The URL of its metrics."""
        lines = (json.loads(line) for line in self._log.read_text().splitlines())
        return next(str(line["url"]) for line in lines if line.get("event") == "metrics_served")

    def stop(self) -> None:
        """SIGTERM, and SIGKILL if it takes too long."""
        self._child.end(signal.SIGTERM, timeout_s=20)

    def kill(self) -> None:
        """SIGKILL at once: it drives too many runs for a failover to be worthwhile."""
        self._child.kill()


class Cluster:
    """One database and the processes on it. Use it as a context manager."""

    def __init__(self, server: BenchServer, name: str, masters: int, workers: int, **extra: str) -> None:
        self._server = server
        self._database = server.database(name)
        self.name = name
        self._wanted = (masters, workers)
        self._extra = extra
        self._started = 0
        self.nodes: list[Node] = []

    def __enter__(self) -> Cluster:
        self._database.__enter__()
        try:
            self.connection = self._server.connect(self.name, as_shoal=True)
            self._start_nodes(*self._wanted)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        for node in self.nodes:
            node.kill()
        self.connection.close()
        self._database.__exit__(None, None, None)

    def _start_nodes(self, masters: int, workers: int) -> None:
        environment = {
            "SHOAL_DATABASE_URL": self._server.url(self.name),
            "SHOAL_LOG_FORMAT": "json",
            **SETTINGS,
            **self._extra,
        }
        for role in ["master"] * masters + ["worker"] * workers:
            folder = self._server.folder / f"{self.name}-{role}-{self._started}"
            self._started += 1
            self.nodes.append(Node(role, folder, {**environment, "SHOAL_WORKER__FOLDER": str(folder / "data")}))
        self.wait_until(
            lambda: self.one(_SLOT_QUERY, masters=masters) == masters, 20, "the masters shared out the slots"
        )

    @contextmanager
    def running(self, masters: int, workers: int) -> Iterator[None]:
        """Add these processes within the block, which lets all runs end or no process follow it."""
        before = len(self.nodes)
        self._start_nodes(masters, workers)
        try:
            yield
        finally:
            for node in self.nodes[before:]:
                node.stop()
            del self.nodes[before:]

    @property
    def url(self) -> str:
        """The URL of its database."""
        return self._server.url(self.name)

    @property
    def server_pid(self) -> int:
        """The first process of its PostgreSQL."""
        return self._server.pid

    def node(self, role: str) -> Node:
        """The first process of this role."""
        return next(node for node in self.nodes if node.role == role)

    def cpu(self) -> CpuWatch:
        """Start measuring CPU use by process."""
        parts: dict[str, list[int]] = {}
        for node in self.nodes:
            parts.setdefault(node.role, []).append(node.pid)
        return CpuWatch({**parts, "postgres": [self._server.pid]})

    @contextmanager
    def costs(self) -> Iterator[CostWatch]:
        """Count what is done in its database, for the duration of the block."""
        with self._server.connect("postgres") as connection:
            yield CostWatch(connection, self.name)

    def define(self, code: int, tasks: Sequence[dict[str, Any]], **fields: object) -> None:
        """Save a workflow; `fields` are those of its definition other than the tasks."""
        self.connection.execute(
            "INSERT INTO workflow_definition (code, name) VALUES (%s, %s)", (code, f"workflow-{code}")
        )
        self.connection.execute(
            "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (%s, 1, %s)",
            (code, json.dumps({"tasks": list(tasks), **fields})),
        )

    def start(self, code: int, count: int = 1) -> tuple[int, int]:
        """Insert this many commands in one statement; returns the ids of the first and the last."""
        first, last = self.row(
            """WITH asked AS (
                   INSERT INTO command (type, workflow_code)
                   SELECT 'START_PROCESS', %(code)s FROM generate_series(1, %(count)s) RETURNING id
               ) SELECT min(id), max(id) FROM asked""",
            code=code,
            count=count,
        )
        return first, last

    def timed(self, code: int, count: int) -> float:
        """Start this many runs and wait until they have ended: seconds from the last command's `created_at` to the
        last run's `ended_at`."""
        first, last = self.start(code, count)
        self.wait_until_ended(first, last, count)
        return float(self.one(_TOOK, first=first, last=last))

    def wait_until_ended(self, first: int, last: int, count: int) -> None:
        """Wait until this many runs have ended, of the commands between these two; reads no others."""
        self.wait_until(lambda: bool(self.one(_ENDED, first=first, last=last) == count), 300, "all workflows had ended")

    def rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self.connection.execute(query.encode(), values).fetchall()

    def row(self, query: str, **values: object) -> tuple[Any, ...]:
        """The single row of a query."""
        [found] = self.rows(query, **values)
        return found

    def one(self, query: str, **values: object) -> Any:
        """The single value of a query."""
        return self.row(query, **values)[0]

    def wait_until(self, ready: Callable[[], bool], timeout_s: float, what: str, every_s: float = 0.1) -> None:
        """Poll until `ready`. Raises `BenchFailed` after `timeout_s`, or when a process ends."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            for node in self.nodes:
                node.check()
            if time.monotonic() > deadline:
                raise BenchFailed(f"it took longer than {timeout_s:g} s until {what}")
            time.sleep(every_s)

    def wait_until_taken(self, count: int, timeout_s: float) -> None:
        """Wait until this many runs were created in this database; reads only a sequence, which costs nothing."""
        query = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM workflow_instance_id_seq"
        self.wait_until(lambda: self.one(query) >= count, timeout_s, f"{count:,} workflows were started")

    def wait_until_all_ended(self, timeout_s: float) -> None:
        """Wait until no command waits and no run is unfinished."""
        query = """SELECT NOT EXISTS (SELECT FROM command) AND NOT EXISTS
                   (SELECT FROM workflow_instance WHERE ended_at IS NULL)"""
        self.wait_until(lambda: bool(self.one(query)), timeout_s, "all workflows had ended", every_s=0.2)
        bad = self.one("SELECT count(*) FROM workflow_instance WHERE state <> 'SUCCESS'")
        if bad:
            raise BenchFailed(f"{bad} workflow instances did not end as SUCCESS")


def fake(name: str, *after: str, **params: object) -> dict[str, Any]:
    """A FAKE task of a definition."""
    return {"name": name, "type": "FAKE", "after": list(after), "params": params}
