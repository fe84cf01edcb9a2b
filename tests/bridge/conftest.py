"""A database with our schema, for programs that run on it and on the model."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from dao.postgres import database as dao_database
from dao.postgres.database import Database

_PATIENT = {
    "synchronous_commit": "off",
    "statement_timeout": "30s",
    "lock_timeout": "20s",
    "idle_in_transaction_session_timeout": "60s",
}
"""Nobody cuts its power, so no commit waits for the disk; and who holds a lock is never slow, the machine may be."""


@pytest_asyncio.fixture
async def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """With nothing in it, as a node sees it but for the time-outs."""
    monkeypatch.setattr(dao_database, "SESSION_SETTINGS", {**dao_database.SESSION_SETTINGS, **_PATIENT})
    opened = Database(database_url, application_name="shoal-test", answer_within_s=60)
    yield opened
    await opened.close()
