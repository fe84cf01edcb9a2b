"""`data_source`: named databases for SQL and PROCEDURE tasks, their URLs encrypted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import missing, statement
from dao.secrets.data_source_url import parse_data_source_url, shown_url
from dao.secrets.sealed_rows import check_name, reseal
from dao.secrets.vault import Sealed, Vault
from model.errors import NotFound, Refused

PURPOSE = "data source"
_PUT = Sql("""
    INSERT INTO data_source (name, url, shown_url, key_id) VALUES (:name, :url, :shown_url, :key_id)
    ON CONFLICT (name) DO UPDATE
    SET url = :url, shown_url = :shown_url, key_id = :key_id, updated_at = clock_timestamp()
""")
_UNDER_OTHERS = Sql(
    "SELECT name, url, key_id FROM data_source WHERE key_id IS DISTINCT FROM :key ORDER BY name FOR UPDATE"
)
_RESEAL = Sql("UPDATE data_source SET url = :data, key_id = :key_id WHERE name = :name")


@dataclass(frozen=True)
class DataSource:
    """A data source for display: `url` is without secrets, times are aware UTC, database time."""

    name: str
    url: str
    key_id: str
    created_at: datetime
    updated_at: datetime


async def put(connection: AsyncConnection, name: str, url: str, vault: Vault) -> str:
    """Save or replace a data source; its URL for display. Raises `Refused` for an invalid name, URL or vault."""
    check_name(name, "a data source")
    parsed = parse_data_source_url(url)
    sealed = vault.seal(parsed.render_as_string(hide_password=False), f"{PURPOSE} {name}")
    shown = shown_url(parsed)
    values = {"name": name, "url": sealed.data, "shown_url": shown, "key_id": sealed.key_id}
    await connection.execute(_PUT, values)
    return shown


def _not_found(name: str) -> NotFound:
    shown = "with a URL as its name" if "://" in name else f'"{name[:200]}"'  # a URL may contain a password
    return NotFound(f"there is no data source {shown}; `shoal datasource list` lists those there are")


@missing(_not_found)
@statement("SELECT url, key_id FROM data_source WHERE name = :name")
async def _sealed(connection: AsyncConnection, name: str) -> Sealed: ...


@statement("""
    SELECT name, shown_url, key_id, created_at, updated_at FROM data_source
    WHERE CAST(:name AS text) IS NULL OR name = :name ORDER BY name
""")
async def all_data_sources(connection: AsyncConnection, name: str | None = None) -> list[DataSource]:
    """All of them by name, or the one of this name; without their secrets."""


async def data_source_named(connection: AsyncConnection, name: str) -> DataSource:
    """One of them, without its secrets. Raises `NotFound`."""
    for found in await all_data_sources(connection, name):
        return found
    raise _not_found(name)


async def url_of(connection: AsyncConnection, name: str, vault: Vault) -> str:
    """The whole URL, password included. Raises `NotFound`, or `Refused` when it cannot be decrypted."""
    if "://" in name:  # it may contain a password, so no message repeats it
        raise Refused(
            "a URL is not a name of a data source: definitions are not secret; save it by `shoal datasource set NAME`"
        )
    return vault.open(await _sealed(connection, name), f"{PURPOSE} {name}")


@missing(_not_found)
@statement("DELETE FROM data_source WHERE name = :name")
async def remove(connection: AsyncConnection, name: str) -> None:
    """Delete a data source. Raises `NotFound`."""


async def rotate(connection: AsyncConnection, vault: Vault) -> int:
    """Encrypt rows under other keys with the first key. Returns how many. Raises `Refused`, then nothing is changed."""
    return await reseal(connection, _UNDER_OTHERS, _RESEAL, PURPOSE, vault)
