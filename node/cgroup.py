"""The memory and CPU time that the control groups of this process allow, under cgroup v2 and v1.

psutil reports the machine only (giampaolo/psutil#2100), but a container is killed by its own limits long before the
machine is full. A limit may be set anywhere between our own group and the mounted root, so each of these folders is
read, and the tightest limit counts. A folder that cannot be read sets no limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class _Mount:
    """Where a hierarchy is mounted, and which of its groups is visible there."""

    folder: Path
    root: str
    controllers: frozenset[str] | None
    """The controllers of a v1 mount; None is v2, which has all in one."""


@dataclass(frozen=True)
class CpuTime:
    """CPU seconds that a group has used in total, and how many it may use in a second."""

    group: Path
    used_s: float
    cores: float


class Cgroups:
    """The groups of one process, its own first.

    Args:
        process: its folder in /proc.
    """

    def __init__(self, process: Path = Path("/proc/self")) -> None:
        self._memory = _groups(process, "memory")
        self._cpu = _groups(process, "cpu")
        self._accounts = _groups(process, "cpuacct")

    def memory_share(self, machine_bytes: int) -> float | None:
        """How full the fullest group is, as a share of its limit; None when no limit is below the machine's memory.

        Memory that can be freed at once, the inactive file cache, does not count.
        """
        shares = [
            max(0, used - cached) / limit
            for used, cached, limit in (_memory_of(group, is_v2) for group, is_v2 in self._memory)
            if 0 < limit < machine_bytes
        ]
        return max(shares, default=None)

    def cpu_times(self) -> list[CpuTime]:
        """The CPU time of each group that has a quota."""
        found = []
        for place, (group, is_v2) in enumerate(self._cpu):
            cores = _quota(group, is_v2)
            if cores is None:
                continue
            if is_v2:
                used_s = _fields(group / "cpu.stat").get("usage_usec", 0) / 1e6
            elif place < len(self._accounts):
                used_s = (_number(self._accounts[place][0] / "cpuacct.usage") or 0) / 1e9
            else:
                continue
            found.append(CpuTime(group, used_s, cores))
        return found


def _groups(process: Path, controller: str) -> list[tuple[Path, bool]]:
    """The folders of a controller, from the process's own up to the mount, and whether they are v2."""
    try:
        mounts = list(_mounts(process))
        own = dict(_own(process))
    except OSError:
        return []
    for mount in mounts:
        if mount.controllers is not None and controller in mount.controllers and controller in own:
            return [(folder, False) for folder in _up(mount, own[controller])]
    for mount in mounts:
        if mount.controllers is None and "" in own:
            return [(folder, True) for folder in _up(mount, own[""])]
    return []


def _mounts(process: Path) -> Iterator[_Mount]:
    for line in (process / "mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        fields, (kind, _, options) = before.split(), after.split(maxsplit=2)
        folder = Path(fields[4].replace("\\040", " "))
        if kind == "cgroup2":
            yield _Mount(folder, fields[3], None)
        elif kind == "cgroup":
            yield _Mount(folder, fields[3], frozenset(options.split(",")))


def _own(process: Path) -> Iterator[tuple[str, str]]:
    """Controller -> the group that the process is in; the controller "" is v2."""
    for line in (process / "cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        yield from ((controller, group) for controller in controllers.split(","))


def _up(mount: _Mount, group: str) -> list[Path]:
    root = mount.root.rstrip("/")
    below = group[len(root) :] if group == root or group.startswith(f"{root}/") else ""
    folder = mount.folder / below.lstrip("/")
    if ".." in folder.parts or not folder.is_dir():
        folder = mount.folder  # a container sees its own group there, whatever its name outside
    return [folder, *(parent for parent in folder.parents if parent.is_relative_to(mount.folder))]


def _memory_of(group: Path, is_v2: bool) -> tuple[int, int, int]:
    """Used bytes, how many of them are inactive file cache, and the limit; 0 means no limit."""
    if is_v2:
        limits = [_number(group / name) for name in ("memory.max", "memory.high")]
        limit = min((each for each in limits if each), default=0)
        used, cached = _number(group / "memory.current"), _fields(group / "memory.stat").get("inactive_file", 0)
    else:
        limit = _number(group / "memory.limit_in_bytes") or 0  # no limit is a number beyond any machine
        used = _number(group / "memory.usage_in_bytes")
        cached = _fields(group / "memory.stat").get("total_inactive_file", 0)
    return (used, cached, limit) if used is not None else (0, 0, 0)


def _quota(group: Path, is_v2: bool) -> float | None:
    """How many cores a group may use at once."""
    if is_v2:
        quota, _, period = _text(group / "cpu.max").partition(" ")
    else:
        quota, period = _text(group / "cpu.cfs_quota_us"), _text(group / "cpu.cfs_period_us")
    if not (quota.isdecimal() and period.isdecimal() and int(quota) and int(period)):
        return None  # "max", -1, or no file
    return int(quota) / int(period)


def _number(file: Path) -> int | None:
    text = _text(file)
    return int(text) if text.isdecimal() else None


def _fields(file: Path) -> dict[str, int]:
    pairs = (line.partition(" ") for line in _text(file).splitlines())
    return {name: int(value) for name, _, value in pairs if value.isdecimal()}


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
