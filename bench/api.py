"""The REST API as clients see it: lists of a long history, starts, events, and what listeners cost."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import sys
import time
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager
from statistics import median
from typing import Any

import psutil
import psycopg

from bench import lists
from bench.cluster import BenchFailed, Cluster, fake
from bench.cpu import CpuWatch, work_told
from bench.figures import Figure, Target
from bench.http_client import HttpClient
from bench.server import BenchServer
from bench.sizes import Sizes
from model.accounts import tokens
from tests.servers.child import Child

PART = "REST API: one process of it, clients in another, over HTTP"
_BASE = "/api/v1"
_WORKFLOWS, _PROJECTS = 200, 10
_STARTED = 1
RARE = _WORKFLOWS
"""The workflow that hardly runs, and the only one of its project."""
_CLIENTS = 32
_STREAMS_MAX = 500
"""All listeners use one account, which normally may have fewer."""
_ADDRESS = re.compile(r"serves at http://127\.0\.0\.1:(\d+)")
_ASK = "INSERT INTO command (type, workflow_code) VALUES ('PAUSE', 1) RETURNING id"

_DEFINITIONS = """
    INSERT INTO workflow_definition (code, project, name)
    SELECT n, 'project-' || CASE WHEN n = %(rare)s THEN 'rare' ELSE (n %% %(projects)s)::text END, 'workflow-' || n
    FROM generate_series(2, %(workflows)s) AS n
"""
# One every 10 seconds. One in fifty failed; a few old ones were stopped, of a workflow that hardly runs; the newest
# tenth are children of runs of long ago; a few of the last still run.
_HISTORY = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, started_at, ended_at, schedule_time, parent_instance_id,
                                   parent_task_code, parent_attempt, child_index)
    SELECT -n, CASE WHEN n %% (%(count)s / 10) = 1 THEN %(rare)s ELSE 1 + n %% (%(rare)s - 1) END, 1,
           CASE WHEN n < 10 THEN 'STOP' WHEN n > %(count)s - 10 THEN 'RUNNING_EXECUTION' WHEN n %% 50 = 0 THEN 'FAILURE'
                ELSE 'SUCCESS' END,
           0, 'END', 'MEDIUM', 'default', at, CASE WHEN n <= %(count)s - 10 THEN at + interval '5 s' END, at,
           CASE WHEN is_child THEN 1 + n / 1000 END, CASE WHEN is_child THEN 1 END, CASE WHEN is_child THEN 1 END,
           CASE WHEN is_child THEN n END
    FROM (SELECT n, n > 0.9 * %(count)s AND n <= %(count)s - 10 AS is_child,
                 now() - (%(count)s - n) * interval '10 s' AS at
          FROM generate_series(1, %(count)s) AS n) AS made
"""
_TASKS = """
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, worker_id, started_at, ended_at)
    SELECT id, 1, 'a', 'FAKE', 'SUCCESS', 'default', 'MEDIUM', 'MEDIUM', 1, started_at, ended_at
    FROM workflow_instance WHERE ended_at IS NOT NULL AND command_id < 0
"""
_ACCOUNT = "INSERT INTO account (name, is_admin) VALUES ('bench', true) RETURNING id"
_TOKEN = """
    INSERT INTO token (account_id, name, secret_hash, scopes, expires_at)
    VALUES (%(account)s, 'bench', %(hash)s, '{admin}', clock_timestamp() + interval '1 day') RETURNING id
"""


