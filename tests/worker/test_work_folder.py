"""`worker/attempts/work_folder.py`: nothing of an attempt's folder is left, and nothing beside it is touched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from worker.attempts.work_folder import FEW, SMALL_BYTES, WorkFolder


def script(folder: Path) -> None:
    (folder / "script.sh").write_text("true")


def many(folder: Path) -> None:
    for number in range(FEW + 1):
        (folder / str(number)).touch()


def large(folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * (SMALL_BYTES + 1))


def nested(folder: Path) -> None:
    script(folder)
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "c").touch()


def links(folder: Path) -> None:
    (folder / "to_folder").symlink_to(folder.parent / "beside")
    (folder / "to_file").symlink_to(folder.parent / "beside" / "file")
    (folder / "to_nothing").symlink_to(folder / "gone")


@pytest.mark.parametrize("fill", [lambda _folder: None, script, many, large, nested, links])
async def test_all_that_is_in_it_is_removed_and_nothing_else(tmp_path: Path, fill: Callable[[Path], None]) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "file").write_text("kept")
    folder = WorkFolder(tmp_path, "5")
    fill(folder.make())
    await folder.remove()
    assert not folder.path.exists()
    assert (tmp_path / "beside" / "file").read_text() == "kept"


async def test_what_was_put_in_its_place_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "file").touch()
    folder = WorkFolder(tmp_path, "5")
    folder.make().rmdir()
    folder.path.symlink_to(tmp_path / "beside")
    await folder.remove()
    assert (tmp_path / "beside" / "file").exists()
