"""`worker/private_folder.py`: what a worker writes is for its user alone, also where several folders are missing."""

from __future__ import annotations

from pathlib import Path

from worker.private_folder import make_private


def test_the_missing_folders_above_are_private_too(tmp_path: Path) -> None:
    life = tmp_path / "ends" / "7"
    make_private(life)
    make_private(life)  # again is no harm
    assert [folder.stat().st_mode & 0o777 for folder in (life.parent, life)] == [0o700, 0o700]
