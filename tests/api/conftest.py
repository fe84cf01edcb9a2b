"""What the tests of the API share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.api.serving import Serving, serving, token_of
from tests.shoal.conftest import sql as sql


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
