"""The logs of runs that are gone are deleted, and no others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest_asyncio

from node.life import Life
from tests.dao.scene import Scene
from tests.master.lives import begin_life
from worker.old_logs import delete_gone


@pytest_asyncio.fixture
async def life(database_url: str) -> AsyncIterator[Life]:
    began = await begin_life(database_url)
    yield began
    await began.close()


def _log(root: Path, day: str, run: int) -> Path:
    file = root / day / "1001" / str(run) / "7.log"
    file.parent.mkdir(parents=True)
    file.write_text("said")
    return file


async def test_logs_of_runs_that_are_gone_are_deleted_and_no_others(life: Life, tmp_path: Path) -> None:
    scene = Scene(life.database)
    gone = await scene.instance(life.me)
    kept, last = await scene.instance(life.me), await scene.instance(life.me)
    await scene.sql("DELETE FROM workflow_instance WHERE id = :id", id=gone)
    today = datetime.now(UTC).strftime("%Y%m%d")
    old, young, of_another = (
        _log(tmp_path, "20260101", gone), _log(tmp_path, today, gone), _log(tmp_path, "20260102", last + 100),
    )  # fmt: skip
    left = [_log(tmp_path, "20260101", kept), young, of_another]
    alone = _log(tmp_path, "20260103", gone)
    odd = tmp_path / "20260101" / "notes"
    odd.mkdir()
    outside = tmp_path / "outside" / str(gone)
    outside.mkdir(parents=True)
    (tmp_path / "20260101" / "1002").symlink_to(tmp_path / "outside")
    assert await delete_gone(tmp_path, life) == 2
    assert not old.parent.exists()
    assert not alone.parents[2].exists(), "the empty folders of its day went too"
    assert all(each.read_text() == "said" for each in left)
    assert odd.exists()
    assert outside.exists(), "links are not followed"
    assert await delete_gone(tmp_path, life) == 0
