"""The databases that SQL tasks are tested on, and a task run on one of them as the worker runs it."""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psycopg
from sqlalchemy import make_url

from model.choices import ParameterType
from model.ids import TaskInstanceId, WorkflowInstanceId
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer
from tests.worker.scene import MemoryLog
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import TaskContext, TaskResult

KINDS = ("postgresql", "mysql", "sqlite", "duckdb")
_number = itertools.count(1)


@dataclass(frozen=True)
class Target:
    """One database, looked at by its plain driver, past all code of ours."""

    kind: str
    url: str
    connect: Callable[[], Any]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement and commit; its rows."""
        with contextlib.closing(self.connect()) as connection, contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(statement)
            rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else []
            connection.commit()
            return rows


@contextlib.contextmanager
def target(kind: str, folder: Path, postgres: PostgresServer, mariadb: MariadbServer) -> Iterator[Target]:
    """A fresh database of a kind."""
    name = f"statements_{next(_number)}"
    match kind:
        case "postgresql":
            url = postgres.create_database(name)
            plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
            yield Target(kind, url, lambda: psycopg.connect(plain))
            postgres.drop_database(name)
        case "mysql":
            yield Target(kind, mariadb.create_database(name), lambda: mariadb.connect(name))
            mariadb.drop_database(name)
        case "sqlite":
            yield Target(kind, f"sqlite:///{folder}/{name}.db", lambda: sqlite3.connect(folder / f"{name}.db"))
        case "duckdb":
            yield Target(kind, f"duckdb:///{folder}/{name}.db", lambda: duckdb.connect(f"{folder}/{name}.db"))


@dataclass
class Attempt:
    """A task of some type on one data source, called `shop`."""

    url: str
    type: str = "SQL"
    values: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, ParameterType] = field(default_factory=dict)
    log: MemoryLog = field(default_factory=MemoryLog)

    async def run(self, **params: Any) -> TaskResult:
        """Make the task by the catalogue, as the worker does, and run it."""
        given = json.dumps({"datasource": "shop", **params})
        return await TaskCatalog().make(self.type, given, self.values).run(self._context())

    def _context(self) -> TaskContext:
        async def data_source(name: str) -> str:
            assert name == "shop"
            return self.url

        def nothing() -> Any:
            raise AssertionError("a statement needs no folder and no environment")

        return TaskContext(
            workflow_instance_id=WorkflowInstanceId(1),
            task_instance_id=TaskInstanceId(2),
            task_name="a",
            attempt=1,
            values=self.values,
            log=self.log,
            processes=None,  # type: ignore[arg-type] - nor a process
            make_folder=nothing,
            make_environment=nothing,
            types=self.types,
            data_source=data_source,
        )
