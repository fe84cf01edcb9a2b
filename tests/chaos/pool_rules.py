"""Resource pools under faults: no resource has two users, as the tasks see it, and at the end all are free."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.cluster.cluster import Cluster

POOLS = {"proxies": 3, "licence": 1}
_MAKE = """
    WITH made AS (INSERT INTO resource_pool (name) VALUES (%s) RETURNING code, name)
    INSERT INTO pool_resource (pool_code, name, place)
    SELECT code, name || '-' || n, n FROM made, generate_series(1, %s) AS n
"""
_HELD = "SELECT name, task_instance_id, worker_id FROM pool_resource WHERE task_instance_id IS NOT NULL"
_LINES = """
    SELECT pool_name, task_instance_id FROM pool_line l
    WHERE coalesce((SELECT t.state <> 'QUEUED' FROM task_instance t WHERE t.id = l.task_instance_id), true)
"""


def make_pools(cluster: Cluster) -> None:
    """Make the pools of the load's tasks."""
    for name, count in POOLS.items():
        cluster.rows(_MAKE, name, count)


def witness(folder: Path) -> Path:
    """Where tasks write that somebody else has what they hold, beside their journal."""
    return folder / "two-holders"


def locking(journal: Path) -> str:
    """Work that locks a file for each resource that the task holds, for as long as any process of it lives."""
    folder = journal.parent
    return "\n".join(
        (
            'rest="$SHOAL_RESOURCE_PROXIES $SHOAL_RESOURCE_LICENCE"',
            'while [[ $rest =~ \\"name\\":\\ \\"([a-z0-9-]+)\\"(.*) ]]; do',
            '  name="${BASH_REMATCH[1]}" rest="${BASH_REMATCH[2]}"',
            f"  exec {{lock}}>>'{folder}/lock-'$name",
            f"  flock -n $lock || echo \"$SHOAL_TASK_KEY $SHOAL_ATTEMPT $name\" >> '{witness(folder)}'",
            "done",
        )
    )


def broken(cluster: Cluster) -> Iterator[str]:
    """The faults of pools when everything has ended."""
    if (seen := witness(cluster.folder)).exists():
        yield from (f"{line}: somebody else had it" for line in seen.read_text().splitlines())
    for name, attempt, worker in cluster.rows(_HELD):
        yield f"resource {name} is held by attempt {attempt} of worker {worker}, and nothing runs"
    for pool, attempt in cluster.rows(_LINES):
        yield f"attempt {attempt} stands in the line of {pool} and does not wait"
