"""A cluster in which attempts hold resources of a pool and wait for them, by SQL: no node runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Sql = Callable[[str], list[Any]]


class PoolScene:
    """A worker, and runs of workflows that are saved already. `sql` runs a statement and returns its rows."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self._number = 900_000
        self.worker = self._one(
            "INSERT INTO node (incarnation, kind, address, process_boot, process_id, process_started, name) "
            "VALUES (gen_random_uuid(), 'WORKER', '10.0.0.2:1', 'boot', 1, 1, 'w1') RETURNING id"
        )
        sql(f"INSERT INTO node_beat (node_id) VALUES ({self.worker})")

    def run(self, workflow: str) -> int:
        """A run that goes on."""
        self._number += 1
        return self._one(
            "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
            "failure_strategy, priority, worker_group) "
            f"SELECT {self._number}, code, 1, 'RUNNING_EXECUTION', 1, 'CONTINUE', 'MEDIUM', 'default' "
            f"FROM workflow_definition WHERE name = '{workflow}' RETURNING id"
        )

    def waits(self, run: int, name: str, needs: str, priority: str = "MEDIUM") -> int:
        """An attempt that is queued, and needs these resources (JSON)."""
        self._number += 1
        return self._one(
            "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
            f"workflow_priority, task_priority, is_plain, resources) VALUES ({run}, {self._number}, '{name}', 'FAKE', "
            f"'QUEUED', 'default', 'MEDIUM', '{priority}', false, '{needs}') RETURNING id"
        )

    def gets(self, attempt: int, *resources: str) -> None:
        """Claim an attempt with these resources."""
        names = ", ".join(f"'{each}'" for each in resources)
        self._sql(
            f"UPDATE pool_resource SET task_instance_id = {attempt}, worker_id = {self.worker}, "
            f"taken_at = clock_timestamp() WHERE name IN ({names})"
        )
        self._sql(
            f"UPDATE task_instance SET state = 'RUNNING_EXECUTION', worker_id = {self.worker}, "
            f"started_at = clock_timestamp() WHERE id = {attempt}"
        )

    def ends(self, attempt: int) -> None:
        """End an attempt; its worker has returned what it held."""
        self._sql(f"SELECT free_resources(ARRAY[{attempt}::bigint], {self.worker})")
        self._sql(f"UPDATE task_instance SET state = 'SUCCESS', ended_at = clock_timestamp() WHERE id = {attempt}")

    def _one(self, statement: str) -> int:
        return int(self._sql(statement)[0][0])
