"""The machine and the server of the measurements."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from bench.cluster import SETTINGS
from bench.server import BenchServer


@dataclass(frozen=True, slots=True)
class Machine:
    """The relevant facts about them. `load_before` is the load average of the last minute before the measurements."""

    date: str
    commit: str
    cores: int
    processor: str
    memory_gib: float
    kernel: str
    python: str
    postgresql: str
    load_before: float
    durability: Mapping[str, str]
    changed_settings: Mapping[str, str]
    shoal_settings: Mapping[str, str]

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def load_before() -> float:
    """The load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def look(server: BenchServer, load: float) -> Machine:
    """This machine and this server; `load` was read before any of our processes ran."""
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        commit=_commit(),
        cores=psutil.cpu_count() or 1,
        processor=_processor(),
        memory_gib=round(psutil.virtual_memory().total / 2**30, 1),
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        postgresql=server.version(),
        load_before=load,
        durability=server.durability(),
        changed_settings=server.changed_settings(),
        shoal_settings=SETTINGS,
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _commit() -> str:
    """The measured commit; "+ changes" if the tree differs from it."""
    here = Path(__file__).parent
    found = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=here, capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        return "unknown"
    # The page was written by the previous execution and is not part of the measured code.
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--", ":/", ":/!docs"], cwd=here, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() + (" + changes" if changed.stdout.strip() else "")
