"""Measures each file of tests: `make durations` writes durations.txt, by which conftest.py orders the files.

A line has a file, its seconds by the clock, and the processor seconds of all processes below ours, servers included.
The latter show a test's cost even on a busy machine.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).with_name("durations.txt")
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Duration:
    """Seconds by the clock, and of processors."""

    clock_s: float
    cpu_s: float


def recorded() -> dict[str, Duration]:
    """The recorded durations of files, by their path in the repository."""
    lines = FILE.read_text("utf-8").splitlines() if FILE.exists() else []
    return {path: Duration(float(clock_s), float(cpu_s)) for path, clock_s, cpu_s in map(str.split, lines)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Measure a file from its first test to its last one, with what these tear down."""
    began = item.config.stash.setdefault(_BEGAN, _now())
    found = yield
    if nextitem is None or nextitem.path != item.path:
        now = _now()
        file = item.nodeid.partition("::")[0]
        _taken(item.config)[file] = (now.clock_s - began.clock_s, now.cpu_s - began.cpu_s)
        item.config.stash[_BEGAN] = now
    return found


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Give it to the process that distributes the tests, or write it."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["durations"] = _taken(config)
    else:
        _write({**recorded(), **{file: Duration(*each) for file, each in _taken(config).items()}})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take it from a process that has run some."""
    _taken(node.config).update(getattr(node, "workeroutput", {}).get("durations", {}))


def _taken(config: pytest.Config) -> dict[str, tuple[float, float]]:
    return config.stash.setdefault(_TAKEN, {})


def _write(durations: dict[str, Duration]) -> None:
    there = {file: each for file, each in durations.items() if (FILE.parents[1] / file).exists()}
    lines = (f"{file} {each.clock_s:.1f} {each.cpu_s:.1f}\n" for file, each in sorted(there.items()))
    FILE.write_text("".join(lines), "utf-8")


def _now() -> Duration:
    """The clock, and what this process and all below it have used, with those that have ended."""
    used, below = {}, defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        used[int(folder.name)] = sum(map(int, fields[11:15]))
        below[int(fields[1])].append(int(folder.name))
    ticks, left = 0, [os.getpid()]
    while left:
        ticks += used.get(pid := left.pop(), 0)
        left += below[pid]
    return Duration(time.monotonic(), ticks / _TICKS_A_SECOND)


_BEGAN = pytest.StashKey[Duration]()
_TAKEN = pytest.StashKey[dict[str, tuple[float, float]]]()
