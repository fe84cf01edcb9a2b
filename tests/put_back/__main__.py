"""Put each bug back, in a copy of the tree, and see that its test fails: `make put-back`, ARGS="9 14" for some.

What the simulation finds is not here: `make test` switches each of its protections off.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tests.put_back.bug import Bug, Patch
from tests.put_back.bugs import BUGS

ROOT = Path(__file__).parents[2]
FAILED, LIMIT_S = 1, 900
"""pytest's exit code for a failed test, and the limit for one run."""


def main(numbers: list[str]) -> int:
    """The exit code: 0 when each of them was found."""
    missed = 0
    for bug in BUGS:
        if isinstance(bug.back_by, Patch) and (not numbers or bug.number in numbers):
            began_s = time.monotonic()
            problem = _problem(bug, bug.back_by)
            missed += problem is not None
            took = f"{time.monotonic() - began_s:.0f} s"
            print(f"{problem or 'found'}  {bug.number}. {bug.back_by.shown}: {bug.was} ({took})", flush=True)  # noqa: T201
    return int(missed > 0)


def _problem(bug: Bug, patch: Patch) -> str | None:
    with tempfile.TemporaryDirectory(prefix="put-back-") as folder:
        copy = Path(folder) / "shoal"
        _copy_tree(copy)
        file = copy / patch.file
        file.write_text(file.read_text().replace(patch.old, patch.new))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", bug.found_by]
        environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        _end_what_is_left(str(copy))
    if done.returncode == FAILED:
        return None
    lines = done.stdout.strip().splitlines() or [""]
    return "NOT FOUND" if done.returncode == 0 else f"pytest ends with {done.returncode}: {lines[-1]}"


def _end_what_is_left(copy: str) -> None:
    """A test that fails may leave what it froze."""
    for process in psutil.process_iter(["cmdline"]):
        if any(copy in argument for argument in process.info["cmdline"] or ()):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def _copy_tree(to: Path) -> None:
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in names:
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
