"""Tokens of requests that come at the same time, over links of which one has died without a word."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import make_url

from dao.postgres.database import Database
from dao.postgres.sql import Sql
from model.errors import Unavailable
from service.batches import Batches
from service.callers import TokenSent, find_tokens
from tests.chaos.proxy import Proxies, Way
from tests.eventually import eventually


async def test_a_dead_link_delays_only_the_tokens_that_were_sent_over_it(database_url: str) -> None:
    with Proxies() as proxies:
        gate = proxies.gate(make_url(database_url).port or 5432)
        url = make_url(database_url).set(port=gate.port).render_as_string(hide_password=False)
        database, batches = Database(url, application_name="shoal-gated", answer_within_s=3.0), Batches()
        async with database.reading() as connection:
            await connection.execute(Sql("SELECT 1"))
        sent = TokenSent(database, b"unknown", "127.0.0.1")
        gate.swallow(Way.ASK)
        lost = asyncio.create_task(batches.ask(find_tokens, sent))
        await eventually(lambda: batches._lines[find_tokens]._prompt is None)
        gate.open()
        assert await batches.ask(find_tokens, sent) is None
        assert not lost.done(), "the answer did not wait until the link was known to be dead"
        with pytest.raises(Unavailable, match="no answer within"):
            await lost
        await database.close()
