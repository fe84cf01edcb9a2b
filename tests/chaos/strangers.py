"""People with psql, beside the cluster: locks that they hold, a database that they set read-only, rows that they edit.

What they edit are rows of runs of one workflow (`EDITED`), of which nothing is expected: `bury` takes those runs out of
the tables before the others are judged.
"""

from __future__ import annotations

import contextlib
import random
import time

import psycopg

from tests.chaos.load import ADD_SCHEDULE, Promises
from tests.chaos.site import DATABASE, Site
from tests.chaos.workflows import EDITED
from tests.edits.catalog import columns, draw

_ROWS = {
    "the rows of some runs": "workflow_instance WHERE ended_at IS NULL",
    "the rows of some tasks": "task_instance WHERE ended_at IS NULL",
    "the rows of some commands": "command WHERE true",
    "the rows of some nodes": "node WHERE state = 'ALIVE'",
    "the beats of some nodes": "node_beat WHERE true",
    "the rows of some schedules": "schedule WHERE true",
    "the rows of some workflows": "workflow_definition WHERE true",
}
TABLES = (
    "command", "command_history", "error_command", "workflow_definition", "workflow_version", "workflow_instance",
    "task_instance", "task_event", "task_cache", "schedule", "node", "node_beat", "cluster", "log_key", "project",
    "environment", "data_source", "registry_lease", "schema_version", "account", "login_link", "login_session", "token",
    "project_member", "login_attempt", "audit", "idempotency_key", "workflow_draft", "slot_change", "saved_view",
    "went_back",
    "bulk_operation", "drain", "duty", "duty_done", "history_floor",
    "resource_pool", "pool_resource", "pool_line", "stream_restart", "rebalance",
    "alert", "alert_channel", "alert_condition", "alert_delivery", "alert_group", "alert_group_channel", "alert_rule",
    "alert_rule_state", "alert_silence", "run_end",
    "log_store", "stored_log", "log_copying", "deleted_workflow", "deleted_run",
    "file_content", "project_file", "version_file", "dataset_wait",
)  # fmt: skip
"""All that there are."""
_LOCKS = {
    **{
        name: f"SELECT FROM {rows} AND random() < 0.5 ORDER BY random() LIMIT 3 FOR UPDATE"
        for name, rows in _ROWS.items()
    },
    **{f"the table {table} against writes": f"LOCK TABLE {table} IN EXCLUSIVE MODE" for table in TABLES},
    **{f"the table {table} against all": f"LOCK TABLE {table}" for table in TABLES},
}
LOCKS = tuple(_LOCKS)
"""What a stranger may lock."""
# By which a row would be that of another run.
_KEYS = {
    "id", "workflow_code", "workflow_instance_id", "command_id", "schedule_id", "parent_instance_id",
    "parent_task_code", "parent_attempt", "child_index",
}  # fmt: skip
_RUNS = f"(SELECT id FROM workflow_instance WHERE workflow_code = {EDITED})"
_EDITABLE = {
    "workflow_instance": f"workflow_code = {EDITED} AND ended_at IS NULL",
    "task_instance": f"workflow_instance_id IN {_RUNS} AND ended_at IS NULL",
}
_UNDER_A_NAME = "a person with psql"


class Lock:
    """Somebody's open transaction, forgotten for some seconds."""

    def __init__(self, site: Site, name: str) -> None:
        self._site = site
        self._statement = _LOCKS[name]
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None

    def take(self) -> None:
        """Hold it from now on, unless others are in the way for too long, or the server is away."""
        with contextlib.suppress(psycopg.OperationalError):
            self._connection = self._site.postgres.connect(DATABASE)
            self._connection.execute(f"SET application_name = '{_UNDER_A_NAME}'; SET lock_timeout = '1s'")
            self._connection.execute("BEGIN")
            self._connection.execute(self._statement.encode())

    def release(self) -> None:
        if self._connection is not None:
            self._connection.close()


