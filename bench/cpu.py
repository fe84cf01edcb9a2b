"""CPU use during a measurement: how many cores each part used, other processes included.

It is needed to interpret a figure: it shows when a figure fell because something else ran on the machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

import psutil

_OURS = ("master", "worker", "api", "postgres")
_TICK_S = 0.01
"""The kernel counts in steps of this size."""
_TOLD_CORES_MIN = 0.05
"""A part that used less says nothing about a figure."""


class CpuWatch:
    """Starts when created; `used` returns the mean number of cores since then, by part.

    Args:
        parts: name of a part -> the process ids of its roots; their children are counted with them.
    """

    def __init__(self, parts: Mapping[str, list[int]]) -> None:
        self._parts = {"bench": [os.getpid()], **parts}
        self._before = self._seconds()
        self.elapsed_s = 0.0
        self._busy_before, self._clock_before = machine_seconds()

    def used(self) -> dict[str, float]:
        """Cores by part, the mean over `elapsed_s`; `others` is the use by other processes on the machine."""
        busy, clock = machine_seconds()
        self.elapsed_s = elapsed_s = max(_TICK_S, clock - self._clock_before)
        after = self._seconds()
        cores = {part: max(0.0, after[part] - self._before[part]) / elapsed_s for part in self._parts}
        cores["others"] = max(0.0, (busy - self._busy_before) / elapsed_s - sum(cores.values()))
        return {part: round(value, 3) for part, value in cores.items()}

    def _seconds(self) -> dict[str, float]:
        roots = {pid for pids in self._parts.values() for pid in pids}
        return {part: sum(_seconds(pid, roots) for pid in pids) for part, pids in self._parts.items()}


def work_of(cores: Mapping[str, float], took_s: float, count: int) -> dict[str, float]:
    """Microseconds of processor for each of `count` items, by those parts that are Shoal's. More meaningful than a rate
    if other processes run too."""
    return {part: value * took_s / count * 1e6 for part, value in cores.items() if part in _OURS and value}


def work_told(cores: Mapping[str, float], took_s: float, count: int, one: str) -> str:
    """Format the work for the table, and how many cores other processes used, if that matters."""
    work = ", ".join(f"{part} {value:.0f}" for part, value in work_of(cores, took_s, count).items())
    others = cores_told({"others": cores["others"]})
    return f"µs of processor a {one}: {work}{f'; cores: {others}' if others else ''}"


def cores_told(cores: Mapping[str, float]) -> str:
    """Format for the table which part used how many cores."""
    return ", ".join(f"{part} {value:.2f}" for part, value in cores.items() if value >= _TOLD_CORES_MIN)


def _seconds(root: int, roots: set[int]) -> float:
    """CPU seconds of a process and its children, including ended ones, except children that are roots too."""
    total = 0.0
    pending = [root]
    while pending:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pending.pop())
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
            pending += [child.pid for child in process.children() if child.pid not in roots]
    return total


def machine_seconds() -> tuple[float, float]:
    """Seconds of processor that all that runs here has used, and those of the clock, since the machine started."""
    times = psutil.cpu_times()
    idle = times.idle + times.iowait
    busy = times.user + times.nice + times.system + times.irq + times.softirq + times.steal
    return busy, (busy + idle) / (psutil.cpu_count() or 1)
