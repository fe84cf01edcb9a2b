"""A database with our schema, for programs that run on it and on the model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import pytest_asyncio

from dao.pools import pool_claims
from dao.postgres import session_settings
from dao.postgres.database import Database
from dao.streams import stream_claims, streams
from tests.simulation.statements.streams import stream_claims as model_claims
from tests.simulation.statements.streams import streams as model_streams

_PATIENT = {
    "synchronous_commit": "off",
    "statement_timeout": "30s",
    "lock_timeout": "20s",
    "idle_in_transaction_session_timeout": "60s",
}
"""No power is cut, so no commit waits for the disk; and only the machine may be slow, never the holder of a lock."""
_OVERDUE = timedelta(minutes=30)
"""Nothing waits this long unless a program lets hours pass, however slow the machine is."""


@pytest_asyncio.fixture
async def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """An empty database, as a node sees it except for the time-outs."""
    monkeypatch.setattr(session_settings, "SESSION_SETTINGS", {**session_settings.SESSION_SETTINGS, **_PATIENT})
    for module in (stream_claims, streams, model_claims, model_streams):
        monkeypatch.setattr(module, "OVERDUE", _OVERDUE)
    monkeypatch.setattr(pool_claims, "HELD_MS_MAX", 60_000)
    monkeypatch.setattr(model_claims, "LATELY_S", stream_claims.LATELY.total_seconds())  # a seed lasts for seconds
    monkeypatch.setattr(model_claims, "PROVEN_S", stream_claims.PROVEN.total_seconds())
    opened = Database(database_url, application_name="shoal-test", answer_within_s=60)
    yield opened
    await opened.close()
