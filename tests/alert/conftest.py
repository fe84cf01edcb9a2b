"""A sender in this process, on a database of its own, with channels at receivers on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from alert.sender import Sender
from alert.settings import AlertSettings
from dao.alerts import channels
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from dao.secrets.vault import Vault, new_key
from tests.alert.receivers import HttpReceiver, MailServer, http_receiver, mail_server

QUICK = AlertSettings(
    timeout=timedelta(seconds=30),  # only tests of channels that hang have a short one
    look_every=timedelta(seconds=0.2),
    retry_first=timedelta(seconds=0.2),
    retry_max=timedelta(seconds=1),
)


class Desk:
    """Requests alerts, and reads their results by plain SQL."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self.database, self.vault = database, vault

    async def channel(self, name: str, url: str, group: str = "default", **columns: Any) -> None:
        async with self.database.writing() as connection:
            await channels.put(connection, name, url, self.vault, channels.ChannelContent(""), "ada")
            await connection.execute(
                Sql("INSERT INTO alert_group (name) VALUES (:group) ON CONFLICT DO NOTHING"), {"group": group}
            )
            await connection.execute(
                Sql(
                    "INSERT INTO alert_group_channel SELECT g.id, c.id FROM alert_group g, alert_channel c "
                    "WHERE g.name = :group AND c.name = :name"
                ),
                {"group": group, "name": name},
            )
            for column, value in columns.items():
                await connection.execute(
                    Sql(f"UPDATE alert_channel SET {column} = :value WHERE name = :name"),
                    {"value": value, "name": name},
                )

    async def run(self, statement: str, **values: Any) -> list[Any]:
        async with self.database.writing() as connection:
            result = await connection.execute(Sql(statement), values)
            return [tuple(row) for row in result]

    async def alert(self, subject: str, kind: str = "FAILOVER", group: str = "default", **facts: Any) -> int:
        import json

        rows = await self.run(
            "INSERT INTO alert (kind, severity, alert_group, subject, facts) "
            "VALUES (:kind, 'WARNING', :group, :subject, CAST(:facts AS jsonb)) RETURNING id",
            kind=kind,
            group=group,
            subject=subject,
            facts=json.dumps(facts),
        )
        return int(rows[0][0])

    async def results(self) -> list[tuple[str, str, str, str | None]]:
        """Subject, channel, state and last error of every delivery, in their order."""
        return await self.run(
            "SELECT a.subject, c.name, d.state, d.last_error FROM alert_delivery d JOIN alert a ON a.id = d.alert_id "
            "JOIN alert_channel c ON c.id = d.channel_id ORDER BY a.id, c.name"
        )

    async def states(self, channel: str | None = None) -> list[str]:
        return [state for _, name, state, _ in await self.results() if channel in (None, name)]

    async def reason(self, channel: str) -> str:
        return next((error or "" for _, name, _, error in await self.results() if name == channel), "")


@pytest_asyncio.fixture
async def desk(database_url: str) -> AsyncIterator[Desk]:
    database = Database(database_url, application_name="test-alerts")
    yield Desk(database, Vault([new_key()]))
    await database.close()


@pytest.fixture
def mails() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def web() -> Iterator[HttpReceiver]:
    with http_receiver() as receiver:
        yield receiver


@asynccontextmanager
async def sending(desk: Desk, settings: AlertSettings = QUICK, **changed: Any) -> AsyncIterator[Sender]:
    """A sender that runs in this process."""
    database = Database(desk.database.url, application_name="shoal-alert", connections_max=4)
    sender = Sender(database, desk.vault, settings.model_copy(update=changed), "test")
    stop = asyncio.Event()
    running = asyncio.create_task(sender.run(stop))
    try:
        yield sender
    finally:
        stop.set()
        sender.wake()
        await running
        await database.close()


def sealed(vault: Vault, name: str, url: str) -> Mapping[str, Any]:
    seal = vault.seal(url, f"alert channel {name}")
    return {"url": psycopg.Binary(seal.data), "key_id": seal.key_id}
