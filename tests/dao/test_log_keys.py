"""`dao/tasks/log_keys.py`: the keys of workers, and what becomes of those of nodes that are deleted."""

from __future__ import annotations

from dao.tasks import log_keys
from tests.dao.scene import Scene


async def test_the_key_of_a_deleted_node_is_removed_when_the_next_worker_joins(scene: Scene) -> None:
    """Only joining workers add keys, so the table does not grow beyond the nodes that are kept."""
    workers = [await scene.worker() for _ in range(3)]
    for worker in workers[:2]:
        async with scene.writing() as connection:
            await log_keys.publish(connection, worker.epoch, f"key {worker.epoch}")
    await scene.sql("DELETE FROM node WHERE id = :id RETURNING id", id=workers[0].epoch)
    async with scene.writing() as connection:
        await log_keys.publish(connection, workers[2].epoch, "key")
    assert await scene.sql("SELECT node_id FROM log_key ORDER BY 1") == [workers[1].epoch, workers[2].epoch]
