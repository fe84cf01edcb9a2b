"""Tasks that run programs, beside the same programs without Shoal: SHELL and PYTHON.

The bare programs, one on each core, and the tasks take turns; a ratio is the median of those of the rounds, so that
what else the machine does meanwhile changes it little.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.cluster import Cluster
from bench.cpu import machine_seconds
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "Programs: one master, one worker, and the same programs without Shoal"
_WIDTH = 10
_REPEATED = 'n=$1; shift; for ((i = 0; i < n; i++)); do "$@"; done'


@dataclass(frozen=True, slots=True)
class _Kind:
    """A task, and the command that does the same alone."""

    key: str
    task_type: str
    script: str
    bare: tuple[str, ...]
    code: int

    @property
    def told(self) -> str:
        return f"{self.task_type} `{self.script}`"


_KINDS = (
    _Kind("shell_true", "SHELL", "true", ("bash", "-c", "true"), 1001),
    _Kind("shell_echo", "SHELL", "echo a; echo b", ("bash", "-c", "echo a; echo b"), 1002),
    # As its task does, `python3` of the PATH: it may be a wrapper that takes ten times as long as the interpreter.
    _Kind("python_pass", "PYTHON", "pass", ("python3", "-c", "pass"), 1003),
)


@dataclass(frozen=True, slots=True)
class _Taken:
    """The rate of programs per second, and the milliseconds of processor time of each."""

    per_s: float
    cpu_ms: float


def programs(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """Tasks a second and processor a task with one worker, both beside the bare program; the rate with two workers."""
    figures: list[Figure] = []
    with Cluster(server, "programs", 1, 1, SHOAL_WORKER__CAPACITY="64") as cluster:
        for kind in _KINDS:
            task = {"type": kind.task_type, "params": {"script": kind.script}}
            cluster.define(kind.code, [{"name": f"t{number}", **task} for number in range(_WIDTH)])
            cluster.timed(kind.code, 2)
        rounds = {kind: [_round(cluster, kind, sizes) for _ in range(sizes.shell_rounds)] for kind in _KINDS}
        with cluster.running(0, 1):
            both = {
                kind: median(_tasks(cluster, kind, sizes).per_s for _ in range(sizes.shell_rounds)) for kind in _KINDS
            }
    for kind in _KINDS:
        figures += _figures(kind, rounds[kind], both[kind], sizes)
    return figures


def _round(cluster: Cluster, kind: _Kind, sizes: Sizes) -> tuple[_Taken, _Taken]:
    return _bare(kind.bare, sizes.shell_workflows * _WIDTH), _tasks(cluster, kind, sizes)


def _tasks(cluster: Cluster, kind: _Kind, sizes: Sizes) -> _Taken:
    count, (busy_s, _) = sizes.shell_workflows * _WIDTH, machine_seconds()
    took_s = cluster.timed(kind.code, sizes.shell_workflows)
    return _Taken(count / took_s, (machine_seconds()[0] - busy_s) / count * 1000)


def _bare(command: Sequence[str], count: int) -> _Taken:
    """Run this many at once, on all cores."""
    cores = os.cpu_count() or 1
    each, (busy_s, _), began = count // cores, machine_seconds(), time.monotonic()
    loops = [
        subprocess.Popen(["bash", "-c", _REPEATED, "bash", str(each), *command], stdout=subprocess.DEVNULL)
        for _ in range(cores)
    ]
    for loop in loops:
        loop.wait()
    took_s = time.monotonic() - began
    return _Taken(each * cores / took_s, (machine_seconds()[0] - busy_s) / (each * cores) * 1000)


def _figures(kind: _Kind, rounds: Sequence[tuple[_Taken, _Taken]], with_two: float, sizes: Sizes) -> list[Figure]:
    bare_ms, task_ms = (median(each[side].cpu_ms for each in rounds) for side in (0, 1))
    how = f"{len(rounds)} times {sizes.shell_workflows * _WIDTH:,}, 10 in parallel in a workflow"
    rate = median(task.per_s / bare.per_s for bare, task in rounds)
    cost = median(task.cpu_ms / bare.cpu_ms for bare, task in rounds)
    of_all = f"{task_ms:.1f} ms of processor a task, {bare_ms:.1f} ms a bare program"
    is_goal = kind.key == "shell_true"
    return [
        Figure(f"bare_{kind.key}_per_s", PART, f"bare: `{' '.join(_named(kind.bare))}`", _of(rounds, 0), "/s", how=how),
        Figure(f"{kind.key}_per_s", PART, f"{kind.told}, tasks", _of(rounds, 1), "/s", how=f"{how}; {of_all}"),
        Figure(f"{kind.key}_two_per_s", PART, f"{kind.told}, tasks, two workers", with_two, "/s", how=how),
        Figure(
            f"ratio_{kind.key}", PART, f"{kind.told}: tasks / bare programs", rate, "x",
            Target(0.5, "higher") if is_goal else None, how,
        ),
        Figure(
            f"cost_{kind.key}", PART, f"{kind.told}: processor a task / a bare program", cost, "times",
            Target(2, "lower") if is_goal else None, how,
        ),
    ]  # fmt: skip


def _of(rounds: Sequence[tuple[_Taken, _Taken]], side: int) -> float:
    return median(each[side].per_s for each in rounds)


def _named(command: Sequence[str]) -> Sequence[str]:
    return (os.path.basename(command[0]), *command[1:])  # noqa: PTH119 - the path of an interpreter says nothing here
