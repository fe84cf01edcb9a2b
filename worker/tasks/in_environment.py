"""Runs a script in a virtual environment with the requirements of its task, which it creates first if needed.

The task's own interpreter runs this text, as the task's user, with Python's library alone: `uv, folder, kept,
requirements, script` are its arguments. The process then becomes the script's. It holds a lock as long as the script
runs, so that nobody removes the environment meanwhile.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

COMPLETE = "complete"


def main() -> None:
    uv, folder, kept, requirements, script = sys.argv[1:]
    made_of = json.dumps([sys.executable, sys.version, sorted(json.loads(requirements))])
    place = Path(folder) / hashlib.sha256(made_of.encode()).hexdigest()[:32]
    lock = _locked(place, fcntl.LOCK_EX)
    if not (place / COMPLETE).exists():
        _make(uv, place, json.loads(requirements))
        _make_room(Path(folder), int(kept))
    os.utime(lock)
    fcntl.flock(lock, fcntl.LOCK_SH)
    os.set_inheritable(lock, True)
    python = str(place / "bin" / "python")
    os.execv(python, [python, "-u", script])  # noqa: S606 - the next program of this very process


def _locked(place: Path, how: int) -> int:
    """Lock an environment. The lock file is removed with the environment: a later one has another file."""
    path = place.with_suffix(".lock")
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, how)
            if os.fstat(lock).st_ino == path.stat().st_ino:
                return lock
        except FileNotFoundError:
            pass
        except BlockingIOError:
            os.close(lock)
            raise
        os.close(lock)


def _make(uv: str, place: Path, requirements: list[str]) -> None:
    shutil.rmtree(place, ignore_errors=True)  # one that was left half made
    make = [uv, "venv", "--quiet", "--no-cache", "--no-project", "--python", sys.executable, str(place)]
    install = [uv, "pip", "install", "--no-cache", "--python", str(place / "bin" / "python"), "--", *requirements]
    for command in (make, install):
        try:
            code = subprocess.run(command, check=False).returncode
        except OSError as error:
            sys.exit(f"the uv of this worker cannot be run: {error}")
        if code != 0:
            sys.exit(f"the requirements {', '.join(requirements)} could not be installed: what uv said stands above")
    (place / COMPLETE).touch()


def _make_room(folder: Path, kept: int) -> None:
    """Remove the least recently used environments, except those in use."""
    locks = sorted(folder.glob("*.lock"), key=lambda each: -each.stat().st_mtime_ns)
    for path in locks[kept:]:
        try:
            lock = _locked(path.with_suffix(""), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        path.unlink()
        os.close(lock)


if __name__ == "__main__":
    main()
