"""The cost of each look of a WAIT task: processor time of a worker and its children, and statements."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.cluster import Cluster
from bench.figures import Figure
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "Looks of WAIT tasks: one master, one worker"
_ROUNDS = 2
_LOOKS = "SELECT coalesce(sum((looks ->> 'count')::bigint), 0)::bigint FROM task_instance"
_WAITING = "SELECT count(*) FROM task_instance WHERE looks IS NOT NULL"
_FILE, _HTTP, _MINUTELY = 1001, 1002, 1003


def looks(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """Milliseconds of processor a look, of tasks that look each second for a file, and by a request, in vain; and the
    share of a core that those take that look for a file once a minute."""
    often, rarely, seconds = sizes.waits_each_second, sizes.waits_each_minute, sizes.waits_s
    file = {"file": "/srv/no/such/file"}
    with _refusing() as address:
        by_request = {"http": {"url": address}}
        return [
            *_often(server, "file", _FILE, file, (often, seconds)),
            *_often(server, "request", _HTTP, by_request, (often, seconds)),
            _rarely(server, file, rarely, sizes.waits_pause_s),
        ]


def _often(
    server: BenchServer, kind: str, code: int, thing: Mapping[str, Any], size: tuple[int, float]
) -> list[Figure]:
    count, seconds = size
    with Cluster(server, f"waits-{kind}", 1, 1) as cluster:
        _have_wait(cluster, code, thing, count, "1s")
        cpu, before = cluster.cpu(), cluster.one(_LOOKS)
        with cluster.costs() as costs:
            time.sleep(seconds)
            done = cluster.one(_LOOKS) - before
            used, cost = cpu.used(), costs.used(done)
    each = {part: used[part] * cpu.elapsed_s / done * 1000 for part in ("worker", "master", "postgres")}
    how = f"{done:,} looks of {count:,} tasks in {cpu.elapsed_s:.0f} s"
    beside = f"{how}; master {each['master']:.2f} ms, postgres {each['postgres']:.2f} ms"
    what = f"look for a {kind}" if kind == "file" else f"look by a {kind}"
    return [
        Figure(f"look_{kind}_worker_ms", PART, f"processor of a worker for a {what}", each["worker"], "ms", how=beside),
        Figure(f"look_{kind}_statements", PART, f"statements of a {what}", cost.statements, "", how=how),
    ]


def _rarely(server: BenchServer, thing: Mapping[str, Any], count: int, pause_s: int) -> Figure:
    """Measure whole rounds: from the end of the first look of all to the end of another."""
    with Cluster(server, "waits-minute", 1, 1) as cluster:
        _have_wait(cluster, _MINUTELY, thing, count, f"{pause_s}s")
        cpu, until = cluster.cpu(), cluster.one(_LOOKS) + _ROUNDS * count
        within_s = 60 + 2 * _ROUNDS * pause_s
        cluster.wait_until(lambda: bool(cluster.one(_LOOKS) >= until), within_s, "all had looked again", every_s=1)
        used = cpu.used()
    beside = ", ".join(f"{part} {100 * used[part]:.1f} %" for part in ("master", "postgres"))
    how = f"{_ROUNDS * count:,} looks in {cpu.elapsed_s:.0f} s; {beside}"
    what = f"processor of a worker, {count:,} tasks that look for a file each minute"
    return Figure("looks_each_minute_percent", PART, what, 100 * used["worker"], "% of a core", how=how)


def _have_wait(cluster: Cluster, code: int, thing: Mapping[str, Any], count: int, every: str) -> None:
    params = {"for": thing, "every": every}
    cluster.define(code, [{"name": f"wait {number}", "type": "WAIT", "params": params} for number in range(count)])
    cluster.start(code)
    cluster.wait_until(lambda: bool(cluster.one(_WAITING) == count), 120, f"{count:,} tasks had looked once")


class _Refusal(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Not yet."""
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def _refusing() -> Iterator[str]:
    """The address of a server that is not ready, until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Refusal)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
