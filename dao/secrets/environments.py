"""`environment`: named bash scripts of exports for SHELL and PYTHON tasks, encrypted since they hold secrets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert

from dao.postgres.engine import AsyncConnection
from dao.postgres.tables import environment
from dao.secrets.sealed_rows import check_name, reseal
from dao.secrets.vault import Sealed, Vault
from model.errors import NotFound, Refused
from model.parameters.parameters import is_storable
from model.scripts.normal_form import plain_script

PURPOSE = "environment"
SCRIPT_BYTES_MAX = 1_000_000
_SHOWN = select(environment.c.name, environment.c.key_id, environment.c.created_at, environment.c.updated_at)


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
    values = {"script": sealed.data, "key_id": sealed.key_id}
    await connection.execute(
        insert(environment)
        .values(name=name, **values)
        .on_conflict_do_update(index_elements=["name"], set_={**values, "updated_at": func.clock_timestamp()})
    )


async def all_environments(connection: AsyncConnection) -> list[Environment]:
    """All of them by name, without their scripts."""
    return [Environment(*row) for row in (await connection.execute(_SHOWN.order_by(environment.c.name))).all()]


async def environment_named(connection: AsyncConnection, name: str) -> Environment:
    """One of them, without its script. Raises `NotFound`."""
    row = (await connection.execute(_SHOWN.where(environment.c.name == name))).first()
    if row is None:
        raise _not_found(name)
    return Environment(*row)


async def script_of(connection: AsyncConnection, name: str, vault: Vault) -> str:
    """The script. Raises `NotFound`, or `Refused` when it cannot be decrypted."""
    c = environment.c
    row = (await connection.execute(select(c.script, c.key_id).where(c.name == name))).first()
    if row is None:
        raise _not_found(name)
    return vault.open(Sealed(row.script, row.key_id), f"{PURPOSE} {name}")


async def remove(connection: AsyncConnection, name: str) -> None:
    """Delete an environment. Raises `NotFound`."""
    if (await connection.execute(delete(environment).where(environment.c.name == name))).rowcount == 0:
        raise _not_found(name)


async def rotate(connection: AsyncConnection, vault: Vault) -> int:
    """Encrypt rows under other keys with the first key. Returns how many. Raises `Refused`, then nothing is changed."""
    return await reseal(connection, environment, environment.c.script, PURPOSE, vault)


def _not_found(name: str) -> NotFound:
    return NotFound(f'there is no environment "{name[:200]}"; `shoal environment list` lists those there are')
