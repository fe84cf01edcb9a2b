"""The limits: the throughput of this PostgreSQL on this machine without Shoal."""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from typing import Any, cast
from uuid import UUID

import psycopg

from bench.cluster import BenchFailed
from bench.cpu import CpuWatch, cores_told
from bench.figures import Figure
from bench.server import BenchServer
from bench.sizes import Sizes
from dao.cluster import nodes
from dao.cluster.nodes import Me
from dao.commands import commands
from dao.commands.commands import Outcome
from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.runs import workflow_instances
from dao.runs.workflow_instances import NewInstance
from dao.tasks import task_instances
from dao.tasks.task_instances import NewTask
from model.choices import FailureStrategy, Priority
from model.cluster.nodes import NodeKind
from model.cluster.slots import Slot
from model.fields import DEFAULT_WORKER_GROUP
from model.ids import CommandId, Epoch, TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.commands import CommandRow
from model.runs.instances import TaskAttempt
from model.runs.states import TaskState

PART = "Limits: PostgreSQL alone"
_PGBENCH_CLIENTS = 4
_BATCH = 500
_SLOT = Slot(0, 1)
_ENLIST = """
    INSERT INTO node (incarnation, kind, address, process_boot, process_id, process_started)
    VALUES (gen_random_uuid(), 'MASTER', 'bare', 'bare', 1, 1) RETURNING id, incarnation
"""


