"""Fills a database with a history by SQL: runs that are over, with all rows that the product leaves of them.

Indexes are dropped meanwhile and made afterwards, and two sessions insert in turn. Ids rise with time, as they do where
the history was made by runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue
from typing import TypeVar

from bench import api
from bench.cluster import Cluster
from bench.server import BenchServer, Connection

TASKS = 10
"""Attempts of a run; one run in twenty has one more."""
_SESSIONS = 2
_RUNS_AT_ONCE = 20_000
_SETTINGS = (
    "SET session_replication_role = replica",
    "SET maintenance_work_mem = '256MB'",
    "SET max_parallel_maintenance_workers = 0",
    "SET synchronous_commit = off",
)
_TABLES = ("task_instance", "workflow_instance", "command_history")
Part = TypeVar("Part")
# What ended is of nodes that have ended. A project has a row, so that it can say how long its runs are kept.
_BEFORE = """
    INSERT INTO node (incarnation, kind, address, name, state, process_boot, process_id, process_started, started_at,
                      ended_at)
    SELECT gen_random_uuid(), kind, 'old', 'old', 'LEFT', 'boot', 1, 1, now() - interval '91 d', now()
    FROM unnest(ARRAY['MASTER', 'WORKER']) AS kind;
    INSERT INTO project (name, kept_days) SELECT DISTINCT project, 0 FROM workflow_definition
    WHERE project LIKE 'project-%';
    INSERT INTO workflow_version (workflow_code, version, spec)
    SELECT code, 1, '{"tasks": [{"name": "task 1", "type": "SHELL", "params": {"script": "echo hello"}}]}'
    FROM workflow_definition WHERE project LIKE 'project-%'
"""
# One run in fifty failed, a few old ones were stopped. One in four is of a schedule, one in twenty a child. One command
# in fifty came after a start, one in a thousand was refused: their ids are those that the starts leave out.
_RUNS = """
    INSERT INTO workflow_instance (id, command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, params, started_at, ended_at, running_since, schedule_time,
                                   reason, command_type, schedule_id, depth, parent_instance_id, parent_task_code,
                                   parent_attempt, child_index)
    OVERRIDING SYSTEM VALUE
    SELECT n, n + n / 50, CASE WHEN n %% (%(runs)s / 10) = 1 THEN %(rare)s ELSE 1 + n %% (%(rare)s - 1) END, 1,
           CASE WHEN n < 10 THEN 'STOP' WHEN n %% 50 = 0 THEN 'FAILURE' ELSE 'SUCCESS' END, 1, 'CONTINUE', 'MEDIUM',
           'default', '{}', at, at + interval '5 s', at, at, CASE WHEN n %% 50 = 0 THEN 'task 10 failed' END,
           CASE WHEN n %% 4 = 0 THEN 'SCHEDULER' ELSE 'START_PROCESS' END,
           CASE WHEN n %% 4 = 0 THEN 1 + n %% 100 END, CASE WHEN n %% 20 = 1 THEN 1 ELSE 0 END,
           CASE WHEN n %% 20 = 1 AND n > 1 THEN n - 1 END, CASE WHEN n %% 20 = 1 AND n > 1 THEN 1 END,
           CASE WHEN n %% 20 = 1 AND n > 1 THEN 1 END, CASE WHEN n %% 20 = 1 AND n > 1 THEN 0 END
    FROM (SELECT n, %(now)s - (%(runs)s - n + 1) * %(every_s)s * interval '1 s' - interval '10 s' AS at
          FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n) AS made
"""
_ATTEMPTS = """
    INSERT INTO task_instance (id, workflow_instance_id, task_code, attempt, task_name, task_type, state, retries,
                               worker_group, workflow_priority, task_priority, worker_id, params, exit_code, reason,
                               queued_at, started_at, ended_at, flag)
    OVERRIDING SYSTEM VALUE
    SELECT (i.id - 1) * 10 + (i.id - 1) / 20 + k, i.id, least(k, 10), CASE WHEN k = 11 THEN 2 ELSE 1 END,
           'task ' || least(k, 10), 'SHELL', CASE WHEN failed THEN 'FAILURE' ELSE 'SUCCESS' END,
           CASE WHEN k = 11 THEN 1 ELSE 0 END, 'default', 'MEDIUM', 'MEDIUM', 2, '{"script": "echo hello"}',
           CASE WHEN failed THEN 1 ELSE 0 END, CASE WHEN failed THEN 'exit code 1' END,
           i.started_at, i.started_at + interval '10 ms', i.ended_at,
           CASE WHEN k = 10 AND i.id %% 20 = 0 THEN 'NO' ELSE 'YES' END
    FROM workflow_instance i, generate_series(1, CASE WHEN i.id %% 20 = 0 THEN 11 ELSE 10 END) AS k,
         LATERAL (SELECT (k = 10 AND i.id %% 20 = 0) OR (k >= 10 AND i.id %% 50 = 0
                          AND k = CASE WHEN i.id %% 20 = 0 THEN 11 ELSE 10 END) AS failed) AS f
    WHERE i.id BETWEEN %(first)s AND %(last)s
