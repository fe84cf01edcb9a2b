"""`log_key`: the keys that sign requests for the logs of a worker's life. Masters have no right to them."""

from __future__ import annotations

from sqlalchemy import text

from dao.postgres.database import FencedTransaction
from dao.postgres.engine import AsyncConnection
from model.ids import Epoch

_PUBLISH = text("INSERT INTO log_key (node_id, key) VALUES (:epoch, :key) ON CONFLICT (node_id) DO NOTHING")
_KEY_OF = text("SELECT key FROM log_key WHERE node_id = :epoch")


async def publish(connection: FencedTransaction, worker: Epoch, key: str) -> None:
    """Publish the key of a worker's life; it is gone with the row of that."""
    await connection.execute(_PUBLISH, {"epoch": worker, "key": key})


async def key_of(connection: AsyncConnection, worker: Epoch) -> str | None:
    """The key of that life, if it published one."""
    found: str | None = (await connection.execute(_KEY_OF, {"epoch": worker})).scalar()
    return found
