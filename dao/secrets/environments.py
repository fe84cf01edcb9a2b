"""`environment`: named bash scripts of exports for SHELL and PYTHON tasks, encrypted since they hold secrets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import missing, statement
from dao.secrets.sealed_rows import check_name, reseal
from dao.secrets.vault import Sealed, Vault
from model.errors import NotFound, Refused
from model.parameters.parameters import is_storable
from model.scripts.normal_form import plain_script

PURPOSE = "environment"
SCRIPT_BYTES_MAX = 1_000_000
_PUT = Sql("""
    INSERT INTO environment (name, script, key_id) VALUES (:name, :script, :key_id)
    ON CONFLICT (name) DO UPDATE SET script = :script, key_id = :key_id, updated_at = clock_timestamp()
""")
_UNDER_OTHERS = Sql(
    "SELECT name, script, key_id FROM environment WHERE key_id IS DISTINCT FROM :key ORDER BY name FOR UPDATE"
)
_RESEAL = Sql("UPDATE environment SET script = :data, key_id = :key_id WHERE name = :name")


@dataclass(frozen=True)
class Environment:
    """An environment for display: all but its script. Times are aware UTC, database time."""

    name: str
    key_id: str
    created_at: datetime
    updated_at: datetime


async def put(connection: AsyncConnection, name: str, script: str, vault: Vault) -> None:
    """Save or replace an environment, its script made plain. Raises `Refused` for a wrong name, script or vault."""
    check_name(name, "an environment")
    script = plain_script(script)
    if len(script.encode(errors="surrogatepass")) > SCRIPT_BYTES_MAX:
        raise Refused(f'the script of environment "{name}" is larger than {SCRIPT_BYTES_MAX} bytes')
    if not is_storable(script):
        raise Refused(f'the script of environment "{name}" is not a text: it contains a NUL or half a character')
    sealed = vault.seal(script, f"{PURPOSE} {name}")
    await connection.execute(_PUT, {"name": name, "script": sealed.data, "key_id": sealed.key_id})


def _not_found(name: str) -> NotFound:
    return NotFound(f'there is no environment "{name[:200]}"; `shoal environment list` lists those there are')


@missing(_not_found)
@statement("SELECT script, key_id FROM environment WHERE name = :name")
async def _sealed(connection: AsyncConnection, name: str) -> Sealed: ...


@statement("""
    SELECT name, key_id, created_at, updated_at FROM environment
    WHERE CAST(:name AS text) IS NULL OR name = :name ORDER BY name
""")
async def all_environments(connection: AsyncConnection, name: str | None = None) -> list[Environment]:
    """All of them by name, or the one of this name; without their scripts."""


async def environment_named(connection: AsyncConnection, name: str) -> Environment:
    """One of them, without its script. Raises `NotFound`."""
    for found in await all_environments(connection, name):
        return found
    raise _not_found(name)


async def script_of(connection: AsyncConnection, name: str, vault: Vault) -> str:
    """The script. Raises `NotFound`, or `Refused` when it cannot be decrypted."""
    return vault.open(await _sealed(connection, name), f"{PURPOSE} {name}")


@missing(_not_found)
@statement("DELETE FROM environment WHERE name = :name")
async def remove(connection: AsyncConnection, name: str) -> None:
    """Delete an environment. Raises `NotFound`."""


async def rotate(connection: AsyncConnection, vault: Vault) -> int:
    """Encrypt rows under other keys with the first key. Returns how many. Raises `Refused`, then nothing is changed."""
    return await reseal(connection, _UNDER_OTHERS, _RESEAL, PURPOSE, vault)
