"""Shared by the worker's tests: a log in memory, and a way to find processes that does not trust our own code."""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from worker.launcher.client import Launcher

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A real Spark or Hadoop of a few seconds spends half of them on making its code fast, for hours that do not come."""


class MemoryLog:
    """A `TaskLog` that keeps the first megabyte and counts the rest."""

    def __init__(self) -> None:
        self.data = b""
        self.size = 0

    def write(self, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        self.size += len(data)
        self.data += data[: max(0, 1_000_000 - len(self.data))]

    def last_line(self) -> str:
        return self.text.strip().rpartition("\n")[2]

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")


def processes_of(mark: str) -> set[tuple[int, str]]:
    """Pid and start time of the living processes with `mark` in their environment or command line."""
    found = set()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            words = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
            _, _, fields = (folder / "stat").read_text().rpartition(")")
        except (OSError, UnicodeDecodeError):
            continue
        if mark.encode() in words and fields.split()[0] not in "ZX":
            found.add((int(folder.name), fields.split()[19]))
    return found


@dataclass
class Scene:
    """One launcher, one log, and the mark of all processes of one test."""

    launcher: Launcher
    cwd: Path
    log: MemoryLog = field(default_factory=MemoryLog)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def env(self) -> Mapping[str, str]:
        return {"PATH": os.environ["PATH"], "MARK": self.mark}

    async def bash(self, script: str) -> int:
        """Run a script with `$MARK` in its environment."""
        return await self.launcher.run(["bash", "-c", script], env=self.env, cwd=self.cwd, log=self.log)

    def alive(self) -> set[tuple[int, str]]:
        return processes_of(self.mark)

    def kill_what_is_left(self) -> None:
        """Kill what bears the mark, and wait until it is dead: a signal takes effect when its process is next run."""
        while left := self.alive():
            for pid, _ in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)


FAMILY = """
sleep 1000 &                                  # a background child
setsid sleep 1001 &                           # a session of its own
( setsid sleep 1002 & ) &                     # a daemon: its parent ends at once
( ( setsid bash -c 'sleep 1003 & wait' & ) & )
env -i setsid bash -c 'exec -a "$0" sleep 1004' "$MARK" &  # one that shed its environment
echo born
"""
"""Leaves six processes, all of which would outlive a plain kill of the main process."""

FAMILY_SIZE = 6