def api(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """All figures of the part; lists first, since starts and events add to the history."""
    with Cluster(server, "api", masters=0, workers=0) as cluster:
        cluster.define(_STARTED, [fake("a")])
        insert_history(cluster.connection, sizes.api_runs)
        token = admin_token(cluster)
        with serving(server, cluster.url, "api") as (port, process):
            return asyncio.run(_measure(cluster, sizes, port, token, process))


def admin_token(cluster: Cluster) -> str:
    """The token of a new admin."""
    token = tokens.make(os.urandom(tokens.RANDOM_BYTES))
    cluster.one(_TOKEN, account=cluster.one(_ACCOUNT), hash=token.hash)
    return token.text


def insert_history(connection: psycopg.Connection[Any], count: int) -> None:
    """200 workflows and this many runs of them, with a task each."""
    define(connection)
    connection.execute(_HISTORY.encode(), {"rare": RARE, "count": count})
    connection.execute(_TASKS.encode())
    connection.execute(b"VACUUM (ANALYZE) workflow_instance, task_instance")


def define(connection: psycopg.Connection[Any]) -> None:
    """200 workflows but the first, in ten projects, one of them in another."""
    connection.execute(_DEFINITIONS.encode(), {"rare": RARE, "workflows": _WORKFLOWS, "projects": _PROJECTS})


@contextmanager
def serving(server: BenchServer, url: str, name: str) -> Iterator[tuple[int, psutil.Process]]:
    """A `shoal api` with a folder of this name; yields its port and its process."""
    folder = server.folder / name
    folder.mkdir()
    log = folder / "log"
    command = [sys.executable, "-m", "shoal", "api", "--port", "0"]
    settings = {"SHOAL_DATABASE_URL": url, "SHOAL_API__ACCOUNT_STREAMS_MAX": str(_STREAMS_MAX)}
    child = Child.of(command, cwd=folder, log=log, environment={**os.environ, **settings})
    try:
        child.wait_until(lambda: _ADDRESS.search(log.read_text()) is not None, 30)
        found = _ADDRESS.search(log.read_text())
        assert found is not None
        yield int(found[1]), psutil.Process(child.pid)
    finally:
        child.end(signal.SIGTERM, timeout_s=20)


async def _measure(cluster: Cluster, sizes: Sizes, port: int, token: str, process: psutil.Process) -> list[Figure]:
    async with HttpClient(port, token) as client:
        figures = await lists.lists(client, sizes, PART, RARE)
        for has_keys in (False, True):
            cpu = CpuWatch({"api": [process.pid], "postgres": [cluster.server_pid]})
            figures.append(await _starts(port, token, sizes, cpu, has_keys=has_keys))
    figures.append(await _events(cluster, port, token, sizes))
    figures.append(await _listeners(port, token, sizes, process))
    return figures


async def _starts(port: int, token: str, sizes: Sizes, cpu: CpuWatch, *, has_keys: bool) -> Figure:
    """Starts a second by 32 clients, each of which sends its next one when it has the answer."""
    left = itertools.count()

    async def client() -> None:
        async with HttpClient(port, token) as http:
            while next(left) < sizes.api_starts:
                key = str(uuid.uuid4()) if has_keys else None
                await http.ask("POST", f"{_BASE}/workflow-definitions/{_STARTED}/runs", key=key)

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(_CLIENTS)))
    rate = sizes.api_starts / (time.perf_counter() - began)
    cost = work_told(cpu.used(), cpu.elapsed_s, sizes.api_starts, "start")
    how = f"{sizes.api_starts:,} starts, {_CLIENTS} clients; {cost}"
    key, what = ("api_keyed_starts_per_s", ", with idempotency keys") if has_keys else ("api_starts_per_s", "")
    return Figure(key, PART, f"starts of runs{what}", rate, "/s", Target(500, "higher"), how)


async def _events(cluster: Cluster, port: int, token: str, sizes: Sizes) -> Figure:
    """From the answer to a commit until the event is on the wire, for single commands."""
    lags = []
    async with HttpClient(port, token) as http, aclosing(_data(http)) as data:
        await anext(data)
        for _ in range(sizes.api_events):
            waiting = asyncio.ensure_future(anext(data))
            await asyncio.sleep(0.2)  # late events of the previous one
            while waiting.done():
                waiting = asyncio.ensure_future(anext(data))
                await asyncio.sleep(0.2)
            await asyncio.to_thread(cluster.one, _ASK)
            committed_s = time.monotonic()
            try:
                await asyncio.wait_for(waiting, 10)
            except TimeoutError:
                raise BenchFailed("no event came within 10 s of a commit") from None
            lags.append(time.monotonic() - committed_s)
    how = f"{len(lags)} commands, one by one, the slowest {max(lags) * 1000:.0f} ms"
    what = "commit → event on the wire, p50"
    return Figure("api_event_p50_ms", PART, what, median(lags) * 1000, "ms", Target(100, "lower"), how)


async def _data(http: HttpClient) -> AsyncGenerator[bytes]:
    """First the line that says that it listens, then one for each event."""
    async with aclosing(http.lines(f"{_BASE}/events?topics=runs,queue")) as lines:
        async for line in lines:
            if line.startswith((b": listening", b"data:")):
                yield line


async def _listeners(port: int, token: str, sizes: Sizes, process: psutil.Process) -> Figure:
    """The growth of the process's resident memory with this many listeners."""
    before = process.memory_info().rss
    async with AsyncExitStack() as stack:
        for _ in range(sizes.api_listeners):
            http = await stack.enter_async_context(HttpClient(port, token))
            await anext(await stack.enter_async_context(aclosing(_data(http))))
        grown_mb = (process.memory_info().rss - before) / 1e6
    how = f"from {before / 1e6:.0f} MB, {grown_mb * 1000 / sizes.api_listeners:.0f} kB each"
    what = f"memory of {sizes.api_listeners} listeners of events"
    return Figure("api_listeners_mb", PART, what, grown_mb, "MB", Target(200, "lower"), how)
