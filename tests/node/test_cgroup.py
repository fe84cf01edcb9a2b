"""Control groups: which limits count, read from folders made as the kernel makes them, and from the kernel's own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from node.cgroup import Cgroups
from tests.servers.memory_group import may_limit_memory, memory_group

GIB = 1 << 30
MACHINE = 64 * GIB
NONE_V1 = 9223372036854771712


class Kernel:
    """/proc/self and the mounted hierarchies of a machine that is only folders."""

    def __init__(self, folder: Path) -> None:
        self.process = folder / "proc"
        self.process.mkdir()
        self.mounted = folder / "cgroup"
        self._mounts = ["22 1 0:20 / /proc rw,nosuid shared:5 - proc proc rw"]
        self._own: list[str] = []

    def mount_v2(self, root: str = "/", own: str = "/") -> Path:
        self._mounts.append(f"31 1 0:28 {root} {self.mounted} rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate")
        self._own.append(f"0::{own}")
        return self._made(self.mounted)

    def mount_v1(self, controllers: str, root: str = "/", own: str = "/") -> Path:
        folder = self.mounted / controllers
        self._mounts.append(f"33 1 0:29 {root} {folder} rw,relatime - cgroup cgroup rw,{controllers}")
        self._own.append(f"{len(self._own) + 1}:{controllers}:{own}")
        return self._made(folder)

    def _made(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (self.process / "mountinfo").write_text("\n".join(self._mounts) + "\n")
        (self.process / "cgroup").write_text("\n".join(self._own) + "\n")
        return folder

    def cgroups(self) -> Cgroups:
        return Cgroups(self.process)


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def holds(folder: Path, files: Mapping[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(f"{content}\n")


def memory_v2(limit: object, used: int, idle_cache: int = 0) -> dict[str, object]:
    return {"memory.max": limit, "memory.current": used, "memory.stat": f"anon 1\ninactive_file {idle_cache}"}


def test_without_control_groups_nothing_is_limited(tmp_path: Path) -> None:
    cgroups = Cgroups(tmp_path / "no" / "proc")
    assert cgroups.memory_share(MACHINE) is None
    assert cgroups.cpu_times() == []


def test_a_container_sees_its_own_limit_at_the_root_of_what_is_mounted(kernel: Kernel) -> None:
    holds(kernel.mount_v2(), memory_v2(4 * GIB, 3 * GIB, idle_cache=GIB))
    assert kernel.cgroups().memory_share(MACHINE) == 0.5


def test_what_can_be_dropped_at_once_is_not_in_use(kernel: Kernel) -> None:
    holds(kernel.mount_v2(), memory_v2(4 * GIB, 4 * GIB, idle_cache=4 * GIB))
    assert kernel.cgroups().memory_share(MACHINE) == 0


def test_the_tightest_limit_on_the_way_up_counts(kernel: Kernel) -> None:
    root = kernel.mount_v2(own="/system.slice/shoal.service")
    holds(root / "system.slice", memory_v2(2 * GIB, GIB))
    holds(root / "system.slice" / "shoal.service", memory_v2("max", GIB // 2))
    assert kernel.cgroups().memory_share(MACHINE) == 0.5


def test_where_the_kernel_already_slows_a_group_down_counts_as_its_limit(kernel: Kernel) -> None:
    holds(kernel.mount_v2(), {**memory_v2(4 * GIB, GIB), "memory.high": 2 * GIB})
    assert kernel.cgroups().memory_share(MACHINE) == 0.5


@pytest.mark.parametrize("limit", ["max", MACHINE, 0, "", "nonsense"])
def test_a_limit_that_is_none_limits_nothing(kernel: Kernel, limit: object) -> None:
    holds(kernel.mount_v2(), memory_v2(limit, GIB))
    assert kernel.cgroups().memory_share(MACHINE) is None


def test_version_1_limits_memory_too(kernel: Kernel) -> None:
    root = kernel.mount_v1("memory", own="/docker/abc")
    holds(root, {"memory.limit_in_bytes": NONE_V1, "memory.usage_in_bytes": 9 * GIB})
    stat = f"inactive_file 7\ntotal_inactive_file {GIB}"
    files = {"memory.limit_in_bytes": 2 * GIB, "memory.usage_in_bytes": 2 * GIB, "memory.stat": stat}
    holds(root / "docker" / "abc", files)
    assert kernel.cgroups().memory_share(MACHINE) == 0.5


def test_a_container_that_knows_its_name_outside_finds_its_group_at_the_mount(kernel: Kernel) -> None:
    root = kernel.mount_v1("memory", root="/docker/abc", own="/docker/abc")
    holds(root, {"memory.limit_in_bytes": 2 * GIB, "memory.usage_in_bytes": GIB})
    assert kernel.cgroups().memory_share(MACHINE) == 0.5


def test_a_group_outside_of_what_is_mounted_is_looked_for_nowhere_else(kernel: Kernel, tmp_path: Path) -> None:
    holds(tmp_path / "elsewhere", memory_v2(GIB, GIB))
    holds(kernel.mount_v2(own="/../elsewhere"), memory_v2(4 * GIB, GIB))
    assert kernel.cgroups().memory_share(MACHINE) == 0.25


def test_cpu_time_is_told_with_the_quota(kernel: Kernel) -> None:
    root = kernel.mount_v2(own="/a")
    holds(root / "a", {"cpu.max": "150000 100000", "cpu.stat": "usage_usec 2500000\nuser_usec 1"})
    holds(root, {"cpu.max": "max 100000", "cpu.stat": "usage_usec 9"})
    (time,) = kernel.cgroups().cpu_times()
    assert (time.used_s, time.cores) == (2.5, 1.5)


def test_version_1_tells_cpu_time_in_a_hierarchy_of_its_own(kernel: Kernel) -> None:
    quota = kernel.mount_v1("cpu", own="/a")
    account = kernel.mount_v1("cpuacct", own="/a")
    holds(quota, {"cpu.cfs_quota_us": -1, "cpu.cfs_period_us": 100000})
    holds(quota / "a", {"cpu.cfs_quota_us": 50000, "cpu.cfs_period_us": 100000})
    holds(account / "a", {"cpuacct.usage": 3_000_000_000})
    (time,) = kernel.cgroups().cpu_times()
    assert (time.used_s, time.cores) == (3.0, 0.5)


LIMIT = 512 << 20


@pytest.fixture
def group() -> Iterator[Path]:
    with memory_group(LIMIT) as folder:
        yield folder


@pytest.mark.skipif(not may_limit_memory(), reason="only root may make control groups, and not in every container")
def test_a_process_in_a_real_group_knows_how_full_that_is(group: Path) -> None:
    script = """
import os, sys
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
from node.meter import Meter
from model.cluster.load import Measure
meter = Meter([Measure.MEMORY], None)
before = meter.measure()[Measure.MEMORY]
held = bytearray(b"x") * (256 << 20)
print(before, meter.measure()[Measure.MEMORY])
"""
    ran = subprocess.run([sys.executable, "-c", script, str(group)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    before, after = map(float, ran.stdout.split())
    assert 0 <= before < 0.3
    assert 0.45 < after - before < 0.6
