"""A small disk is full when it should be."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tests.chaos.disk import SIZE, SmallDisk


def test_a_filled_disk_takes_nothing_until_it_is_emptied(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path / "disk")
    if not disk.is_there:
        pytest.skip("only root can mount a small disk, and not in every container")
    try:
        for _ in range(2):
            disk.fill(100_000)
            with pytest.raises(OSError) as full:
                (disk.folder / "more").write_bytes(bytes(200_000))
            assert full.value.errno == errno.ENOSPC
            disk.empty()
            (disk.folder / "more").write_bytes(bytes(SIZE // 2))
            (disk.folder / "more").unlink()
    finally:
        disk.close()
    assert list(disk.folder.iterdir()) == []
