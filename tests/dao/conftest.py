"""A database with our schema, as a node of the cluster sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from shutil import copyfile, copytree

import pytest
import pytest_asyncio

from dao.postgres import schema
from dao.postgres.database import Database
from tests.dao.scene import Scene
from tests.servers.postgres import PostgresServer

SQL = Path(schema.__file__).parents[2] / "sql"


@pytest_asyncio.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A fresh database with the schema, and nothing in it."""
    opened = Database(database_url, application_name="shoal-test")
    yield opened
    await opened.close()


@pytest.fixture
def scene(database: Database) -> Scene:
    """The same with sentences for what a test wants to be there."""
    return Scene(database)


@pytest_asyncio.fixture
async def empty_database(postgres_server: PostgresServer) -> AsyncIterator[Database]:
    """A database without any schema."""
    name = "empty"
    opened = Database(postgres_server.create_database(name), application_name="shoal-test")
    yield opened
    await opened.close()
    postgres_server.drop_database(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Our scripts, to which a test may add upgrades."""
    copytree(SQL / "upgrades", tmp_path / "upgrades")
    copyfile(SQL / "schema.sql", tmp_path / "schema.sql")
    return tmp_path
