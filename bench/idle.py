"""The cost of an idle cluster: statements and CPU time of each process, and memory after all earlier measurements."""

from __future__ import annotations

import time
from collections import Counter

from bench.cluster import Cluster
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "Idle: one master, one worker, registry in PostgreSQL"
_CONTROL = {"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"}


def idle(server: BenchServer, cluster: Cluster, sizes: Sizes) -> list[Figure]:
    """A minute without any request, which has the duties of a minute: statements that the server logged, by sender.

    A query is each statement that the server executed except BEGIN, COMMIT and the like, which are reported separately.
    CPU time is that of the process and its children; PostgreSQL's includes the statement log of this measurement.
    """
    time.sleep(sizes.settle_s)
    with server.statements_counted() as counts:
        cpu = cluster.cpu()
        began = time.monotonic()
        time.sleep(sizes.idle_s)
        took_s = time.monotonic() - began
        used = cpu.used()
    figures = []
    for role in ("master", "worker"):
        words: Counter[str] = Counter()
        for (application, word), count in counts.items():
            if application.startswith(f"shoal-{role}-"):
                words[word] += count
        control = sum(words[word] for word in _CONTROL)
        queries = words.total() - control
        how = f"{queries} in {took_s:.0f} s; BEGIN and COMMIT: {control / took_s:.2f} /s"
        figures.append(
            Figure(
                f"idle_{role}_queries_per_s", PART, f"queries of a {role}", queries / took_s, "/s",
                Target(2, "lower"), how, {"statements": dict(words)},
            )
        )  # fmt: skip
    figures += [
        Figure(f"idle_{part}_cpu_percent", PART, f"processor, {what}", 100 * used[part], "% of a core")
        for part, what in (("master", "master"), ("worker", "worker"), ("postgres", "all of PostgreSQL"))
    ]
    return figures


def memory(cluster: Cluster) -> list[Figure]:
    """Resident memory of the processes at the end, after all earlier measurements."""
    tasks = cluster.one("SELECT count(*) FROM task_instance")
    how = f"after {tasks:,} tasks"
    return [
        Figure(f"{role}_memory_mb", PART, f"memory, {role}", cluster.node(role).memory_bytes() / 2**20, "MiB", how=how)
        for role in ("master", "worker")
    ]
