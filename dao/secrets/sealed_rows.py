"""Code shared by the tables of named secrets: checking a name, and encrypting all rows again with the first key."""

from __future__ import annotations

import re

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.secrets.vault import Sealed, Vault
from model.errors import Refused

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")


def check_name(name: str, what: str) -> str:
    """Return `name` if it is valid for a data source or environment. Raises `Refused`."""
    if _NAME.fullmatch(name) is None:
        raise Refused(f"{name[:200]!r} is not a name for {what}; use up to 200 letters, digits and _ . -")
    return name


async def reseal(connection: AsyncConnection, under_others: Sql, write: Sql, purpose: str, vault: Vault) -> int:
    """Encrypt rows under an older key again with the first key. Returns how many. `purpose` is followed by the name.

    Args:
        under_others: finds and locks them: name, secret and key.
        write: writes one.
    Raises:
        Refused: one cannot be decrypted; it names the row and its key, and nothing is changed.
    """
    first = next(iter(vault.key_ids), None)
    rows = (await connection.execute(under_others, {"key": first})).all()
    for name, data, key_id in rows:
        sealed = vault.seal(vault.open(Sealed(data, key_id), f"{purpose} {name}"), f"{purpose} {name}")
        await connection.execute(write, {"name": name, "data": sealed.data, "key_id": sealed.key_id})
    return len(rows)
