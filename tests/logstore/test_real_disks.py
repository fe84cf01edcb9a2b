"""A shared folder on a disk that is really full, and really read-only, in a mount namespace of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_repository import ROOT

OWN_MOUNTS = next(
    (
        command
        for command in (["unshare", "-m"], ["unshare", "-Urm"])
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    ),
    None,
)
PROGRAM = """
import os, sys
from pathlib import Path
from logstore.folder import FolderStore
from model.errors import Unavailable
folder, source = Path(sys.argv[1]), open(sys.argv[2], "rb")
store = FolderStore(folder)
try:
    store.put("20260101/1/2/3.log", source.fileno(), 0, int(sys.argv[3]), lambda: None)
    print("stored")
except Unavailable as error:
    print(error)
print(sum(path.is_file() for path in folder.rglob("*")))
"""


@pytest.mark.skipif(
    OWN_MOUNTS is None, reason="this container allows no mounts; tests/logstore/test_stores.py has the same by errno"
)
def test_a_full_and_a_read_only_disk_are_said_and_get_no_part_of_a_log(tmp_path: Path) -> None:
    folder, source = tmp_path / "shared", tmp_path / "source"
    folder.mkdir()
    source.write_bytes(b"x" * 1_000_000)
    python = f'{sys.executable} -c "$PROGRAM" "$FOLDER" "$SOURCE"'
    script = f"""
        mount -t tmpfs -o size=256k none "$FOLDER" && {python} 1000000 && {python} 1000 &&
        mount -o remount,ro "$FOLDER" && {python} 1000
    """
    assert OWN_MOUNTS is not None
    done = subprocess.run(
        [*OWN_MOUNTS, "sh", "-c", script],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": str(ROOT), "PROGRAM": PROGRAM,
             "FOLDER": str(folder), "SOURCE": str(source)},
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    full, none, stored, one, read_only, still = done.stdout.splitlines()
    assert full == f"the log store {folder.as_uri()} is full (No space left on device); make room there"
    assert read_only == f"the log store {folder.as_uri()} is read-only; mount it for writing"
    assert (none, stored, one, still) == ("0", "stored", "1", "1")
