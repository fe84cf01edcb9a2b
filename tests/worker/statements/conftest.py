"""A database of each kind, and the four of them together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer
from tests.worker.statements.targets import KINDS, Target, target


@pytest.fixture(params=KINDS)
def each(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_server: PostgresServer, mariadb_server: MariadbServer
) -> Iterator[Target]:
    """The test runs once for each kind."""
    with target(request.param, tmp_path, postgres_server, mariadb_server) as made:
        yield made


@pytest.fixture
def postgres(tmp_path: Path, postgres_server: PostgresServer, mariadb_server: MariadbServer) -> Iterator[Target]:
    """For features of PostgreSQL alone."""
    with target("postgresql", tmp_path, postgres_server, mariadb_server) as made:
        yield made


@pytest.fixture
def mysql(tmp_path: Path, postgres_server: PostgresServer, mariadb_server: MariadbServer) -> Iterator[Target]:
    """For features of MySQL and MariaDB alone."""
    with target("mysql", tmp_path, postgres_server, mariadb_server) as made:
        yield made
