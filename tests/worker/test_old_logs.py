"""The logs of runs that are gone are deleted, and no others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest_asyncio

from node.life import Life
from tests.dao.scene import Scene
from tests.master.lives import begin_life
from worker.logs.disk_deletion import delete_gone


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
    assert await delete_gone(tmp_path, life) == (2, 0)
    assert not old.parent.exists()
    assert not alone.parents[2].exists(), "the empty folders of its day went too"
    assert all(each.read_text() == "said" for each in left)
    assert odd.exists()
    assert outside.exists(), "links are not followed"
    assert await delete_gone(tmp_path, life) == (0, 0)


async def test_of_a_run_that_goes_on_the_logs_of_deleted_attempts_go_and_of_one_that_ended_none(
    life: Life, tmp_path: Path
) -> None:
    """A stream that restarts forever: only its last attempts have rows."""
    scene = Scene(life.database)
    goes_on, ended = await scene.instance(life.me), await scene.instance(life.me)
    await scene.sql("UPDATE workflow_instance SET state = 'SUCCESS', ended_at = now() WHERE id = :id", id=ended)
    await scene.instance(life.me)
    insert = """INSERT INTO task_instance (workflow_instance_id, task_code, task_name, attempt, state, flag, task_type,
                                           worker_group, workflow_priority, task_priority)
                SELECT :run, 1, 'a', n, 'QUEUED', 'NO', 'SHELL', 'default', 'MEDIUM', 'MEDIUM'
                FROM generate_series(1, 3) AS n RETURNING id"""
    logs: dict[int, list[Path]] = {}
    for run in (goes_on, ended):
        ids: list[int] = sorted(await scene.sql(insert, run=run))
        await scene.sql("DELETE FROM task_instance WHERE id = :id", id=ids[0])
        folder = tmp_path / "20260101" / "1001" / str(run)
        folder.mkdir(parents=True)
        logs[run] = [folder / f"{id_}.log" for id_ in (*ids, ids[-1] + 1_000)]
        for log in (*logs[run], folder / "notes.log"):
            log.write_text("said")
    assert await delete_gone(tmp_path, life) == (0, 1)
    assert [log.exists() for log in logs[goes_on]] == [False, True, True, True], "the last is of another database"
    assert all(log.exists() for log in logs[ended])
    assert (logs[goes_on][0].parent / "notes.log").exists()
    empty = tmp_path / "20260102" / "1001" / str(goes_on)
    empty.mkdir(parents=True)
    assert await delete_gone(tmp_path, life) == (0, 0)
    assert not empty.parents[1].exists()
