"""How long others wait for an API while it is sent the largest requests that it takes.

Another thread asks one small question after the other; the figure is the slowest answer to it, over all operations.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import psutil

from bench.api import admin_token, serving
from bench.cluster import BenchFailed, Cluster
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes
from service.byte_stream import StreamOperation
from service.operation import BODY, Operation
from service.operations import ALL

PART = "REST API: what others wait meanwhile"
WAITED_MS_MAX = 200
_BASE = "/api/v1"
_BIG = 1061
_NAME, _PROJECT = f"workflow-{_BIG}", "default"
_ASKED_EVERY_S = 0.005
_DRAFT = f"/workflow-drafts/{_PROJECT}/{_NAME}"


_HEADERS = {"If-Match": "*", "Content-Type": "application/json"}
_SECOND = b"""
    WITH saved AS (INSERT INTO workflow_version (workflow_code, version, spec) VALUES (%s, 2, %s))
    UPDATE workflow_definition SET version = 2 WHERE code = %s
"""


@dataclass
class _Waits:
    """The slowest answers to a small question, by what was asked meanwhile."""

    slowest_ms: dict[str, float] = field(default_factory=dict)
    now: str = ""

    def add(self, ms: float) -> None:
        self.slowest_ms[self.now] = max(ms, self.slowest_ms.get(self.now, 0))


def heavy(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """The figure."""
    with Cluster(server, "heavy", masters=0, workers=0) as cluster:
        lines = sizes.heavy_bytes // 20
        cluster.define(_BIG, _tasks(lines, 1))
        spec = json.dumps({"tasks": _tasks(lines, 2)})
        cluster.connection.execute(_SECOND, (_BIG, spec, _BIG))
        token = admin_token(cluster)
        with serving(server, cluster.url, "heavy") as (port, process):
            asked = httpx.Client(
                base_url=f"http://127.0.0.1:{port}",
                headers={"Authorization": f"Bearer {token}"},
                timeout=120,
                trust_env=False,
            )
            with asked as client, _asking(f"http://127.0.0.1:{port}", token) as waits:
                for name, method, path, content in _requests(sizes.heavy_bytes):
                    waits.now = name
                    answer = client.request(method, path, content=content, headers=_HEADERS)
                    if answer.status_code >= 500:
                        raise BenchFailed(f"{method} {path} was answered {answer.status_code}: {answer.text[:300]}")
            return [_figure(waits, process)]


def _figure(waits: _Waits, process: psutil.Process) -> Figure:
    worst, slowest_ms = max(waits.slowest_ms.items(), key=lambda each: each[1])
    how = f"{len(waits.slowest_ms)} operations, the slowest beside {worst}; {process.memory_info().rss / 1e6:.0f} MB"
    what = "longest wait for a small answer beside a largest request"
    return Figure("heavy_others_wait_ms", PART, what, slowest_ms, "ms", Target(WAITED_MS_MAX, "lower"), how)


@contextmanager
def _asking(url: str, token: str) -> Iterator[_Waits]:
    """Ask who we are, again and again, in another thread."""
    waits, done = _Waits(), threading.Event()

    def ask() -> None:
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=120, trust_env=False) as client:
            while not done.wait(_ASKED_EVERY_S):
                began_s = time.perf_counter()
                client.get(f"{url}{_BASE}/me")
                waits.add((time.perf_counter() - began_s) * 1000)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield waits
    finally:
        done.set()
        thread.join()


def _requests(size: int) -> Iterator[tuple[str, str, str, bytes | None]]:
    """Name, method, path and body: each operation with the largest body, then those that read a whole definition."""
    filler = json.dumps({"filler": [[n, str(n)] for n in range(size // 26)]}).encode()
    for operation in ALL:
        if isinstance(operation, StreamOperation) or operation.method == "DELETE":
            continue
        has_body = BODY in operation.signature.parameters
        yield operation.name, operation.method, _path(operation), filler if has_body else None
    text = _yaml(size)
    files = json.dumps({"files": [{"name": "f", "content": text}]}).encode()
    yield "validate_workflows", "POST", f"{_BASE}/workflow-definitions:validate", files
    yield "diff_workflow_files", "POST", f"{_BASE}/workflow-definitions/{_BIG}/diff", files
    yield "save_draft", "PUT", f"{_BASE}{_DRAFT}", json.dumps({"content": _yaml(min(size, 1_000_000))}).encode()
    for path in ("check", "diff"):
        yield f"draft {path}", "GET", f"{_BASE}{_DRAFT}/{path}", None
    params = {f"name_{n}": "x" * (size // 2_000) for n in range(1_000)}
    yield "start_run", "POST", f"{_BASE}/workflow-definitions/{_BIG}/runs", json.dumps({"params": params}).encode()
    yield "start_run, small", "POST", f"{_BASE}/workflow-definitions/{_BIG}/runs", b'{"params": {"a": "1"}}'


def _path(operation: Operation[Any, Any]) -> str:
    path = operation.path
    for name, value in (("{code}", str(_BIG)), ("{project}", _PROJECT), ("{name}", _NAME)):
        path = path.replace(name, value)
    path = "/".join("1" if part.startswith("{") else part for part in path.split("/"))
    return f"{_BASE}{path}"


def _tasks(lines: int, version: int) -> list[dict[str, Any]]:
    script = "\n".join(f"echo {version} {n}" if n % 3 else f"echo {n}" for n in range(lines))
    return [{"name": "a", "type": "SHELL", "params": {"script": script}}]


def _yaml(size: int) -> str:
    task = "  - {name: t%06d, type: FAKE, after: [], flag: YES}\n"
    return f"name: {_NAME}\nproject: {_PROJECT}\ntasks:\n" + "".join(task % n for n in range(size // 80))
