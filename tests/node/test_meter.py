"""Measures of this machine: plausible values of all that is asked for, of nothing else, and in no time."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from model.cluster.load import MIB, Measure, WorkerLoadSettings
from model.cluster.nodes import NodeStatus
from node.cgroup import Cgroups
from node.meter import Meter
from node.overload import Overload

EVERYTHING = frozenset(Measure) - {Measure.RUNS}


def test_all_that_is_asked_for_is_measured_and_nothing_else(tmp_path: Path) -> None:
    meter = Meter(EVERYTHING, tmp_path)
    meter.measure()
    values = meter.measure()
    assert values.keys() == EVERYTHING
    assert all(0 <= values[share] <= 1 for share in (Measure.MEMORY, Measure.CPU, Measure.DISK))
    assert values[Measure.LOAD] >= 0
    assert Meter([Measure.MEMORY], tmp_path).measure().keys() == {Measure.MEMORY}


def test_cpu_use_needs_two_moments(tmp_path: Path) -> None:
    meter = Meter([Measure.CPU], None)
    assert meter.measure() == {}
    assert meter.measure().keys() == {Measure.CPU}


def test_a_core_that_is_kept_busy_is_seen(tmp_path: Path) -> None:
    meter = Meter([Measure.CPU], None, Cgroups(tmp_path))
    meter.measure()
    end_s = time.monotonic() + 0.5
    while time.monotonic() < end_s:
        pass
    assert meter.measure()[Measure.CPU] >= 0.4 / (os.cpu_count() or 1)


@pytest.mark.parametrize("average", [0.0, 1e6])
def test_a_load_that_is_over_counts_no_longer(average: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (average,) * 3)
    found = Meter([Measure.LOAD], None).measure()[Measure.LOAD]
    assert 0 <= found <= min(average, 10_000), "never that many processes run"


def test_a_quota_counts_instead_of_the_machine(tmp_path: Path) -> None:
    group, process = tmp_path / "cgroup", tmp_path / "proc"
    group.mkdir()
    process.mkdir()
    (process / "mountinfo").write_text(f"31 1 0:28 / {group} rw - cgroup2 cgroup2 rw\n")
    (process / "cgroup").write_text("0::/\n")
    (group / "cpu.max").write_text("50000 100000\n")
    (group / "cpu.stat").write_text("usage_usec 0\n")
    meter = Meter([Measure.CPU], None, Cgroups(process))
    meter.measure()
    began_s = time.monotonic()
    (group / "cpu.stat").write_text("usage_usec 100000000\n")
    assert meter.measure()[Measure.CPU] == 1.0, f"100 s of CPU within {time.monotonic() - began_s:.3f} s"


def test_memory_is_as_psutil_tells_where_no_group_limits_it(tmp_path: Path) -> None:
    machine = psutil.virtual_memory()
    found = Meter([Measure.MEMORY], None, Cgroups(tmp_path)).measure()[Measure.MEMORY]
    assert found == pytest.approx(1 - machine.available / machine.total, abs=0.1)


def test_the_disk_is_as_df_tells(tmp_path: Path) -> None:
    values = Meter(EVERYTHING, tmp_path).measure()
    said = psutil.disk_usage(str(tmp_path))
    assert values[Measure.DISK] == pytest.approx(said.percent / 100, abs=0.01)
    assert values[Measure.FREE_DISK] == pytest.approx(said.free, rel=0.05)


def test_a_folder_that_is_not_there_has_no_disk(tmp_path: Path) -> None:
    assert Meter([Measure.FREE_DISK], tmp_path / "not" / "there").measure() == {}


def test_to_measure_everything_takes_less_than_five_milliseconds_of_cpu(tmp_path: Path) -> None:
    """CPU time, so that a busy machine fails nothing."""
    meter = Meter(EVERYTHING, tmp_path)
    meter.measure()
    took_s = []
    for _ in range(20):
        began_s = time.thread_time()
        meter.measure()
        took_s.append(time.thread_time() - began_s)
    assert min(took_s) < 0.005


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Two megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,nr_inodes=2000", "none", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


mounts = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
    reason="only root can mount a small disk, and not in every container",
)


@mounts
async def test_a_disk_that_fills_makes_busy_and_one_that_is_freed_does_not(small_disk: Path) -> None:
    settings = WorkerLoadSettings(disk_free_min=MIB, memory_max=1, load_max=0)
    overload = Overload(settings, so="takes nothing", folder=small_disk)
    await overload.measure()
    overload.evaluate(0.0)
    assert overload.status is NodeStatus.NORMAL
    (small_disk / "filler").write_bytes(b"0" * 1_500_000)
    await overload.measure()
    assert overload.evaluate(20.0)
    assert overload.status is NodeStatus.BUSY
    assert overload.because.startswith("free disk ")
    assert overload.because.endswith(" < 1 MiB")
    (small_disk / "filler").unlink()
    await overload.measure()
    assert not overload.evaluate(25.0), "held"
    assert overload.evaluate(30.0)
    assert overload.because == ""


async def test_what_is_in_doubt_is_measured_before_anything_new_is_taken() -> None:
    overload = Overload(WorkerLoadSettings(disk_free_min=1, load_max=0, memory_max=1), so="", folder=Path("/"))
    await overload.measure()
    overload.evaluate(0.0)
    assert not overload.takes_nothing
    overload.doubt()
    assert not overload.evaluate(1.0)
    assert overload.takes_nothing
    assert overload.status is NodeStatus.NORMAL
    await overload.measure()
    assert overload.takes_nothing, "until it has been evaluated"
    overload.evaluate(2.0)
    assert not overload.takes_nothing


@mounts
async def test_a_disk_full_of_empty_files_makes_busy(small_disk: Path) -> None:
    overload = Overload(WorkerLoadSettings(disk_free_min=1, load_max=0, memory_max=1), so="", folder=small_disk)
    for number in range(1_500):
        (small_disk / str(number)).touch()
    await overload.measure()
    overload.evaluate(0.0)
    assert overload.because.startswith("free files on its disk ")
