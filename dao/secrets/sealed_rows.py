"""Code shared by the tables of named secrets: checking a name, and encrypting all rows again with the first key."""

from __future__ import annotations

import re

from sqlalchemy import Column, LargeBinary, Table, select, update

from dao.postgres.engine import AsyncConnection
from dao.secrets.vault import Sealed, Vault
from model.errors import Refused

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")


def check_name(name: str, what: str) -> str:
    """Return `name` if it is valid for a data source or environment. Raises `Refused`."""
    if _NAME.fullmatch(name) is None:
        raise Refused(f"{name[:200]!r} is not a name for {what}; use up to 200 letters, digits and _ . -")
    return name


async def reseal(connection: AsyncConnection, table: Table, secret: Column[bytes], purpose: str, vault: Vault) -> int:
    """Encrypt rows under an older key again with the first key. Returns how many. `purpose` is followed by the name.

    Raises `Refused`, naming the row and its key, when one cannot be decrypted: nothing is changed then.
    """
    assert isinstance(secret.type, LargeBinary)
    first = vault.key_ids[:1]
    rows = await connection.execute(
        select(table.c.name, secret, table.c.key_id).where(table.c.key_id.not_in(first)).order_by(table.c.name)
        .with_for_update()
    )  # fmt: skip
    count = 0
    for name, data, key_id in rows.all():
        sealed = vault.seal(vault.open(Sealed(data, key_id), f"{purpose} {name}"), f"{purpose} {name}")
        values = {secret.name: sealed.data, "key_id": sealed.key_id}
        await connection.execute(update(table).where(table.c.name == name).values(values))
        count += 1
    return count