def set_read_only(site: Site, value: str) -> None:
    """All new transactions of all who do not say otherwise: "on" or "off"."""
    with site.postgres.connect(DATABASE) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}".encode())
        connection.execute("SELECT pg_reload_conf()")


def add_schedule(site: Site) -> None:
    """Make a schedule, unless the server is away. On a private connection: what a frozen server or a lock of a
    stranger holds up must not keep us from ending that."""
    with contextlib.suppress(psycopg.OperationalError), site.postgres.connect(DATABASE) as connection:
        connection.execute("SET default_transaction_read_only = off; SET lock_timeout = '1s'")
        connection.execute(ADD_SCHEDULE.encode())


def edit(site: Site, chance: random.Random, count: int) -> None:
    """Write into single columns of rows of unfinished runs of that workflow; what the database refuses is no edit."""
    with contextlib.suppress(psycopg.OperationalError), site.postgres.connect(DATABASE) as connection:
        connection.execute(f"SET application_name = '{_UNDER_A_NAME}'; SET lock_timeout = '1s'")
        among = columns(lambda query: connection.execute(query.encode()).fetchall())
        for _ in range(count):
            column, value = draw(chance, [each for each in among if each.name not in _KEYS], list(_EDITABLE))
            row = f"SELECT id FROM {column.table} WHERE {_EDITABLE[column.table]} ORDER BY random() LIMIT 1"
            with contextlib.suppress(psycopg.Error):
                connection.execute(f'UPDATE {column.table} SET "{column.name}" = {value} WHERE id IN ({row})'.encode())


def bury(site: Site, promises: Promises, within_s: float = 20) -> None:
    """Take all runs of the edited workflow out of the tables, and what was promised of them.

    Raises `psycopg.OperationalError` when masters and workers keep its rows for longer.
    """
    gives_up_s = time.monotonic() + within_s
    while True:
        try:
            with site.postgres.connect(DATABASE) as connection, connection.transaction():
                take_out(connection, promises)
        except psycopg.OperationalError:  # a deadlock with who still drives one of them, say
            if time.monotonic() > gives_up_s:
                raise
        else:
            break
    for id_ in promises.edited:
        promises.acknowledged.pop(id_, None)


def take_out(connection: psycopg.Connection[tuple[object, ...]], promises: Promises) -> None:
    """Delete all that speaks of those runs, in one transaction."""
    commands = f"""SELECT command_id FROM workflow_instance WHERE workflow_code = {EDITED}
                   UNION SELECT command_id FROM command_history WHERE workflow_instance_id IN {_RUNS}
                   UNION SELECT command_id FROM error_command
                         WHERE workflow_code = {EDITED} OR workflow_instance_id IN {_RUNS}
                   UNION SELECT unnest(%s::bigint[])"""
    ids = [id_ for (id_,) in connection.execute(commands.encode(), [list(promises.edited)]).fetchall()]
    connection.execute(
        f"DELETE FROM command WHERE workflow_code = {EDITED} OR workflow_instance_id IN {_RUNS}".encode()
    )
    for table in ("command_history", "error_command"):
        connection.execute(f"DELETE FROM {table} WHERE command_id = ANY(%s)".encode(), [ids])
    connection.execute("DELETE FROM chaos.change WHERE kind = 'command' AND row_id = ANY(%s)", [ids])
    tasks = f"SELECT id FROM task_instance WHERE workflow_instance_id IN {_RUNS}"
    connection.execute(f"DELETE FROM chaos.change WHERE kind = 'task' AND row_id IN ({tasks})".encode())
    connection.execute(f"DELETE FROM chaos.change WHERE kind = 'workflow' AND row_id IN {_RUNS}".encode())
    for table in ("task_event", "task_instance"):
        connection.execute(f"DELETE FROM {table} WHERE workflow_instance_id IN {_RUNS}".encode())
    connection.execute(f"DELETE FROM workflow_instance WHERE workflow_code = {EDITED}".encode())
