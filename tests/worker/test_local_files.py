"""Statements on SQLite and DuckDB run apart from the worker, as the tenant, and reach no files but their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from dao.tasks.task_claims import Report
from model.ids import Epoch, WorkflowCode
from model.runs.states import TaskState
from node.overload import Overload
from tests.cluster.test_tenants import as_root, open_folder
from tests.worker.errand import Errands, claimed
from worker.attempts.executor import Executor
from worker.launcher.client import Launcher
from worker.secrets.named import NamedSecrets
from worker.settings import WorkerSettings

__all__ = ["open_folder"]


@dataclass
class OneUrl:
    """Stands for the database's data sources."""

    url: str

    async def data_source(self, _workflow: WorkflowCode, _name: str, hide: Callable[[str], None]) -> str:
        del hide
        return self.url


@dataclass
class Statements:
    """Runs SQL tasks on one database file."""

    launcher: Launcher
    folder: Path

    async def run(self, kind: str, sql: str, tenant: str | None = None, **settings: Any) -> Report:
        given = WorkerSettings(folder=self.folder / "worker", **settings)
        url = cast("NamedSecrets", OneUrl(f"{kind}:///{self.folder}/own.db"))
        executor = Executor(given, self.launcher, Epoch(44), url, Overload(given.load, so=""))
        return await executor.run(claimed("SQL", params={"datasource": "d", "sql": sql}, tenant=tenant))


@pytest.fixture
def statements(errands: Errands, tmp_path: Path) -> Statements:
    return Statements(errands.launcher, tmp_path)


FORBIDDEN = [
    ("duckdb", "SELECT content FROM read_text('/proc/self/environ')"),
    ("duckdb", "COPY (SELECT 1 AS a) TO '{folder}/made.csv'"),
    ("duckdb", "ATTACH '{folder}/made.db' AS made"),
    ("duckdb", "SET enable_external_access = true"),
    ("duckdb", "PRAGMA enable_profiling = 'json'; SET profiling_output = '{folder}/made.json'; SELECT 1"),
    ("duckdb", "INSTALL httpfs"),
    ("sqlite", "ATTACH '{folder}/made.db' AS made; CREATE TABLE made.t (a)"),
    ("sqlite", "ATTACH 'file:{folder}/made.db' AS made; CREATE TABLE made.t (a)"),
    ("sqlite", "ATTACH '{folder}' || '/made.db' AS made; CREATE TABLE made.t (a)"),
    ("sqlite", "ATTACH '../../../made.db' AS made; CREATE TABLE made.t (a)"),
    ("sqlite", "PRAGMA temp_store_directory = '{folder}'"),
]


@pytest.mark.parametrize(("kind", "sql"), FORBIDDEN)
async def test_a_statement_reaches_no_file_but_that_of_its_data_source(
    statements: Statements, kind: str, sql: str
) -> None:
    end = await statements.run(kind, sql.format(folder=statements.folder))
    assert (end.state, end.exit_code) == (TaskState.FAILURE, None), "refused in words"
    assert not list(statements.folder.rglob("made*"))


async def test_a_vacuum_of_sqlite_writes_no_other_file_and_an_ordinary_one_works(statements: Statements) -> None:
    vacuum = {"datasource": "d", "sql": f"VACUUM INTO '{statements.folder}/made.db'", "transaction": False}
    url = cast("NamedSecrets", OneUrl(f"sqlite:///{statements.folder}/own.db"))
    settings = WorkerSettings(folder=statements.folder / "worker")
    executor = Executor(settings, statements.launcher, Epoch(44), url, Overload(settings.load, so=""))
    assert (await executor.run(claimed("SQL", params=vacuum))).state == TaskState.FAILURE
    assert not (statements.folder / "made.db").exists()
    assert (await executor.run(claimed("SQL", params={**vacuum, "sql": "VACUUM"}))).state == TaskState.SUCCESS


async def test_sqlite_attaches_a_file_in_the_folder_of_the_task(statements: Statements) -> None:
    end = await statements.run("sqlite", "ATTACH 'beside.db' AS beside; CREATE TABLE beside.t (a); SELECT 7 AS n")
    assert (end.state, end.outputs) == (TaskState.SUCCESS, '{"n": "7"}')
    assert not list(statements.folder.rglob("beside.db")), "it went with the folder"


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("duckdb", "COPY (SELECT 1 AS a) TO '{folder}/made.csv'"),
        ("sqlite", "ATTACH '{folder}/made.db' AS made; CREATE TABLE made.t (a)"),
    ],
)
async def test_a_worker_may_allow_other_files(statements: Statements, kind: str, sql: str) -> None:
    end = await statements.run(kind, sql.format(folder=statements.folder), local_files=True)
    assert (end.state, end.reason) == (TaskState.SUCCESS, "")
    assert list(statements.folder.glob("made*"))


async def test_a_statement_runs_in_another_process_than_the_worker_without_its_environment(
    statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_SECRETS__KEYS", "key-of-the-worker")
    read = "SELECT content AS text FROM read_text('/proc/self/{file}')"
    own = await statements.run("duckdb", read.format(file="environ"), local_files=True)
    assert own.state == TaskState.SUCCESS
    assert "key-of-the-worker" not in (own.outputs or "")
    status = await statements.run("duckdb", read.format(file="status"), local_files=True)
    assert f"Pid:\\t{os.getpid()}\\n" not in (status.outputs or "")


@as_root
async def test_a_statement_runs_as_the_tenant_of_its_task(errands: Errands, open_folder: Path) -> None:
    statements = Statements(errands.launcher, open_folder)
    open_folder.chmod(0o777)
    end = await statements.run(
        "duckdb",
        f"COPY (SELECT 1 AS a) TO '{open_folder}/made.csv'",
        tenant="nobody",
        tenants=("nobody",),
        local_files=True,
    )
    assert (end.state, end.reason) == (TaskState.SUCCESS, "")
    assert (open_folder / "made.csv").owner() == "nobody"
