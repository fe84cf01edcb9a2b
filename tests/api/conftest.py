"""What the tests of the API share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from dao.postgres.database import Database
from tests.api.serving import Serving, give_rights, serving, token_of
from tests.conftest import TEMPLATE
from tests.servers.postgres import PostgresServer
from tests.shoal.conftest import sql as sql

TEMPLATE_WITH_RIGHTS = "shoal_template_with_rights"


@pytest.fixture(scope="session")
def template_with_rights(postgres_server: PostgresServer) -> str:
    """A template in which the roles have their rights: to give them takes as long as to make a database."""
    url = postgres_server.create_database(TEMPLATE_WITH_RIGHTS, template=TEMPLATE)
    asyncio.run(_give_rights(url))
    return TEMPLATE_WITH_RIGHTS


@pytest.fixture
def database_template(template_with_rights: str) -> str:
    """That of the databases of these tests."""
    return template_with_rights


async def _give_rights(url: str) -> None:
    owner = Database(url, application_name="shoal-test", connections_max=1)
    await give_rights(owner)
    await owner.close()


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[Serving]:
    """An API on the database of the test, as it is without settings."""
    async with serving(database_url) as running:
        yield running


@pytest.fixture
async def admin(api: Serving) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an administrator."""
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as client:
        yield client
