"""The load of the machine, or of the container that this process runs in. Only reads files; blocks briefly.

For memory and CPU the limits of the process's control groups count if there are any, else those of the machine.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Collection, Iterator
from pathlib import Path

import psutil

from model.cluster.load import Measure
from model.cluster.means import is_passing
from node.cgroup import Cgroups
from registry.clock import boottime_s


class Meter:
    """Measures what is requested.

    Args:
        wanted: the only measures taken.
        folder: its disk is measured; None = no disk.
        cgroups: of this process.
    """

    def __init__(self, wanted: Collection[Measure], folder: Path | None, cgroups: Cgroups | None = None) -> None:
        self._wanted = frozenset(wanted)
        self._folder = folder
        self._cgroups = cgroups or Cgroups()
        self._used_s: dict[Path | None, float] = {}
        """Total CPU seconds that were available to each group; None is the machine."""
        self._measured_s = 0.0

    def measure(self) -> dict[Measure, float]:
        """The current values that can be measured. The first call lacks CPU use, which needs two readings."""
        return {measure: value for measure, value in self._all() if measure in self._wanted}

    def _all(self) -> Iterator[tuple[Measure, float]]:
        if Measure.MEMORY in self._wanted:
            yield Measure.MEMORY, self._memory()
        if Measure.LOAD in self._wanted:
            yield Measure.LOAD, _load_now_a_core()
        if Measure.CPU in self._wanted and (used := self._cpu()) is not None:
            yield Measure.CPU, used
        if Measure.FREE_DESCRIPTORS in self._wanted:
            yield Measure.FREE_DESCRIPTORS, _free_descriptors()
        if self._folder is not None:
            yield from _disk(self._folder)

    def _memory(self) -> float:
        machine = psutil.virtual_memory()
        share = self._cgroups.memory_share(machine.total)
        return 1 - machine.available / machine.total if share is None else share

    def _cpu(self) -> float | None:
        """Share of the CPU time since the last call: of the fullest group with a quota, else of the machine."""
        now_s, machine = boottime_s(), psutil.cpu_times()
        used_s: dict[Path | None, float] = {
            each.group: each.used_s / each.cores for each in self._cgroups.cpu_times()
        } or {None: now_s - (machine.idle + machine.iowait) / _cores()}
        past_s, former = now_s - self._measured_s, self._used_s
        self._measured_s, self._used_s = now_s, used_s
        shares = [(used_s[group] - former[group]) / past_s for group in used_s if group in former]
        return min(1.0, max(0.0, *shares)) if shares else None


def load_a_core() -> float:
    """The machine's one-minute load average divided by its cores; 0.0 when it cannot be read now."""
    try:
        return os.getloadavg()[0] / _cores()
    except OSError:
        return 0.0


def _load_now_a_core() -> float:
    """The load average, or the present count if that is less: the average lags behind."""
    average = load_a_core()
    try:
        lines = Path("/proc/stat").read_text("ascii").splitlines()
    except (OSError, ValueError):
        return average
    counts = [int(line.split()[1]) for line in lines if line.startswith(("procs_running ", "procs_blocked "))]
    return min(average, sum(counts) / _cores()) if counts else average


def _free_descriptors() -> float:
    """How many file descriptors this process may still open; 0 if they cannot even be counted."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        return float(max(0, most - sum(1 for _ in Path("/proc/self/fd").iterdir())))
    except OSError as error:
        return 0.0 if is_passing(error) else float(most)  # a system without /proc


def _cores() -> int:
    return os.cpu_count() or 1


def _disk(folder: Path) -> Iterator[tuple[Measure, float]]:
    """Computed like `df`: blocks reserved for root count as neither used nor free."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return  # no folder yet, or it was deleted: the code that writes there reports that
    used, free = disk.f_blocks - disk.f_bfree, disk.f_bavail
    if used + free:
        yield Measure.DISK, used / (used + free)
        yield Measure.FREE_DISK, float(free * disk.f_frsize)
    if disk.f_files:  # some file systems do not count them
        yield Measure.FREE_FILES, float(disk.f_favail)
