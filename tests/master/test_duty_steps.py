"""What each duty does: what it deletes and leaves, what its checks find, and what it may not do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from dao.cluster import nodes
from dao.duties import duties, queue_statistics
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from master.duties.steps import STEPS, Context
from model.cluster.duties import DutyName, Step
from model.cluster.nodes import Heartbeat, NodeKind
from tests.dao.scene import Scene


@pytest_asyncio.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A database with the schema, and nothing in it."""
    opened = Database(database_url, application_name="shoal-test")
    yield opened
    await opened.close()


@pytest.fixture
def scene(database: Database) -> Scene:
    """The database with a scene in sentences."""
    return Scene(database)


async def _do(scene: Scene, name: DutyName, progress: dict[str, Any] | None = None) -> Step:
    async with scene.writing() as connection:
        writing: Any = connection
        living = await nodes.living(connection)
        return await STEPS[name](writing, Context(timedelta(seconds=5), 90, lambda: living), progress or {})


def test_each_duty_has_its_step() -> None:
    assert STEPS.keys() == set(DutyName)


async def test_nothing_is_found_and_deleted_in_a_new_cluster(scene: Scene) -> None:
    for name in DutyName:
        step = await _do(scene, name, {"deleted": "many", "done": 7, "part": "runs", "after": "x"})
        while not step.is_over:
            step = await _do(scene, name, dict(step.progress))
        assert step.is_fine, step


async def test_old_rows_are_deleted_in_several_steps(scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO node (incarnation, kind, address, process_boot, process_id, process_started, state, ended_at) "
        "SELECT gen_random_uuid(), 'MASTER', 'a:1', 'b', 1, 1, 'LEFT', now() - interval '31 d' "
        "FROM generate_series(1, 501)"
    )
    first = await _do(scene, DutyName.ENDED_NODES)
    assert (first.is_over, first.progress) == (False, {"deleted": 500})
    last = await _do(scene, DutyName.ENDED_NODES, dict(first.progress))
    assert (last.is_over, last.result) == (True, "deleted 501 nodes that ended long ago")


async def test_a_group_with_tasks_and_no_worker_is_found(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    beat = Heartbeat(epoch=worker.epoch, kind=NodeKind.WORKER, address=worker.address, groups=("default",))
    async with scene.database.reading() as connection:
        await nodes.beat(connection, worker, 0, unanswered=0, heartbeat=beat)
    await scene.queue(await scene.instance(master), 1, 2, master=master)
    assert (await _do(scene, DutyName.WORKER_GROUPS)).is_fine
    await scene.queue(await scene.instance(master), 1, 2, master=master, worker_group="gpu")
    found = await _do(scene, DutyName.WORKER_GROUPS)
    assert (found.is_fine, found.result) == (False, 'worker groups without a worker: 1; group "gpu": 2 waiting')
    await scene.fence(worker)
    assert "worker groups without a worker: 2" in (await _do(scene, DutyName.WORKER_GROUPS)).result


async def test_a_failover_that_nobody_did_is_found_once_it_is_overdue(scene: Scene) -> None:
    master = await scene.master()
    run = await scene.instance(master)
    await scene.fence(master)
    assert (await _do(scene, DutyName.LEFT_WORK)).is_fine, "others need a moment"
    await scene.sql("UPDATE node SET ended_at = now() - interval '6 s' WHERE id = :id", id=master.epoch)
    found = await _do(scene, DutyName.LEFT_WORK)
    assert not found.is_fine
    assert f"run {run} is RUNNING_EXECUTION" in found.result


async def test_queues_are_maintained_where_autovacuum_lags_and_the_user_may(scene: Scene, database: Database) -> None:
    await scene.sql("ALTER TABLE command SET (autovacuum_vacuum_threshold = 20, autovacuum_analyze_threshold = 20)")
    await scene.sql("ALTER TABLE command SET (autovacuum_enabled = false)")
    await scene.commands(500)
    await scene.sql("DELETE FROM command")
    await scene.sql("SELECT pg_stat_force_next_flush()")
    first = await _do(scene, DutyName.QUEUE_STATISTICS)
    assert (first.is_over, first.vacuum, first.progress) == (
        False, ["command"], {"done": ["analyzed command", "vacuumed command"]},
    )  # fmt: skip
    await queue_statistics.vacuum(database, "command")
    last = await _do(scene, DutyName.QUEUE_STATISTICS, dict(first.progress))
    assert (last.is_over, last.is_fine) == (True, True)
    assert last.result == "analyzed command; vacuumed command"


async def test_what_the_user_may_not_maintain_is_reported(scene: Scene) -> None:
    await scene.sql("ALTER TABLE command SET (autovacuum_vacuum_threshold = 20, autovacuum_enabled = false)")
    await scene.commands(500)
    await scene.sql("DELETE FROM command")
    await scene.sql("SELECT pg_stat_force_next_flush()")
    await scene.sql("DROP ROLE IF EXISTS may_not_maintain")
    await scene.sql("CREATE ROLE may_not_maintain")
    async with scene.writing() as connection:
        writing: Any = connection
        await scene_sets_role(writing)
        step = await STEPS[DutyName.QUEUE_STATISTICS](writing, Context(timedelta(seconds=5), 90, list), {})
    assert (step.is_over, step.is_fine) == (True, False)
    assert "autovacuum lags behind at command: 500 dead rows, and masters log in as a user who may not" in step.result
    assert step.result.endswith("run VACUUM ANALYZE command")
    await scene.sql("DROP ROLE may_not_maintain")


async def scene_sets_role(connection: Any) -> None:
    """The rest of this transaction has the rights of a user who owns nothing."""
    await connection.execute(Sql("SET LOCAL ROLE may_not_maintain"))


async def test_the_history_of_duties_is_one_of_them(scene: Scene) -> None:
    await scene.sql("INSERT INTO duty_done SELECT 'x', now(), 1, '', now(), now() - interval '4 d', 1, false, true, ''")
    assert (await _do(scene, DutyName.DUTY_HISTORY)).result == "deleted 1 old rows of duties"
    async with scene.writing() as connection:
        writing: Any = connection
        assert await duties.delete_old(writing, timedelta(0), 10) == 0
