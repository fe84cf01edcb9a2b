"""A clock of its own for one process: an hour off, drifting, or stepping, as a broken time service would leave it.

By libfaketime (Debian's `faketime`), put under the process by the loader. Spans are left alone: CLOCK_MONOTONIC and
CLOCK_BOOTTIME of a real machine do not jump with its wall clock either.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

# Python's sleep waits for a moment of CLOCK_MONOTONIC, which libfaketime 0.9.10 moves by the offset of the wall clock
# although it was told to leave it alone: the sleep fails, or lasts an hour.
_SLEEP = """
import select, time
time.sleep = lambda seconds: select.select([], [], [], seconds) and None
"""


class WrongClock:
    """The environment of a process whose wall clock is off; `step` moves it while the process runs.

    Args:
        folder: for the file with the clock's offset.
        offset_h: hours ahead, negative = behind.
        rate: its speed, 1 = right.
    """

    def __init__(self, folder: Path, offset_h: float, rate: float = 1.0) -> None:
        libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
        assert libraries, "libfaketime is missing; tests/servers/install installs it"
        self._file = folder / f"clock-{offset_h:+g}-{rate:g}"
        self._rate = rate
        (folder / "sitecustomize.py").write_text(_SLEEP)
        self.step(offset_h)
        self.environment: Mapping[str, str] = {
            "LD_PRELOAD": str(libraries[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])),
        }

    def step(self, offset_h: float) -> None:
        """Set the clock this many hours ahead."""
        self._file.write_text(f"{offset_h:+g}h" + (f" x{self._rate:g}" if self._rate != 1 else ""))
