"""A cluster of real processes on real servers, as a test drives it: start, kill, stop, wake, and look."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import make_url

from tests.eventually import eventually
from tests.servers.child import Child
from tests.servers.warm import WarmProcess, can_begin_warm, run_verb

# Everything five times faster than in earnest, in the same proportions.
TIMING = {
    "SHOAL_TIMING__HEARTBEAT_EVERY": "0.4",
    "SHOAL_TIMING__SESSION_TIMEOUT": "2",
    "SHOAL_TIMING__MASTER_FENCE_AFTER": "2",
    "SHOAL_TIMING__KILL_GRACE": "1",
    "SHOAL_TIMING__WORKER_FENCE_AFTER": "5",
    "SHOAL_MASTER__STEAL_AFTER": "3",
    "SHOAL_MASTER__DRAIN": "0.5",
}
PATIENT = {
    **TIMING,
    "SHOAL_TIMING__SESSION_TIMEOUT": "10",
    "SHOAL_TIMING__MASTER_FENCE_AFTER": "10",
    "SHOAL_TIMING__WORKER_FENCE_AFTER": "20",
}
"""Where no test waits for a death: no machine is so busy that a node which lives is taken for dead."""


def without_haste(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with the real timing of masters and workers."""
    return {name: value for name, value in environment.items() if name not in TIMING}


class Node:
    """One master or worker process."""

    def __init__(self, cluster: Cluster, role: str, number: int, extra: Mapping[str, str]) -> None:
        self.log = cluster.folder / f"{role}-{number}.log"
        environment = {**os.environ, **cluster.environment, **extra}
        if cluster.before or not can_begin_warm(environment):
            command = [*cluster.before, sys.executable, "-m", "shoal", role]
            self._child = Child.of(command, cwd=cluster.folder, log=self.log, environment=environment)
        else:
            process = WarmProcess([role], environment=environment, cwd=cluster.folder, out=self.log, err=self.log)
            self._child = Child(process, self.log)
        self.pid = self._child.pid

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this process alone."""
        self._child.send(number)

    def kill(self) -> None:
        """SIGKILL to this process alone, and wait until it is gone."""
        self._child.end(signal.SIGKILL, 10)

    async def ended(self, within_s: float = 20) -> int:
        """Wait for its end; returns the exit code."""
        await eventually(lambda: not self._child.running, within_s=within_s)
        assert self._child.exit_code is not None
        return self._child.exit_code

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._child.running

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """SIGSTOP for the block, then SIGCONT."""
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)

    def events(self, name: str) -> list[dict[str, Any]]:
        """The lines of its log with this event."""
        return [event for event in self.lines() if event.get("event") == name]

    def lines(self) -> Iterator[dict[str, Any]]:
        for line in self.log.read_text().splitlines() if self.log.exists() else []:
            try:
                yield json.loads(line)
            except ValueError:
                yield {"event": line}

    @property
    def epoch(self) -> int:
        """The epoch of its latest life."""
        return int(self.events("joined")[-1]["epoch"])

    def close(self) -> None:
        """End it for sure."""
        self.signal(signal.SIGCONT)
        self._child.kill()


class Cluster:
    """Masters and workers on one database and one registry. Close it, or use it as a context."""

    def __init__(self, database_url: str, registry_url: str, folder: Path, timing: Mapping[str, str] = TIMING) -> None:
        self.folder = folder
        self.before: list[str] = []
        """The prefix of the command line of each process that is started from now on."""
        self.journal = Journal(folder / "journal")
        self.environment = {
            **timing,
            "SHOAL_DATABASE_URL": database_url,
            "SHOAL_REGISTRY_URL": registry_url,
            "SHOAL_LOG_FORMAT": "json",
        }
        self.nodes: list[Node] = []
        plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
        self.psql_url = plain
        self._connection: psycopg.Connection[Any] | None = None

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process."""
        for node in self.nodes:
            node.close()
        if self._connection is not None:
            self._connection.close()

    async def master(self, **extra: str) -> Node:
        """Start a master and wait until it has joined."""
        return await self._start("master", extra)

    async def worker(self, **extra: str) -> Node:
        """Start a worker and wait until it has joined."""
        folder = self.folder / f"worker-{len(self.nodes)}"
        return await self._start(
            "worker", {"SHOAL_WORKER__FOLDER": str(folder), "SHOAL_WORKER__CAPACITY": "32", **extra}
        )

    def begin(self, role: str, extra: Mapping[str, str]) -> Node:
        """Start a process that may not join at once."""
        node = Node(self, role, len(self.nodes), extra)
        self.nodes.append(node)
        return node

    async def _start(self, role: str, extra: Mapping[str, str]) -> Node:
        node = self.begin(role, extra)
        await eventually(lambda: node.events("joined") or not node.is_alive, within_s=60)
        assert node.is_alive, node.log.read_text()[-2000:]
        return node

    def shoal(self, *words: str) -> str:
        """The output of a verb."""
        answer = run_verb(words, {**os.environ, **self.environment}, cwd=self.folder)
        assert answer.code == 0, answer.err
        return answer.out

    def rows(self, query: str, *values: object) -> list[Any]:
        """The result of a query, on the test's own connection, which returns after a restart of the server."""
        if self._connection is None or self._connection.closed:
            # A test writes though it has made the database read-only for all others.
            own = conninfo_to_dict(self.psql_url).get("options", "")
            itself = f"{own} -c default_transaction_read_only=off"
            self._connection = psycopg.connect(self.psql_url, autocommit=True, options=itself)
        try:
            cursor = self._connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []
        except psycopg.OperationalError:
            self._connection.close()
            raise

    def ask_at(self, database_url: str) -> None:
        """Look at the database through another server from now on, since the former one is gone."""
        self.psql_url = database_url.replace("+psycopg", "")
        if self._connection is not None:
            self._connection.close()

    def one(self, query: str, *values: object) -> Any:
        """The single value that a query gives."""
        return self.rows(query, *values)[0][0]

    def define(self, code: int, name: str, **spec: Any) -> None:
        """Save a workflow by plain SQL, as a person may."""
        self.rows("INSERT INTO workflow_definition (code, name) VALUES (%s, %s)", code, name)
        self.rows(
            "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (%s, 1, %s)", code, json.dumps(spec)
        )

    def start(self, code: int, count: int = 1, params: str = "{}") -> None:
        """Insert commands, as a person may."""
        self.rows(
            "INSERT INTO command (type, workflow_code, params) "
            "SELECT 'START_PROCESS', %s, %s FROM generate_series(1, %s)",
            code, params, count,
        )  # fmt: skip

    def slots(self) -> dict[int, str]:
        """Each living master's own idea of its slot, by epoch, as its last beat tells it."""
        query = """SELECT n.id, b.heartbeat FROM node n JOIN node_beat b ON b.node_id = n.id
                   WHERE n.kind = 'MASTER' AND n.state = 'ALIVE' ORDER BY n.id"""
        told = {epoch: _object(heartbeat) for epoch, heartbeat in self.rows(query)}
        return {epoch: f"{beat.get('slot_current')}/{beat.get('slot_total')}" for epoch, beat in told.items()}

    async def slots_become(self, total: int, within_s: float = 20) -> None:
        """Wait until the masters hold the slots 0..total-1, in order of epoch."""
        wanted = [f"{current}/{total}" for current in range(total)]
        await eventually(lambda: list(self.slots().values()) == wanted, within_s=within_s)

    def unfinished(self) -> int:
        """Commands that wait and instances that run."""
        commands = self.one("SELECT count(*) FROM command")
        return int(commands + self.one("SELECT count(*) FROM workflow_instance WHERE ended_at IS NULL"))

    async def all_ends(self, within_s: float = 60) -> None:
        """Wait until nothing waits and nothing runs."""
        await eventually(lambda: self.unfinished() == 0, within_s=within_s)

    def check_exactly_once(self, starts: int) -> None:
        """The promise, from the tables and from what the tasks themselves wrote."""
        assert self.one("SELECT count(*) FROM command_history WHERE type = 'START_PROCESS'") == starts
        assert self.one("SELECT count(DISTINCT command_id) FROM workflow_instance") == starts
        assert self.one("SELECT count(*) FROM workflow_instance") == starts
        assert self.rows("SELECT reason FROM error_command") == []
        assert self.rows("SELECT state, reason FROM workflow_instance WHERE state <> 'SUCCESS' LIMIT 5") == []
        repeated = """SELECT workflow_instance_id, task_code FROM task_instance WHERE state = 'SUCCESS'
                      GROUP BY 1, 2 HAVING count(*) > 1"""
        assert self.rows(repeated) == []
        self.journal.check()


