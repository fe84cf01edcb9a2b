"""Retention beside work: a long history is deleted while tasks run and a page of runs is read again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import quantiles

from bench.cluster import BenchFailed, Cluster, fake
from bench.figures import Figure
from bench.server import BenchServer, Connection
from bench.sizes import Sizes

PART = "Retention: one master, one worker, a history that is over"
_WORKFLOW, _OLD = 1001, 2001
_TASKS = 10
_HISTORY = """
    INSERT INTO workflow_definition (code, project, name) VALUES (2001, 'old', 'old');
    INSERT INTO project (name, kept_days) VALUES ('old', 0);
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, started_at, ended_at, schedule_time)
    SELECT nextval(pg_get_serial_sequence('command', 'id')), 2001, 1, 'SUCCESS', 1, 'CONTINUE', 'MEDIUM', 'default',
           at - interval '1 min', at, at
    FROM generate_series(1, {runs}) AS n, LATERAL (SELECT now() - interval '200 d' + n * interval '50 ms' AS at) AS t;
    INSERT INTO command_history (command_id, type, outcome, workflow_instance_id, master_id, created_at, handled_at)
    SELECT command_id, 'START_PROCESS', 'DONE', id, 1, started_at, started_at FROM workflow_instance
    WHERE workflow_code = 2001;
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, params, started_at, ended_at, queued_at)
    SELECT i.id, n, 'task ' || n, 'SHELL', 'SUCCESS', 'default', 'MEDIUM', 'MEDIUM', '{{"script": "echo hello"}}',
           i.started_at, i.ended_at, i.started_at
    FROM workflow_instance i, generate_series(1, {tasks}) AS n WHERE i.workflow_code = 2001;
    ANALYZE
"""
_PAGE = """
    SELECT id, state, started_at FROM workflow_instance
    WHERE (parent_instance_id IS NULL) AND state = 'SUCCESS' ORDER BY (-id) LIMIT 50
"""


def beside_work(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """Tasks a second and the time of a page, before and while the history is deleted; and how fast that is."""
    runs = sizes.retention_runs
    with Cluster(server, "retention", masters=1, workers=1) as cluster:
        cluster.define(_WORKFLOW, [fake(f"t{n}") for n in range(_TASKS)])
        for statement in _HISTORY.format(runs=runs, tasks=_TASKS).split(";"):
            cluster.connection.execute(statement.encode())
        cluster.start(_WORKFLOW)
        cluster.wait_until_all_ended(60)
        before, before_pages = _work(server, cluster, sizes)
        cluster.connection.execute(b"UPDATE project SET kept_days = 90 WHERE name = 'old'")
        cluster.connection.execute(b"UPDATE duty SET due_at = clock_timestamp() WHERE name = 'retention'")
        left = f"SELECT count(*) FROM workflow_instance WHERE workflow_code = {_OLD}"
        cluster.wait_until(lambda: cluster.one(left) < runs, 60, "the deletion began")
        cpu, began, began_with = cluster.cpu(), time.monotonic(), cluster.one(left)
        during, during_pages = _work(server, cluster, sizes)
        rate = (began_with - cluster.one(left)) * _TASKS / (time.monotonic() - began)
        used = cpu.used()
        still = cluster.one(left)
        refused = cluster.one("SELECT count(*) FROM error_command")
        if refused:
            raise BenchFailed(f"{refused} commands were refused")
    how = f"{runs * _TASKS:,} attempts of {runs:,} runs; {still:,} runs were left when the tasks had ended"
    return [
        Figure("retention_tasks_before_per_s", PART, "FAKE tasks end to end, nothing is deleted", before, "/s"),
        Figure("retention_tasks_per_s", PART, "the same while it is deleted", during, "/s"),
        Figure("retention_page_before_ms", PART, "a page of runs, p95, nothing is deleted", before_pages, "ms"),
        Figure("retention_page_ms", PART, "the same while it is deleted", during_pages, "ms"),
        Figure("retention_attempts_per_s", PART, "attempts deleted meanwhile", rate, "/s", None, how, {"cores": used}),
    ]


def _work(server: BenchServer, cluster: Cluster, sizes: Sizes) -> tuple[float, float]:
    """Tasks a second of some workflows, and the time of a page meanwhile, p95 in ms."""
    pages: list[float] = []
    count = sizes.retention_workflows
    with server.connect("retention", as_shoal=True) as reader, reading(reader, pages):
        began = time.monotonic()
        cluster.start(_WORKFLOW, count)
        cluster.wait_until_all_ended(300)
        took_s = time.monotonic() - began
    return count * _TASKS / took_s, quantiles(pages, n=20)[-1] if len(pages) > 1 else pages[0]


@contextmanager
def reading(reader: Connection, times_ms: list[float]) -> Iterator[None]:
    """A page of runs, again and again, in a thread of its own; adds how long each took."""
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            began = time.monotonic()
            reader.execute(_PAGE.encode()).fetchall()
            times_ms.append((time.monotonic() - began) * 1000)
            over.wait(0.02)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
