"""A database with our schema, for programs that run on it and on the model."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from dao.database import Database


@pytest_asyncio.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """With nothing in it."""
    opened = Database(database_url, application_name="shoal-test")
    yield opened
    await opened.close()
