"""Copies of runs that are gone leave the log store, in steps, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

from dao.postgres.database import CONNECTIONS_MAX
from logstore.calls import StoreCalls
from logstore.folder import FolderStore
from model.errors import Unavailable
from node.life import Life
from node.store_access import StoreAccess
from tests.dao.scene import Scene
from tests.master.lives import begin_life
from worker.logs import store_deletion
from worker.logs.store_deletion import walk_step


@pytest_asyncio.fixture
async def life(database_url: str) -> AsyncIterator[Life]:
    began = await begin_life(database_url)
    yield began
    await began.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


@pytest.fixture
async def store(life: Life, folder: Path) -> StoreAccess:
    access = StoreAccess(StoreCalls(FolderStore(folder), 5), life)
    await access.verify()
    return access


def _copy(folder: Path, day: str, run: int, name: str = "7.log") -> Path:
    file = folder / day / "1001" / str(run) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("said")
    return file


async def test_copies_of_runs_that_are_gone_are_deleted_in_steps_and_no_others(
    life: Life, store: StoreAccess, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_deletion, "KEYS_MAX", 2)
    monkeypatch.setattr(store_deletion, "PAUSE_S", 0.0)
    scene = Scene(life.database)
    gone = await scene.instance(life.me)
    kept, last = await scene.instance(life.me), await scene.instance(life.me)
    await scene.sql("UPDATE workflow_instance SET state = 'SUCCESS', ended_at = now() WHERE id = :id", id=kept)
    await scene.sql("DELETE FROM workflow_instance WHERE id = :id", id=gone)
    await scene.sql("INSERT INTO stored_log (task_instance_id, size) SELECT n, 4 FROM generate_series(7, 9) AS n")
    today = datetime.now(UTC).strftime("%Y%m%d")
    old = [
        _copy(folder, "20260101", gone),
        _copy(folder, "20260103", gone, "8.log"),
        _copy(folder, "20260104", gone, "9.5.log"),
        _copy(folder, "20260104", gone, "9.0.value"),
        _copy(folder, "20260104", gone, "9.12.file"),
    ]
    left = [_copy(folder, "20260101", kept, "1.log"), _copy(folder, today, gone), _copy(folder, "20260102", last + 100)]
    odd = folder / "20260101" / "notes"
    odd.write_text("mine")
    steps = 1
    while await walk_step(store, life):
        steps += 1
    assert steps >= 3
    assert not [each for each in old if each.exists()]
    assert [each.read_text() for each in left] == ["said"] * 3
    assert odd.exists()
    assert await scene.sql("SELECT count(*) FROM stored_log") == [0]
    assert not await walk_step(store, life), "the next walk is not due"


async def test_of_an_unfinished_run_the_copies_of_deleted_attempts_go(
    life: Life, store: StoreAccess, folder: Path
) -> None:
    scene = Scene(life.database)
    run = await scene.instance(life.me)
    await scene.instance(life.me)
    insert = """INSERT INTO task_instance (workflow_instance_id, task_code, task_name, attempt, state, flag, task_type,
                                           worker_group, workflow_priority, task_priority)
                SELECT :run, 1, 'a', n, 'QUEUED', 'NO', 'SHELL', 'default', 'MEDIUM', 'MEDIUM'
                FROM generate_series(1, 2) AS n RETURNING id"""
    first, second = sorted(await scene.sql(insert, run=run))
    await scene.sql("DELETE FROM task_instance WHERE id = :id", id=first)
    copies = [_copy(folder, "20260101", run, f"{id_}.log") for id_ in (first, second)]
    assert not await walk_step(store, life)
    assert [each.exists() for each in copies] == [False, True]


async def test_one_worker_at_a_time_walks(life: Life, store: StoreAccess, folder: Path) -> None:
    scene = Scene(life.database)
    for run in [await scene.instance(life.me) for _ in range(3)][:2]:
        await scene.sql("DELETE FROM workflow_instance WHERE id = :id", id=run)
        _copy(folder, "20260101", run)
    calls = 0
    real = store.run

    async def counted(call: object) -> object:
        nonlocal calls
        calls += 1
        return await real(call)  # type: ignore[arg-type]

    store.run = counted  # type: ignore[method-assign, assignment]
    await asyncio.gather(*(walk_step(store, life) for _ in range(4)))
    assert calls == 3, "one verified, listed and deleted"


async def test_a_store_that_lost_its_mark_is_not_walked(life: Life, store: StoreAccess, folder: Path) -> None:
    scene = Scene(life.database)
    gone, _ = await scene.instance(life.me), await scene.instance(life.me)
    await scene.sql("DELETE FROM workflow_instance WHERE id = :id", id=gone)
    copy = _copy(folder, "20260101", gone)
    (folder / "shoal-log-store").unlink()
    with pytest.raises(Unavailable, match="has lost its file shoal-log-store"):
        await walk_step(store, life)
    assert copy.exists()


async def test_two_workers_that_begin_at_once_agree_on_the_mark(life: Life, folder: Path) -> None:
    accesses = [StoreAccess(StoreCalls(FolderStore(folder), 5), life) for _ in range(4)]
    await asyncio.gather(*(each.verify() for each in accesses))
    assert await Scene(life.database).sql("SELECT mark::text FROM log_store") == [
        (folder / "shoal-log-store").read_text().strip()
    ]


async def test_many_look_at_the_mark_at_once_and_none_waits_for_another_with_a_connection(
    life: Life, store: StoreAccess
) -> None:
    """As tasks with large values do: more of them than there are connections."""
    async with asyncio.timeout(5):
        await asyncio.gather(*(store.verify() for _ in range(8 * CONNECTIONS_MAX)))


async def test_a_folder_under_another_name_is_the_same_store(
    life: Life, store: StoreAccess, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "mounted").symlink_to(folder)
    await StoreAccess(StoreCalls(FolderStore(tmp_path / "mounted"), 5), life).verify()
    assert len(set(await Scene(life.database).sql("SELECT mark::text FROM log_store"))) == 1
