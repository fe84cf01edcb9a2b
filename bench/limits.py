"""The limits: what this PostgreSQL does on this machine without Shoal."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import time

import psycopg
from sqlalchemy import text
from sqlalchemy.dialects.postgresql import psycopg as dialect
from sqlalchemy.sql.elements import TextClause

from bench.cluster import BenchFailed
from bench.cpu import CpuWatch, cores_told
from bench.figures import Figure
from bench.server import BenchServer
from bench.sizes import Sizes
from dao import commands, nodes, task_instances, workflow_instances

PART = "Limits: PostgreSQL alone"
_PGBENCH_CLIENTS = 4
_BATCH = 500
_DIALECT = dialect.PGDialect_psycopg()  # type: ignore[no-untyped-call]
_ENLIST = text("""
    INSERT INTO node (incarnation, kind, address, process_boot, process_id, process_started)
    VALUES (gen_random_uuid(), 'MASTER', 'bare', 'bare', 1, 1) RETURNING id, incarnation
""")


def pgbench(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """pgbench's simple-update (`-N`): transactions a second of 4 clients, one update, one select, one insert each.

    Its tps without connecting times, over the socket, simple protocol, scale 10 (150 MB). Nothing is measured, and
    that is said, where the program is missing.
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
    """How long one durable transaction takes one client: p50 of INSERTs of one row, one after the other.

    The least that any step may cost that waits for its COMMIT: from the end of a task to the start of the next one
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

    A transaction holds the node's row, takes 500 commands of slot 0 of 1, inserts their instances and their history;
    the second figure also queues one task each, which is all that a master writes. Nothing is parsed, planned or kept
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
        [(epoch, incarnation)] = bare.rows(_ENLIST, {})
        cpu = CpuWatch({"postgres": [server.pid]})
        began = time.perf_counter()
        while bare.claim_batch(epoch, incarnation, with_tasks=with_tasks):
            pass
        took_s = time.perf_counter() - began
        return count / took_s, cpu.used()


class _Bare:
    """Statements of `dao/` on a plain connection, without SQLAlchemy; it borrows them, so that they cannot differ."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._connection = connection
        self._compiled: dict[TextClause, bytes] = {}

    def rows(self, statement: TextClause, values: dict[str, object]) -> list[tuple[object, ...]]:
        sql = self._compiled.get(statement)
        if sql is None:
            sql = self._compiled[statement] = str(statement.compile(dialect=_DIALECT)).encode()
        cursor = self._connection.execute(sql, values)
        return cursor.fetchall() if cursor.description else []

    def claim_batch(self, epoch: object, incarnation: object, *, with_tasks: bool) -> bool:
        with self._connection.transaction():
            self.rows(nodes._HOLD_ALIVE, {"epoch": epoch, "incarnation": incarnation})
            taken = self.rows(commands._CLAIM, {"current": 0, "total": 1, "id_step": 1, "limit": _BATCH})
            if not taken:
                return False
            ids, size = [row[0] for row in taken], len(taken)
            made = self.rows(
                workflow_instances._INSERT,
                {
                    "master": epoch, "command_ids": ids, "codes": [1] * size, "versions": [1] * size,
                    "failure_strategies": ["CONTINUE"] * size, "priorities": ["MEDIUM"] * size,
                    "worker_groups": ["default"] * size, "params": ["{}"] * size,
                },
            )  # fmt: skip
            instances = [row[0] for row in made]
            self.rows(
                commands._RECORD,
                {
                    "ids": ids, "types": ["START_PROCESS"] * size, "outcomes": ["DONE"] * size, "instances": instances,
                    "created": [row[9] for row in taken], "master": epoch, "current": 0, "total": 1,
                },
            )  # fmt: skip
            if with_tasks:
                self.rows(
                    task_instances._QUEUE,
                    {
                        "master": epoch, "instances": instances, "codes": [1] * size, "attempts": [1] * size,
                        "names": ["a"] * size, "types": ["FAKE"] * size, "write_aheads": [True] * size,
                        "worker_groups": ["default"] * size, "workflow_priorities": ["MEDIUM"] * size,
                        "task_priorities": ["MEDIUM"] * size, "params": ["{}"] * size,
                        "parameter_values": ["{}"] * size,
                    },
                )  # fmt: skip
        return True


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
