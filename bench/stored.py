"""The cost of the log store: tasks a second with one, relative to those without, in the same run.

Two clusters on one server, of which one has a shared folder as its log store, take turns: with, without, without, with
and so on. The ratio is the median of those of the pairs. Before the next round the copies of the last one are finished,
so that they slow nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from bench.cluster import Cluster, fake
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "The log store: one master, one worker, with a shared folder and without"
_FAKE, _SHELL = 1001, 1002
_WIDTH = 10


def beside_copies(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """FAKE tasks, which write no logs, and SHELL tasks, which write one each, with a log store and without."""
    folder = server.folder / "log-store"
    folder.mkdir()
    store = {"SHOAL_LOG_STORE__URL": folder.as_uri()}
    with Cluster(server, "unstored", 1, 1) as without, Cluster(server, "stored", 1, 1, **store) as with_store:
        for cluster in (without, with_store):
            cluster.define(_FAKE, [fake(f"t{number}") for number in range(_WIDTH)])
            cluster.define(_SHELL, [_shell(f"t{number}") for number in range(_WIDTH)])
            cluster.timed(_FAKE, 20)
            cluster.timed(_SHELL, 2)
        figures: list[Figure] = []
        for code, kind, runs in ((_FAKE, "FAKE", sizes.stored_fake), (_SHELL, "SHELL", sizes.stored_shell)):
            pairs = [
                _pair(without, with_store, code, runs, is_first=number % 2 == 0)
                for number in range(sizes.stored_rounds)
            ]
            figures += _figures(kind, pairs, runs)
    return figures


def _pair(without: Cluster, with_store: Cluster, code: int, runs: int, *, is_first: bool) -> tuple[float, float]:
    """Tasks a second without and with it."""
    rates: dict[str, float] = {}
    for cluster in (with_store, without) if is_first else (without, with_store):
        rates[cluster.name] = runs * _WIDTH / cluster.timed(code, runs)
        if cluster is with_store:
            cluster.wait_until(_all_stored(cluster), 300, "all logs were stored")
    return rates[without.name], rates[with_store.name]


def _all_stored(cluster: Cluster) -> Callable[[], bool]:
    query = """SELECT (SELECT count(*) FROM stored_log)
                      >= (SELECT count(*) FROM task_instance WHERE task_type = 'SHELL')"""
    return lambda: bool(cluster.one(query))


def _figures(kind: str, pairs: list[tuple[float, float]], runs: int) -> list[Figure]:
    how = f"{len(pairs)} pairs of {runs * _WIDTH:,} tasks, 10 in parallel in a workflow"
    name = kind.lower()
    ratio = median(beside / alone for alone, beside in pairs)
    return [
        Figure(f"stored_none_{name}_per_s", PART, f"{kind} tasks without", median(a for a, _ in pairs), "/s", how=how),
        Figure(f"stored_{name}_per_s", PART, f"{kind} tasks with it", median(b for _, b in pairs), "/s", how=how),
        Figure(f"ratio_stored_{name}", PART, f"{kind} tasks: with / without", ratio, "x", Target(0.97, "higher"), how),
    ]


def _shell(name: str) -> dict[str, object]:
    return {"name": name, "type": "SHELL", "params": {"script": "echo one line of a log; echo another one"}}
