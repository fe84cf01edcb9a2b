"""How long a user waits for a short verb: a new process each time, from its start to its end."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

from bench.cluster import BenchFailed, Cluster, fake
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "Short verbs of the command line"
_TARGETS_MS = {"--version": 200, "runs": 600, "workflow list": 600}


def verbs(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """Version and two lists, one call after the other on a database with a workflow and no node; the median of each.

    Interpreter, imports, connection, statement and table are all in it. The first call of each is not counted: it
    compiles modules and reads them from the disk.
    """
    with Cluster(server, "verbs", masters=0, workers=0) as cluster:
        cluster.define(1001, [fake("a")])
        return [_figure(verb, cluster.url, sizes.verb_calls) for verb in _TARGETS_MS]


def _figure(verb: str, database_url: str, calls: int) -> Figure:
    _call_ms(verb, database_url)
    times_ms = [_call_ms(verb, database_url) for _ in range(calls)]
    key = f"verb_{verb.lstrip('-').replace(' ', '_')}_ms"
    how = f"{calls} calls, the slowest {max(times_ms):.0f} ms"
    return Figure(
        key, PART, f"shoal {verb}, p50", statistics.median(times_ms), "ms", Target(_TARGETS_MS[verb], "lower"), how
    )


def _call_ms(verb: str, database_url: str) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *verb.split()],
        env={**os.environ, "SHOAL_DATABASE_URL": database_url},
        capture_output=True,
        text=True,
    )
    took_ms = (time.perf_counter() - began) * 1000
    if done.returncode:
        raise BenchFailed(f"shoal {verb} ended with exit code {done.returncode}: {done.stderr.strip()}")
    return took_ms