def pgbench(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """pgbench's simple-update (`-N`): transactions a second of 4 clients, one update, one select, one insert each.

    Its tps without connecting times, over the socket, simple protocol, scale 10 (150 MB). If the program is missing,
    nothing is measured, and the result says so.
    """
    program = server.programs / "pgbench"
    if not program.is_file():
        how = f"there is no {program}; on Debian it is in the package postgresql (before 16: postgresql-contrib)"
        return [Figure("pgbench_tps", PART, "pgbench simple-update: not measured", float("nan"), "tx/s", how=how)]
    with server.plain_database("pgbench") as name:
        _run_pgbench(server, name, "-i", "-q", "-s", str(sizes.pgbench_scale))
        cpu = CpuWatch({"postgres": [server.pid]})
        said = _run_pgbench(
            server, name, "-N", "-n", "-c", str(_PGBENCH_CLIENTS), "-j", "2", "-T", str(sizes.pgbench_s)
        )
        used = cpu.used()
    tps, latency = re.search(r"tps = ([\d.]+)", said), re.search(r"latency average = ([\d.]+)", said)
    if tps is None or latency is None:
        raise BenchFailed(f"pgbench said something unexpected:\n{said}")
    how = f"{_PGBENCH_CLIENTS} clients, {sizes.pgbench_s} s, {latency[1]} ms each; cores: {cores_told(used)}"
    what = "pgbench simple-update, transactions"
    return [Figure("pgbench_tps", PART, what, float(tps[1]), "tx/s", how=how, details={"cores": used})]


def single_commits(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """The duration of one durable transaction of one client: p50 of INSERTs of one row, one after the other.

    This is the minimum cost of any step that waits for its COMMIT: from the end of a task to the start of the next one
    there are three.
    """
    with server.plain_database("commits") as name, server.connect(name) as connection:
        connection.execute("CREATE TABLE one (n bigint)")
        took_ms = []
        for number in range(sizes.commits):
            began = time.perf_counter()
            connection.execute("INSERT INTO one VALUES (%s)", (number,))
            took_ms.append((time.perf_counter() - began) * 1000)
    how = f"{sizes.commits} commits one by one, p99 {statistics.quantiles(took_ms, n=100)[98]:.2f} ms"
    return [Figure("commit_p50_ms", PART, "one commit, p50", statistics.median(took_ms), "ms", how=how)]


def bare_claim(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """The batch claim as bare SQL: the very statements of `dao/`, in batches of 500, by psycopg on one connection.

    A transaction locks the node's row, takes 500 commands of slot 0 of 1, and inserts their runs and their history. The
    second figure also queues one task each, which completes what a master writes. Nothing is parsed, planned or stored
    in memory between the statements. Commands a second, from the first transaction to the last COMMIT.
    """
    claimed, claimed_used = _claim_all(server, sizes.bare_commands, with_tasks=False)
    queued, queued_used = _claim_all(server, sizes.bare_commands, with_tasks=True)
    how = f"{sizes.bare_commands:,} commands by {_BATCH}, 1 connection"
    return [
        Figure(
            "bare_claim_per_s", PART, "bare SQL claim: command → instance + history", claimed, "/s",
            how=f"{how}; cores: {cores_told(claimed_used)}", details={"cores": claimed_used},
        ),
        Figure(
            "bare_start_per_s", PART, "bare SQL claim, first task queued too", queued, "/s",
            how=f"{how}; cores: {cores_told(queued_used)}", details={"cores": queued_used},
        ),
    ]  # fmt: skip


def _claim_all(server: BenchServer, count: int, *, with_tasks: bool) -> tuple[float, dict[str, float]]:
    with server.database("bare") as name, server.connect(name, as_shoal=True) as connection:
        connection.execute(
            "INSERT INTO command (type, workflow_code) SELECT 'START_PROCESS', 1 FROM generate_series(1, %s)", (count,)
        )
        bare = _Bare(connection)
        cpu = CpuWatch({"postgres": [server.pid]})
        began = time.perf_counter()
        while bare.claim_batch(with_tasks=with_tasks):
            pass
        took_s = time.perf_counter() - began
        return count / took_s, cpu.used()


class _Recorder:
    """Replaces a connection and executes nothing: records the statement and values that a function of `dao` sends."""

    rowcount = _BATCH

    def __init__(self) -> None:
        self.sent: list[tuple[Sql, dict[str, Any]]] = []
        self.info: dict[str, Any] = {}

    async def execute(self, statement: Sql, values: dict[str, Any]) -> _Recorder:
        if "pg_notify" not in statement.text:  # nobody is notified of bare rows
            self.sent.append((statement, values))
        return self

    def all(self) -> list[Any]:
        return []

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def first(self) -> bool:
        return True

    def one(self) -> tuple[int, int]:
        return _BATCH, 0


class _Bare:
    """The statements of `dao` for a batch, on a plain connection: recorded once, sent repeatedly with other ids.

    So the statements cannot differ from Shoal's own, and no code of Shoal runs between them.
    """

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._connection = connection
        epoch, incarnation = connection.execute(_ENLIST).fetchall()[0]
        me = Me(Epoch(int(str(epoch))), UUID(str(incarnation)), NodeKind.MASTER, "bare")
        recorder = _Recorder()
        asyncio.run(_send_batch(cast(AsyncConnection, recorder), me))
        self._hold, self._claim, self._insert, self._record, self._queue = (
            (statement.query, values) for statement, values in recorder.sent
        )

    def claim_batch(self, *, with_tasks: bool) -> bool:
        """One transaction; False when there were no commands."""
        with self._connection.transaction():
            self._rows(self._hold)
            taken = self._rows(self._claim)
            if not taken:
                return False
            assert len(taken) == _BATCH, "the number of commands must be a multiple of the batch"
            command_ids, created = [row[0] for row in taken], [row[9] for row in taken]
            instances = [row[0] for row in self._rows(self._insert, command_id=command_ids)]
            self._rows(self._record, command_id=command_ids, instance=instances, created_at=created)
            if with_tasks:
                self._rows(self._queue, workflow_instance_id=instances)
        return True

    def _rows(self, sent: tuple[bytes, dict[str, Any]], **others: list[object]) -> list[tuple[object, ...]]:
        sql, values = sent
        cursor = self._connection.execute(sql, {**values, **others})
        return cursor.fetchall() if cursor.description else []


async def _send_batch(connection: AsyncConnection, me: Me) -> None:
    """A batch as a master sends it; the ids are filled in later."""
    row = CommandRow(CommandId(0), "START_PROCESS", "1", None, None, "{}", None, None, None, "", "bench")
    new = NewInstance(
        row.id, WorkflowCode(1), 1, FailureStrategy.CONTINUE, Priority.MEDIUM, DEFAULT_WORKER_GROUP, row.params or ""
    )
    instance = WorkflowInstanceId(0)
    attempt = TaskAttempt(TaskCode(1), 1, TaskState.QUEUED)
    task = NewTask(instance, attempt, "a", "FAKE", True, DEFAULT_WORKER_GROUP, Priority.MEDIUM, Priority.MEDIUM, "{}")
    await connection.execute(*nodes.hold(me))
    tx = FencedTransaction(connection)
    await commands.claim(tx, _SLOT, _BATCH, id_step=1)
    await workflow_instances.insert(tx, [new] * _BATCH, me.epoch)
    await commands.record(tx, [Outcome(row, instance)] * _BATCH, me.epoch, _SLOT)
    await task_instances.queue(tx, [task] * _BATCH, me.epoch)


def _run_pgbench(server: BenchServer, database: str, *arguments: str) -> str:
    done = subprocess.run(
        [
            str(server.programs / "pgbench"), "-h", str(server.folder), "-p", str(server.port), "-U", "shoal",
            *arguments, database,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    if done.returncode != 0:
        raise BenchFailed(f"pgbench failed with {done.returncode}: {done.stderr}")
    return done.stdout
