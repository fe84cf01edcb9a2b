"""The rows decide which logs are copied; what does not fit into memory, or was left, is found again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

from logstore.calls import StoreCalls
from logstore.folder import FolderStore
from logstore.protocol import Advanced
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logs.name import LogName
from node.life import Life
from node.store_access import StoreAccess
from tests.dao.scene import Scene
from tests.eventually import eventually
from tests.master.lives import begin_life
from worker.logs import copy_loop as log_copies
from worker.logs.copy_loop import LogCopies
from worker.logs.task_log import LogFile

NAME = "w1"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"GATHER_S": 0.0, "PAUSE_S_MIN": 0.01, "PAUSE_S_MAX": 0.05, "SAY_EVERY_S": 0.0}.items():
        monkeypatch.setattr(log_copies, name, value)


@pytest_asyncio.fixture
async def life(database_url: str) -> AsyncIterator[Life]:
    began = await begin_life(database_url, NAME)
    yield began
    await began.close()


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


class Bench:
    """A run of this life with attempts that have ended, and the copies of it."""

    def __init__(self, life: Life, root: Path, store: FolderStore) -> None:
        self.life = life
        self.root = root
        self.scene = Scene(life.database)
        self.calls = StoreCalls(store, 0.5, threads_max=2)
        self.copies = self.begin()
        self.run = WorkflowInstanceId(0)

    def begin(self) -> LogCopies:
        return LogCopies(self.root, self.life, NAME, StoreAccess(self.calls, self.life))

    async def attempts(self, count: int, state: str = "SUCCESS", worker: int | None = None) -> list[LogName]:
        if not self.run:
            self.run = await self.scene.instance(self.life.me)
        insert = """
            INSERT INTO task_instance (workflow_instance_id, task_code, task_name, attempt, state, flag, task_type,
                                       worker_group, workflow_priority, task_priority, worker_id, ended_at)
            SELECT :run, 1, 'a', (SELECT count(*) FROM task_instance) + n, CAST(:state AS text), 'NO', 'SHELL',
                   'default', 'MEDIUM', 'MEDIUM', :worker, CASE WHEN CAST(:state AS text) = 'SUCCESS' THEN now() END
            FROM generate_series(1, :count) AS n RETURNING id"""
        values = {"run": self.run, "state": state, "count": count}
        ids = await self.scene.sql(insert, **values, worker=self.life.me.epoch if worker is None else worker)
        return [self.name(id_) for id_ in sorted(ids)]

    def name(self, id_: int, day: str | None = None) -> LogName:
        today = datetime.now(UTC).strftime("%Y%m%d")
        return LogName(day or today, WorkflowCode(1001), self.run, TaskInstanceId(id_))

    def write(self, name: LogName, data: bytes = b"said\n", *, rolls_at: int | None = None) -> None:
        file = LogFile(self.root, name, rolls_at or 1 << 30, rolls=rolls_at is not None)
        file.open()
        for at in range(0, len(data), 1 << 16):
            file.write(data[at : at + (1 << 16)])
        file.close()

    async def stored(self) -> set[int]:
        return set(await self.scene.sql("SELECT task_instance_id FROM stored_log"))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.copies.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@pytest.fixture
def bench(life: Life, tmp_path: Path, shared: Path) -> Iterator[Bench]:
    yield Bench(life, tmp_path / "logs", FolderStore(shared))


async def test_only_logs_of_own_attempts_that_have_ended_are_copied(bench: Bench, shared: Path) -> None:
    """An attempt that returned to the queue, and ran elsewhere or on another day, has its log there."""
    (ended,) = await bench.attempts(1)
    (runs,) = await bench.attempts(1, "RUNNING_EXECUTION")
    other = await bench.scene.worker()
    (elsewhere,) = await bench.attempts(1, worker=other.epoch)
    (another_day,) = await bench.attempts(1)
    unknown = bench.name(10_000)
    for name in (ended, runs, elsewhere, unknown):
        bench.write(name)
    bench.write(bench.name(another_day.task_instance_id, "20260101"))
    async with bench.running():
        await eventually(bench.stored, until={ended.task_instance_id})
        await bench.scene.sql(
            "UPDATE task_instance SET state = 'SUCCESS', ended_at = now() WHERE id = :id", id=runs.task_instance_id
        )
        bench.copies.offer(runs)
        await eventually(bench.stored, until={ended.task_instance_id, runs.task_instance_id})
    assert sorted(path.name for path in shared.rglob("*.log")) == [ended.file, runs.file]


async def test_an_attempt_of_a_former_life_that_ends_later_is_found_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_copies, "SCAN_AGAIN_S", 0.1)
    (runs,) = await bench.attempts(1, "RUNNING_EXECUTION")
    bench.write(runs)
    async with bench.running():
        await bench.scene.sql(
            "UPDATE task_instance SET state = 'NEED_FAULT_TOLERANCE', ended_at = now() WHERE id = :id",
            id=runs.task_instance_id,
        )
        await eventually(bench.stored, until={runs.task_instance_id})


async def test_what_does_not_fit_into_memory_is_found_again_on_the_disk(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, shared: Path
) -> None:
    monkeypatch.setattr(log_copies, "OFFERED_MAX", 3)
    monkeypatch.setattr(log_copies, "BATCH", 2)
    monkeypatch.setattr(log_copies, "SCAN_AGAIN_S", 0.1)
    names = await bench.attempts(20)
    async with bench.running():
        await asyncio.sleep(0)
        for name in names:
            bench.write(name)
            bench.copies.offer(name)
        await eventually(bench.stored, until={name.task_instance_id for name in names}, within_s=20)
    assert len(list(shared.rglob("*.log"))) == 20


async def test_what_is_left_of_a_log_that_rolled_is_copied_with_its_place(bench: Bench, shared: Path) -> None:
    (name,) = await bench.attempts(1)
    lines = b"".join(b"line %07d\n" % number for number in range(300_000))
    bench.write(name, lines, rolls_at=1 << 20)
    async with bench.running():
        await eventually(bench.stored, until={name.task_instance_id})
    ((size, first),) = await bench.scene.sql("SELECT size, first_byte FROM stored_log")
    assert size == len(lines)
    assert first > size - (1 << 20)
    (copy,) = shared.rglob("*.log")
    assert copy.name == f"{name.task_instance_id}.{first}.log"
    assert copy.read_bytes() == lines[first:]
    assert copy.read_bytes().startswith(b"line ")


async def test_a_log_that_cannot_be_read_holds_up_no_other(bench: Bench, tmp_path: Path) -> None:
    bad, *good = await bench.attempts(4)
    for name in good:
        bench.write(name)
    folder = bench.root.joinpath(*bad.folders)
    (tmp_path / "secret").write_text("secret")
    (folder / bad.file).symlink_to(tmp_path / "secret")
    async with bench.running():
        await eventually(bench.stored, until={name.task_instance_id for name in good})
    assert await bench.scene.sql("SELECT count(*) FROM log_copying WHERE failing_since IS NOT NULL") == [0]


async def test_empty_logs_and_none_have_a_row_and_no_copy(bench: Bench, shared: Path) -> None:
    empty, none = await bench.attempts(2)
    bench.write(empty, b"")
    async with bench.running():
        await eventually(bench.stored, until={empty.task_instance_id})
        bench.copies.offer(none)
        await eventually(bench.stored, until={empty.task_instance_id, none.task_instance_id})
    assert await bench.scene.sql("SELECT size FROM stored_log ORDER BY task_instance_id") == [0, None]
    assert not list(shared.rglob("*.log"))


async def test_the_copy_of_a_run_that_was_deleted_meanwhile_is_deleted(
    bench: Bench, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = await bench.attempts(1)
    bench.write(name)
    loop = asyncio.get_running_loop()
    put = FolderStore.put

    def and_delete(self: FolderStore, key: str, fd: int, begin: int, end: int, advanced: Advanced) -> None:
        put(self, key, fd, begin, end, advanced)
        assert list(shared.rglob("*.log"))
        asyncio.run_coroutine_threadsafe(bench.scene.sql("DELETE FROM task_instance"), loop).result(10)

    monkeypatch.setattr(FolderStore, "put", and_delete)
    async with bench.running():
        await eventually(lambda: (shared / "shoal-log-store").exists() and not list(shared.rglob("*.log")))
        await eventually(lambda: not bench.copies._offered and not bench.copies._under_way)
    assert await bench.stored() == set()


async def test_a_store_that_hangs_takes_few_threads_and_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    names = await bench.attempts(8)
    for name in names:
        bench.write(name)
    goes_on = threading.Event()
    put = FolderStore.put

    def hangs(self: FolderStore, key: str, fd: int, begin: int, end: int, advanced: Advanced) -> None:
        goes_on.wait(60)
        put(self, key, fd, begin, end, advanced)

    monkeypatch.setattr(FolderStore, "put", hangs)

    async def reason() -> str | None:
        found = await bench.scene.sql("SELECT reason FROM log_copying")
        return found[0] if found else None

    try:
        async with bench.running():
            await eventually(reason, within_s=10)
            await eventually(_said(reason, "its former calls hang"), within_s=10)
            assert sum(thread.name == "shoal-log-store" for thread in threading.enumerate()) <= 2
            goes_on.set()
            await eventually(bench.stored, until={name.task_instance_id for name in names}, within_s=20)
            await eventually(lambda: reason_is_gone(reason), within_s=10)
    finally:
        goes_on.set()


def _said(reason: object, words: str) -> object:
    async def said() -> bool:
        return words in (await reason() or "")  # type: ignore[operator]

    return said


async def reason_is_gone(reason: object) -> bool:
    return await reason() is None  # type: ignore[operator]


async def test_it_says_how_many_wait_and_since_when_while_the_store_is_away(bench: Bench, shared: Path) -> None:
    names = await bench.attempts(5)
    shared.rmdir()
    for name in names:
        bench.write(name)
    async with bench.running():
        await eventually(_waiting(bench, 5), within_s=10)
        (since,) = await bench.scene.sql("SELECT failing_since FROM log_copying")
        await asyncio.sleep(0.2)
        assert await bench.scene.sql("SELECT failing_since FROM log_copying") == [since], "since the first time"
        shared.mkdir()
        await eventually(_waiting(bench, 0), within_s=10)
    assert await bench.scene.sql("SELECT failing_since, reason FROM log_copying") == [(None, None)]


def _waiting(bench: Bench, count: int) -> object:
    async def waits() -> bool:
        return await bench.scene.sql("SELECT waiting FROM log_copying") == [count]

    return waits
