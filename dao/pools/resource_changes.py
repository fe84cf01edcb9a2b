"""Resources that nobody gets, since a person said so; an attempt that holds one keeps it to its end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

from dao.pools.saved_pools import PoolHead, notify_line
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.errors import NotFound, Refused
from model.near import cure_of


@dataclass(frozen=True, slots=True)
class SetAside:
    """Since when a resource is set aside, why, and by whom; `by` None: by its check. `held`: somebody holds it."""

    at: datetime | None
    why: str | None
    by: str | None
    held: bool


_READ = Sql("""
    SELECT set_aside_at, set_aside_why, set_aside_by, task_instance_id IS NOT NULL FROM pool_resource
    WHERE pool_code = :code AND name = :name AND NOT removed
""")
_SET = Sql("""
    UPDATE pool_resource
    SET found_why = set_aside_why, set_aside_at = clock_timestamp(), set_aside_why = :why, set_aside_by = :by
    WHERE pool_code = :code AND name = :name AND NOT removed
""")
_TAKE_BACK = Sql("""
    UPDATE pool_resource
    SET set_aside_at = CASE WHEN found_why IS NOT NULL THEN clock_timestamp() END, set_aside_why = found_why,
        set_aside_by = NULL, found_why = NULL
    WHERE pool_code = :code AND name = :name AND NOT removed
""")
_NAMES = Sql("SELECT name FROM pool_resource WHERE pool_code = :code AND NOT removed ORDER BY place, id")


async def read(connection: AsyncConnection, pool: PoolHead, resource: str) -> SetAside:
    """Whether a resource is set aside. Raises `NotFound`."""
    row = (await connection.execute(_READ, {"code": pool.code, "name": resource})).first()
    if row is None:
        known = [name for (name,) in await connection.execute(_NAMES, {"code": pool.code})]
        cure = await asyncio.to_thread(cure_of, resource, known, "it is empty")
        raise NotFound(f'pool "{pool.name}" has no resource "{resource[:200]}"; {cure}')
    return SetAside(*row)


async def set_aside(connection: AsyncConnection, pool: PoolHead, resource: str, why: str, by: str) -> bool:
    """Let nobody get a resource of a pool, which this transaction holds, until a person takes it back.

    False: it is set aside by a person already, which stays as it is. Raises `NotFound`.
    """
    before = await read(connection, pool, resource)
    if before.by is not None:
        return False
    await connection.execute(_SET, {"code": pool.code, "name": resource, "why": why, "by": by})
    await notify_line(connection, [pool.name])  # what needs more than is left no longer reserves anything
    return True


async def take_back(connection: AsyncConnection, pool: PoolHead, resource: str) -> SetAside:
    """Let a resource that is set aside be given again, and return how it was. Raises `NotFound`, `Refused`.

    What a person set aside stays so if its check had failed before, until that passes or a person takes it back again.
    """
    before = await read(connection, pool, resource)
    if before.at is None:
        raise Refused(
            f'resource "{resource}" of pool "{pool.name}" is not set aside; '
            f"{'a task holds it' if before.held else 'any task may get it'}"
        )
    await connection.execute(_TAKE_BACK, {"code": pool.code, "name": resource})
    await notify_line(connection, [pool.name])
    return before
