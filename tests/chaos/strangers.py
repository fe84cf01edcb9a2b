"""People with psql, beside the cluster: locks that they hold, a database that they set read-only, rows that they edit.

What they edit belongs to runs of a workflow of its own (`EDITED`), of which nothing is expected: `bury` takes those
runs out of the tables before the others are judged.
"""

from __future__ import annotations

import contextlib
import random
from typing import Any

import psycopg

from tests.chaos.load import Promises
from tests.chaos.site import DATABASE, Site
from tests.chaos.workflows import EDITED

_UNFINISHED = "SELECT id FROM workflow_instance WHERE ended_at IS NULL"
_LOCKS = {
    "the rows of some runs": f"SELECT FROM workflow_instance WHERE id IN ({_UNFINISHED} LIMIT 3) FOR UPDATE",
    "the rows of some tasks": "SELECT FROM task_instance WHERE ended_at IS NULL ORDER BY random() LIMIT 3 FOR UPDATE",
    "the rows of some commands": "SELECT FROM command ORDER BY random() LIMIT 3 FOR UPDATE",
    "a row of schedule": "SELECT FROM schedule ORDER BY random() LIMIT 1 FOR UPDATE",
    "a row of workflow_definition": "SELECT FROM workflow_definition ORDER BY random() LIMIT 1 FOR UPDATE",
    **{
        f"the table {table}": f"LOCK TABLE {table} IN EXCLUSIVE MODE"
        for table in (
            "command", "command_history", "error_command", "workflow_definition", "workflow_instance",
            "workflow_version", "task_instance", "task_event", "task_cache", "schedule",
        )
    },
}  # fmt: skip
# No column by which a row is that of another run.
_EDITS = {
    "workflow_instance": {
        "state": ("'FAILOVER'", "'READY_PAUSE'", "'READY_STOP'", "'RUNNING_EXECUTION'"),
        "requested_state": ("NULL", "'READY_PAUSE'", "'READY_STOP'"),
        "master_id": ("0", "-1", "1000000", "(SELECT n.id FROM node n ORDER BY random() LIMIT 1)"),
        "takeovers": ("0", "-1", "3", "32767"),
        "schedule_time": ("'infinity'", "'epoch'"),
        "started_at": ("'infinity'", "'-infinity'"),
    },
    "task_instance": {
        "worker_id": ("NULL", "0", "-1", "1000000", "(SELECT n.id FROM node n ORDER BY random() LIMIT 1)"),
        "kill_requested": ("true", "false"),
        "retries": ("0", "-1", "32767"),
        "due_at": ("NULL", "'infinity'", "'-infinity'"),
        "queued_at": ("'infinity'", "'-infinity'"),
    },
}


class Lock:
    """Somebody's open transaction, forgotten for some seconds."""

    def __init__(self, site: Site, chance: random.Random) -> None:
        self._site = site
        self.name, self._statement = chance.choice(list(_LOCKS.items()))
        self._connection: psycopg.Connection[Any] | None = None

    def take(self) -> None:
        """Hold it from now on, unless others are in the way for too long."""
        with contextlib.suppress(psycopg.OperationalError):
            self._connection = self._site.postgres.connect(DATABASE)
            self._connection.execute("SET lock_timeout = '1s'")
            self._connection.execute("BEGIN")
            self._connection.execute(self._statement.encode())

    def release(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.OperationalError):
                self._connection.close()


def set_read_only(site: Site, value: str) -> None:
    """All new transactions of all who do not say otherwise."""
    with contextlib.suppress(psycopg.OperationalError), site.postgres.connect(DATABASE) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}".encode())
        connection.execute("SELECT pg_reload_conf()")


def edit(site: Site, chance: random.Random, count: int) -> None:
    """Write into single columns of rows of unfinished runs of that workflow; what the database refuses is no edit."""
    for _ in range(count):
        table = chance.choice(list(_EDITS))
        column = chance.choice(list(_EDITS[table]))
        value = chance.choice(_EDITS[table][column])
        key = "id" if table == "workflow_instance" else "workflow_instance_id"
        row = f"""SELECT id FROM {table} WHERE ended_at IS NULL
                  AND {key} IN ({_UNFINISHED} AND workflow_code = {EDITED}) ORDER BY random() LIMIT 1"""
        with contextlib.suppress(psycopg.Error), site.postgres.connect(DATABASE) as connection:
            connection.execute("SET lock_timeout = '1s'")
            connection.execute(f"UPDATE {table} SET {column} = {value} WHERE id IN ({row})".encode())


def bury(site: Site, promises: Promises) -> None:
    """Take all runs of the edited workflow out of the tables, and what was promised of them."""
    runs = f"(SELECT id FROM workflow_instance WHERE workflow_code = {EDITED})"
    rows = site.cluster.rows
    rows(f"DELETE FROM task_event WHERE workflow_instance_id IN {runs}")
    rows(f"DELETE FROM command WHERE workflow_code = {EDITED} OR workflow_instance_id IN {runs}")
    for table in ("command_history", "error_command"):
        rows(f"DELETE FROM {table} WHERE workflow_instance_id IN {runs} OR command_id = ANY(%s)", list(promises.edited))
    rows(f"DELETE FROM chaos.change WHERE kind = 'workflow' AND row_id IN {runs}")
    rows(f"DELETE FROM chaos.change WHERE kind = 'command' AND workflow IN {runs}")
    rows(
        "DELETE FROM chaos.change WHERE kind = 'task' AND row_id IN "
        f"(SELECT id FROM task_instance WHERE workflow_instance_id IN {runs})"
    )
    rows(f"DELETE FROM task_instance WHERE workflow_instance_id IN {runs}")
    rows(f"DELETE FROM workflow_instance WHERE workflow_code = {EDITED}")
    for id_ in promises.edited:
        promises.acknowledged.pop(id_, None)