def _object(heartbeat: str) -> dict[str, Any]:
    """Parse a beat; a person may have overwritten it with anything."""
    try:
        told = json.loads(heartbeat)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


class Journal:
    """What SHELL tasks wrote about themselves: a line when one starts and one when it ends, in order of writing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def script(self, work: str = ":") -> str:
        """A script that keeps the journal around some work."""
        say = f'printf \'%s %s %s\\n\' {{}} "$SHOAL_TASK_KEY" "$SHOAL_ATTEMPT" >> {self.path}'
        return f"{say.format('start')}\n{work}\n{say.format('end')}\n"

    def lines(self) -> list[tuple[str, str, int]]:
        """(start or end, task key, attempt)."""
        text = self.path.read_text() if self.path.exists() else ""
        return [(what, key, int(attempt)) for what, key, attempt in (line.split() for line in text.splitlines())]

    def runs(self) -> dict[str, int]:
        """How often each task key was started."""
        counts: dict[str, int] = {}
        for what, key, _ in self.lines():
            if what == "start":
                counts[key] = counts.get(key, 0) + 1
        return counts

    def check(self) -> None:
        """No task ran twice at once, and none was started twice in the same attempt."""
        running: dict[str, int] = {}
        begun = set()
        for what, key, attempt in self.lines():
            if what == "start":
                assert (key, attempt) not in begun, f"{key} attempt {attempt} was started twice"
                assert key not in running, f"{key} started as attempt {attempt} while {running[key]} ran"
                begun.add((key, attempt))
                running[key] = attempt
            else:
                running.pop(key, None)
