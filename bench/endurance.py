"""Minutes at full load, FAKE and SHELL tasks mixed: whether rate, memory and tables stay as they are.

Attempts and runs are kept, so their tables grow with each task; all other tables and the indexes of what waits and runs
must not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import psutil

from bench.cluster import Cluster, fake
from bench.cpu import CpuWatch, work_of
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "Endurance: one master, one worker, FAKE and SHELL"
_FAKE, _SHELL = 1001, 1002
_WIDTH = 10
_UNFINISHED = {_FAKE: 1_000, _SHELL: 20}
"""How many runs of each are kept unfinished."""
_MIB = 2**20
# The first minute begins with an idle cluster.
_FIRST_FULL = 1
_LEFT = """
    SELECT workflow_code, count(*)
    FROM (SELECT workflow_code FROM command UNION ALL
          SELECT workflow_code FROM workflow_instance WHERE ended_at IS NULL) AS unfinished
    GROUP BY 1
"""
_QUEUES = """
    SELECT coalesce(sum(pg_relation_size(c.oid)), 0)::bigint FROM pg_class c
    WHERE c.relname IN ('command', 'task_event', 'node_beat', 'task_instance_queue', 'task_instance_running',
                        'workflow_instance_unfinished', 'workflow_instance_line')
"""
_KEPT = "SELECT pg_database_size(current_database())"


@dataclass(frozen=True, slots=True)
class _Minute:
    """The work of a minute, and the state at its end."""

    fake_per_s: float
    shell_per_s: float
    cpu_us: float
    """Per task."""
    memory_bytes: int
    """Of the master, the worker and their children."""
    queue_bytes: int
    database_bytes: int
    tasks: int
    """Since the beginning."""


def endurance(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """`endurance_minutes` with always 1,000 runs of 10 FAKE tasks and 20 runs of 10 SHELL tasks unfinished."""
    with Cluster(server, "endurance", 1, 1) as cluster:
        shell = {"type": "SHELL", "params": {"script": "true"}}
        cluster.define(_FAKE, [fake(f"t{number}") for number in range(_WIDTH)])
        cluster.define(_SHELL, [{"name": f"t{number}", **shell} for number in range(_WIDTH)])
        minutes = list(_minutes(cluster, sizes.endurance_minutes, sizes.endurance_minute_s))
        cluster.wait_until_all_ended(120)
    return _figures(minutes)


def _minutes(cluster: Cluster, count: int, minute_s: float) -> Iterator[_Minute]:
    started = dict.fromkeys(_UNFINISHED, 0)
    ended = dict.fromkeys(_UNFINISHED, 0)
    for _ in range(count):
        cpu: CpuWatch = cluster.cpu()
        deadline_s = time.monotonic() + minute_s
        while time.monotonic() < deadline_s:
            left: dict[int, int] = dict(cluster.rows(_LEFT))
            for code, wanted in _UNFINISHED.items():
                if (missing := wanted - left.get(code, 0)) > 0:
                    cluster.start(code, missing)
                    started[code] += missing
            time.sleep(0.1)
        used = cpu.used()
        left = dict(cluster.rows(_LEFT))
        before, ended = ended, {code: started[code] - left.get(code, 0) for code in _UNFINISHED}
        fakes, shells = ((ended[code] - before[code]) * _WIDTH for code in (_FAKE, _SHELL))
        yield _Minute(
            fakes / cpu.elapsed_s,
            shells / cpu.elapsed_s,
            sum(work_of(used, cpu.elapsed_s, max(1, fakes + shells)).values()),
            sum(_memory_bytes(node.pid) for node in cluster.nodes),
            int(cluster.one(_QUEUES)),
            int(cluster.one(_KEPT)),
            sum(ended.values()) * _WIDTH,
        )


def _memory_bytes(pid: int) -> int:
    """The private memory of a process and its children."""
    total = 0
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        with suppress(psutil.Error):
            total += process.memory_full_info().uss
    return total


def _figures(minutes: list[_Minute]) -> list[Figure]:
    first, last = minutes[min(_FIRST_FULL, len(minutes) - 1)], minutes[-1]
    whole = Target(97, "higher")

    def told(values: Iterator[float]) -> str:
        return f"{len(minutes)} min, each: {', '.join(f'{value:,.0f}' for value in values)}"

    fakes = sum(each.fake_per_s for each in minutes) / len(minutes)
    shells = sum(each.shell_per_s for each in minutes) / len(minutes)
    kept_fake, kept_shell = _percent(last.fake_per_s, first.fake_per_s), _percent(last.shell_per_s, first.shell_per_s)
    kept_cpu = _percent(first.cpu_us, last.cpu_us)
    bytes_each = (last.database_bytes - first.database_bytes) / max(1, last.tasks - first.tasks)
    memory = told(each.memory_bytes / _MIB for each in minutes)
    queues = told(each.queue_bytes / _MIB for each in minutes)
    fixed = "the tables and indexes of what waits and runs"
    return [
        Figure("endurance_fake_per_s", PART, "FAKE tasks", fakes, "/s", how=told(m.fake_per_s for m in minutes)),
        Figure("endurance_shell_per_s", PART, "SHELL tasks", shells, "/s", how=told(m.shell_per_s for m in minutes)),
        Figure("endurance_kept_fake", PART, "FAKE: the last minute, of the second", kept_fake, "%", whole),
        Figure("endurance_kept_shell", PART, "SHELL: the last minute, of the second", kept_shell, "%", whole),
        Figure(
            "endurance_kept_work", PART, "tasks for the same processor: the last minute, of the second", kept_cpu, "%",
            whole, f"µs a task, {told(m.cpu_us for m in minutes)}",
        ),
        Figure(
            "endurance_memory", PART, "own memory of master, worker and their processes, last of the second",
            _percent(last.memory_bytes, first.memory_bytes), "%", how=f"MiB, {memory}",
        ),
        Figure("endurance_queues", PART, fixed, last.queue_bytes / _MIB, "MiB", how=queues),
        Figure("endurance_kept_bytes", PART, "the database grows by", bytes_each, "bytes a task"),
    ]  # fmt: skip


def _percent(value: float, of: float) -> float:
    return 100 * value / of if of else math.nan
