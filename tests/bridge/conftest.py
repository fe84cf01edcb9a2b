"""A database with our schema, for programs that run on it and on the model."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from dao import database as dao_database
from dao.database import Database


@pytest_asyncio.fixture
async def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """With nothing in it. Nobody cuts its power, so no commit waits for the disk; nothing else about it is changed."""
    settings = {**dao_database.SESSION_SETTINGS, "synchronous_commit": "off"}
    monkeypatch.setattr(dao_database, "SESSION_SETTINGS", settings)
    opened = Database(database_url, application_name="shoal-test")
    yield opened
    await opened.close()