"""
_COMMANDS = """
    INSERT INTO command_history (command_id, type, outcome, workflow_instance_id, master_id, slot_current, slot_total,
                                 created_at, handled_at, created_by)
    SELECT command_id, command_type, 'DONE', id, 1, 0, 1, started_at, started_at, 'shoal' FROM workflow_instance
    WHERE id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT command_id + 1, CASE WHEN id %% 1000 = 999 THEN 'START_PROCESS' ELSE 'PAUSE' END,
           CASE WHEN id %% 1000 = 999 THEN 'ERROR' ELSE 'DONE' END, CASE WHEN id %% 1000 = 999 THEN NULL ELSE id END,
           1, 0, 1, started_at, started_at, 'shoal'
    FROM workflow_instance WHERE id BETWEEN %(first)s AND %(last)s AND id %% 50 = 49
"""
_ERRORS = """
    INSERT INTO error_command (command_id, type, workflow_code, created_at, created_by, reason, master_id, refused_at)
    SELECT command_id, type, 99, created_at, created_by, 'there is no workflow with the code 99', 1, handled_at
    FROM command_history WHERE outcome = 'ERROR'
"""
_INDEXES = """
    SELECT c.relname, pg_get_indexdef(c.oid), k.conname,
           CASE k.contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END
    FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid LEFT JOIN pg_constraint k ON k.conindid = c.oid
    WHERE x.indrelid = %(table)s::regclass ORDER BY c.relname
"""
_SEQUENCE = "SELECT setval(pg_get_serial_sequence(%(table)s, %(column)s), %(value)s)"


def fill(server: BenchServer, cluster: Cluster, attempts: int, every_s: float) -> int:
    """Fill an empty database; returns how many attempts it has then.

    Args:
        server: of the database.
        cluster: without processes.
        attempts: about how many.
        every_s: seconds from the start of a run to that of the next one; the last one has just ended.
    """
    runs = attempts // TASKS
    api.define(cluster.connection)
    for statement in _BEFORE.split(";"):
        cluster.connection.execute(statement.encode())
    indexes, constraints = _drop_indexes(cluster)
    values = {"runs": runs, "rare": api.RARE, "now": cluster.one("SELECT now()"), "every_s": every_s}

    def insert(connection: Connection, first: int) -> None:
        part = {**values, "first": first, "last": min(runs, first + _RUNS_AT_ONCE - 1)}
        for statement in (_RUNS, _ATTEMPTS, _COMMANDS):
            connection.execute(statement.encode(), part)

    # Without it the runs of a part would be found by reading all of them.
    cluster.connection.execute(b"CREATE INDEX filling ON workflow_instance (id)")
    _share(server, cluster, insert, range(1, runs + 1, _RUNS_AT_ONCE))
    cluster.connection.execute(b"DROP INDEX filling")
    _share(server, cluster, _execute, indexes)
    for statement in (*constraints, _ERRORS):
        cluster.connection.execute(statement.encode())
    last = int(cluster.one("SELECT max(id) FROM task_instance"))
    for table, value in (("workflow_instance", runs), ("task_instance", last), ("command", runs + runs // 50 + 1)):
        cluster.one("SELECT setval(pg_get_serial_sequence(%(table)s, 'id'), %(value)s)", table=table, value=value)
    _share(server, cluster, _execute, [f"VACUUM (ANALYZE) {table}" for table in _TABLES])
    for statement in (
        *(f"ALTER TABLE {table} RESET (autovacuum_enabled)" for table in _TABLES),
        "ANALYZE",
        "CHECKPOINT",
    ):
        cluster.connection.execute(statement.encode())
    return last


def _drop_indexes(cluster: Cluster) -> tuple[list[str], list[str]]:
    """The statements that make the indexes again, and those that make them constraints."""
    indexes, constraints = [], []
    for table in _TABLES:
        cluster.connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)".encode())
        for name, definition, constraint, kind in cluster.rows(_INDEXES, table=table):
            if constraint is None:
                cluster.connection.execute(f"DROP INDEX {name}".encode())
            else:
                cluster.connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {constraint}".encode())
                constraints.append(f"ALTER TABLE {table} ADD CONSTRAINT {constraint} {kind} USING INDEX {name}")
            indexes.append(definition)
    return indexes, constraints


def _execute(connection: Connection, statement: str) -> None:
    connection.execute(statement.encode())


def _share(
    server: BenchServer, cluster: Cluster, do: Callable[[Connection, Part], None], parts: Iterable[Part]
) -> None:
    """Each part in the next session that is free. Without triggers: rows are inserted as they are in the end."""
    with ExitStack() as stack:
        free: SimpleQueue[Connection] = SimpleQueue()
        for _ in range(_SESSIONS):
            connection = stack.enter_context(server.connect(cluster.name))
            for setting in _SETTINGS:
                connection.execute(setting.encode())
            free.put(connection)

        def one(part: Part) -> None:
            connection = free.get()
            try:
                do(connection, part)
            finally:
                free.put(connection)

        with ThreadPoolExecutor(_SESSIONS) as threads:
            for _ in threads.map(one, parts):  # raises what a part raised
                pass
