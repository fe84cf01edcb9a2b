"""Tasks that harm: each ends with a reason, its log stays bounded, and the worker runs the next one."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.runs.states import TaskState
from tests.eventually import eventually
from tests.worker.errand import Errands
from tests.worker.scene import FAMILY, FAMILY_SIZE, processes_of
from worker.logs.task_log import ENDING_BYTES

MIB = 1 << 20
FULL = "the disk of its worker is full (No space left on device); make room in the worker's folder"
MARK = "hostile-4711"


async def runs_the_next(errands: Errands) -> None:
    """The worker is as well as before."""
    assert (await errands.shell("echo '${setValue(a=1)}'")).outputs == '{"a": "1"}'


@pytest.mark.parametrize("source", ["head -c 1000000000 /dev/zero", "yes | head -c 1000000000"])
async def test_a_gigabyte_of_output_costs_neither_memory_nor_disk(errands: Errands, source: str) -> None:
    errands.settings["log_bytes_max"] = MIB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end = await errands.shell(f"{source}; echo; echo the end; exit 3")
    assert (end.state, end.reason) == (TaskState.FAILURE, "exit code 3: the end")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB
    assert errands.log_file.stat().st_size < MIB + ENDING_BYTES + 200
    assert errands.log.endswith("the end\n")
    await runs_the_next(errands)


async def test_a_gigabyte_of_values_is_refused(errands: Errands) -> None:
    errands.settings["log_bytes_max"] = MIB
    end = await errands.shell("yes '${setValue(a=1)}' | head -c 1000000000")
    assert end.reason == "it printed more than 20000 lines with setValue; print each value once"
    await runs_the_next(errands)


async def test_the_loop_is_not_held_up_by_a_gigabyte(errands: Errands) -> None:
    """Beats must go out: others take a worker that is silent for dead. Processor time, which other programs do not
    take part in."""
    errands.settings["log_bytes_max"] = MIB
    run = errands.start("head -c 1000000000 /dev/zero")
    longest = 0.0
    while not run.done():
        began = time.thread_time()
        await asyncio.sleep(0.01)
        longest = max(longest, time.thread_time() - began)
    assert (await run).state is TaskState.SUCCESS
    assert longest < 0.5


async def test_binary_output_is_kept_and_a_reason_made_of_it_can_be_stored(errands: Errands) -> None:
    end = await errands.shell(r"head -c 100000 /dev/urandom; printf '\xff\x00\xfe${setValue(\n\x00\xff'; exit 1")
    assert (end.state, end.exit_code) == (TaskState.FAILURE, 1)
    assert "\x00" not in end.reason
    assert errands.log_file.read_bytes()[100_000:] == b"\xff\x00\xfe${setValue(\n\x00\xff"
    await runs_the_next(errands)


async def test_a_family_that_wants_to_outlive_its_task_is_gone_with_it(errands: Errands) -> None:
    family = FAMILY.replace("$MARK", MARK)
    run = errands.start(f"export MARK={MARK}\n{family}sleep 0.5; echo done")
    await eventually(lambda: len(processes_of(MARK)) >= FAMILY_SIZE, within_s=5)
    assert (await run).state is TaskState.SUCCESS
    assert processes_of(MARK) == set()
    await runs_the_next(errands)


async def test_one_that_ignores_every_signal_ends_at_its_timeout(errands: Errands) -> None:
    script = (
        f"export MARK={MARK}; trap '' TERM HUP INT QUIT USR1 USR2; bash -c 'sleep 1000' & while :; do sleep 1000; done"
    )
    end = await errands.shell(script, timeout_s=0.5)
    assert (end.state, end.reason) == (TaskState.FAILURE, "it took longer than its timeout of 0.5 s")
    assert processes_of(MARK) == set()
    await runs_the_next(errands)


async def test_a_script_that_takes_away_its_own_folder_and_log_is_only_its_own_loss(errands: Errands) -> None:
    end = await errands.shell(f"echo one; rm -rf {errands.folder}/work/5 {errands.folder}/logs; echo two; exit 4")
    assert (end.state, end.reason) == (TaskState.FAILURE, "exit code 4: two")
    await runs_the_next(errands)


@pytest.fixture
def small_disk(errands: Errands) -> Iterator[Path]:
    """The worker's folder on a disk of two megabytes."""
    errands.folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(errands.folder)], check=True)
    yield errands.folder
    subprocess.run(["umount", str(errands.folder)], check=True)


mounts = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
    reason="only root can mount a small disk, and not in every container; the limits of files below stand for it",
)


@mounts
async def test_a_task_that_fills_the_disk_with_files_fails_alone_and_the_room_comes_back(
    errands: Errands, small_disk: Path
) -> None:
    end = await errands.shell("head -c 5000000 /dev/zero > full || { echo no room left >&2; exit 1; }")
    assert end.state is TaskState.FAILURE
    assert end.reason in (FULL, "exit code 1: no room left")
    await runs_the_next(errands)


@mounts
async def test_a_task_that_fills_the_disk_with_its_log_is_ended_with_that_reason(
    errands: Errands, small_disk: Path
) -> None:
    end = await errands.shell("yes")
    assert (end.state, end.reason) == (TaskState.FAILURE, FULL)
    assert errands.log_file.stat().st_size <= 2 * MIB
    errands.log_file.unlink()
    await runs_the_next(errands)


@mounts
async def test_on_a_full_disk_no_task_begins_and_each_is_given_back_with_that_reason(
    errands: Errands, small_disk: Path
) -> None:
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    for _ in range(3):
        end = await errands.shell("echo hello")
        assert end.state is TaskState.PAUSE
        assert end.reason.endswith(FULL)
    assert errands.lacked_means == 3
    filler.unlink()
    await runs_the_next(errands)
    assert errands.lacked_means == 3


async def test_a_task_whose_files_hit_their_limit_ends_with_the_signals_name(errands: Errands) -> None:
    end = await errands.shell("ulimit -f 100; exec head -c 5000000 /dev/zero > full")
    assert (end.state, end.reason) == (TaskState.FAILURE, "exit code 153 (SIGXFSZ)")
    await runs_the_next(errands)


async def test_a_breeder_is_stopped_at_its_timeout(errands: Errands) -> None:
    hop = f"export MARK={MARK}; hop() {{ ( sleep 0.01; hop & ) & }}; hop; hop; hop; sleep 1000"
    end = await errands.shell(hop, timeout_s=0.5)
    assert end.state is TaskState.FAILURE
    assert processes_of(MARK) == set()
    await runs_the_next(errands)
