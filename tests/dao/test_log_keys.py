"""`log_key`: the keys of workers, and what becomes of those of nodes that are deleted."""

from __future__ import annotations

from dao.tasks import task_logs
from tests.dao.scene import Scene


async def test_the_key_of_a_deleted_node_goes_with_it(scene: Scene) -> None:
    """So the table does not grow beyond the nodes that are kept, and no worker needs a right to delete keys."""
    workers = [await scene.worker() for _ in range(2)]
    for worker in workers:
        async with scene.writing() as connection:
            await task_logs.publish_key(connection, worker.epoch, f"key {worker.epoch}")
    await scene.sql("DELETE FROM node WHERE id = :id RETURNING id", id=workers[0].epoch)
    assert await scene.sql("SELECT node_id FROM log_key") == [workers[1].epoch]
