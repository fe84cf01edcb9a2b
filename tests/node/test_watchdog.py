"""`node/watchdog.py`: a hung loop ends its process, and a process that slept does not end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.every import every

ROOT = Path(__file__).parents[2]
LIMIT_S = 1.0

PROGRAM = """
import asyncio, sys, time
from datetime import timedelta
import structlog
from node.watchdog import watched

structlog.configure(
    processors=[structlog.processors.JSONRenderer()], logger_factory=structlog.PrintLoggerFactory(sys.stderr)
)

def the_culprit():
    BODY

async def main():
    with watched(timedelta(seconds=float(sys.argv[1]))):
        print("ready", flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            the_culprit()
            await asyncio.sleep(0)
            print("alive", flush=True)

asyncio.run(main())
"""


@contextmanager
def program(body: str = "pass", limit_s: float = LIMIT_S) -> Iterator[subprocess.Popen[str]]:
    """A process with a watched loop that calls `body`, in the loop, for each line that it reads."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("BODY", body), str(limit_s)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@every("body", ["time.sleep(60)", "while True: pass"])
def test_a_hung_loop_ends_its_process_and_says_where_it_hung(body: str) -> None:
    with program(body) as process:
        began_s = time.monotonic()
        said = process.communicate("go\n", timeout=180)[1]
        took_s = time.monotonic() - began_s
    assert process.returncode == 70
    assert took_s >= LIMIT_S
    [line] = said.splitlines()
    event = json.loads(line)
    assert event["event"] == "loop_hung"
    assert "in the_culprit" in event["where"]


def test_a_loop_that_is_late_now_and_then_is_let_alone() -> None:
    with program("time.sleep(0.6)", limit_s=2.5) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(5):
            process.stdin.write("go\n")
            process.stdin.flush()
            assert process.stdout.readline() == "alive\n"
        assert process.poll() is None


def test_a_process_that_was_stopped_for_longer_is_not_ended_when_it_wakes() -> None:
    with program() as process:
        for _ in range(3):
            process.send_signal(signal.SIGSTOP)
            time.sleep(2 * LIMIT_S)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.2)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2 * LIMIT_S)


def test_time_asleep_does_not_count_for_a_loop_that_hangs_as_well() -> None:
    """Stopped again and again before it has hung for long enough: only the time awake adds up."""
    with program("time.sleep(60)") as process:
        assert process.stdin is not None
        begun_s = time.monotonic()
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(0.3 * LIMIT_S)
        process.send_signal(signal.SIGSTOP)
        awake_s = time.monotonic() - begun_s
        time.sleep(2 * LIMIT_S)
        process.send_signal(signal.SIGCONT)
        woken_s = time.monotonic()
        assert process.wait(60) == 70
        assert time.monotonic() - woken_s >= 0.7 * LIMIT_S - awake_s


def test_a_log_that_nobody_reads_does_not_keep_it_alive() -> None:
    with program("sys.stderr.write('x' * 1_000_000)") as process:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.wait(60) == 70


def test_after_the_block_nobody_watches() -> None:
    with program() as process:
        process.communicate(timeout=180)
    assert process.returncode == 0
