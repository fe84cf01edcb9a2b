"""`resource_pool` as people write it: saved, deleted.

Each change holds the row of the pool, as the claims do that give out of it. It never touches who holds what: a resource
that is removed while somebody holds it is only marked, and its row is deleted when it is given back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dao.pools import resource_rows
from dao.pools.pool_checks import SECONDS_MAX
from dao.pools.resource_rows import Change
from dao.postgres.notify import changed
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.changes import Changes
from model.errors import NotFound, Refused
from model.near import cure_of
from model.pools.check import PoolCheck
from model.pools.spec import PoolSpec
from model.pools.variables import resource_variable


@dataclass(frozen=True, slots=True)
class PoolHead:
    """A pool without its resources. `counted`: it is only a number. Times are aware UTC, database time."""

    code: int
    name: str
    description: str
    counted: int | None
    check: PoolCheck | None
    version: int
    changed_at: datetime
    changed_by: str


@dataclass(frozen=True, slots=True)
class PutPool:
    """What became of a pool. `before` is its former version, None: it is new; `leaving` resources were removed and are
    still held."""

    head: PoolHead
    before: int | None
    is_new_version: bool
    added: int = 0
    removed: int = 0
    leaving: int = 0


_HEADS = Sql("""
    SELECT code, name, description, counted, validity_check, version, changed_at, changed_by
    FROM resource_pool WHERE name = ANY(:names) ORDER BY code
""")
_LOCK = Sql("SELECT FROM resource_pool WHERE name = ANY(:names) ORDER BY code FOR UPDATE")
_INSERT = Sql("""
    INSERT INTO resource_pool (name, description, counted, validity_check, changed_by)
    VALUES (:name, :description, :counted, CAST(:validity_check AS jsonb), :by)
    ON CONFLICT DO NOTHING
    RETURNING code, name, description, counted, validity_check, version, changed_at, changed_by
""")
_UPDATE = Sql("""
    UPDATE resource_pool SET description = :description, counted = :counted, version = version + 1,
        validity_check = CAST(:validity_check AS jsonb), changed_at = clock_timestamp(), changed_by = :by
    WHERE code = :code
    RETURNING code, name, description, counted, validity_check, version, changed_at, changed_by
""")
_WAKE = Sql("SELECT wake_pool_line(CAST(:names AS text[]))")
_IN_USE = Sql("""
    SELECT (SELECT count(*) FROM pool_resource WHERE pool_code = :code AND task_instance_id IS NOT NULL),
           (SELECT count(*) FROM (SELECT FROM pool_line WHERE pool_name = :name LIMIT 10000) AS line)
""")
_DELETE = Sql("DELETE FROM resource_pool WHERE code = :code")


async def heads(connection: AsyncConnection, names: Collection[str]) -> dict[str, PoolHead]:
    return {row[1]: _head(row) for row in await connection.execute(_HEADS, {"names": list(names)})}


async def head(connection: AsyncConnection, name: str) -> PoolHead:
    """One of them. Raises `NotFound`."""
    found = (await heads(connection, [name])).get(name)
    if found is None:
        raise await not_found(connection, name)
    return found


async def hold(connection: AsyncConnection, names: Collection[str]) -> dict[str, PoolHead]:
    """The same, until the transaction ends: nobody gets a resource of them and nobody changes them meanwhile."""
    await connection.execute(_LOCK, {"names": list(names)})
    return await heads(connection, names)


@statement("SELECT name FROM resource_pool ORDER BY name")
async def all_names(connection: AsyncConnection) -> list[str]: ...


async def not_found(connection: AsyncConnection, name: str) -> NotFound:
    """That there is no such pool, with the names that are near."""
    known = await all_names(connection)
    cure = await asyncio.to_thread(cure_of, name, known, "there is none yet")
    return NotFound(f'there is no resource pool "{name[:200]}"; {cure}')


async def spec_of(connection: AsyncConnection, pool: PoolHead) -> PoolSpec:
    """A pool as people write it. What stands in its rows is not validated again."""
    resources = await resource_rows.read(connection, pool.code) if pool.counted is None else None
    return PoolSpec.model_construct(
        description=pool.description, resources=resources, count=pool.counted, check=pool.check
    )


async def put(
    connection: AsyncConnection, before: Mapping[str, PoolHead], specs: Mapping[str, PoolSpec], by: str
) -> dict[str, PutPool]:
    """Save pools, by name. What stays in them keeps its holders; what is new can be had at once.

    Args:
        before: those of them that there are now, held by this transaction.
        by: who saves them.
    Raises:
        Refused: another pool would be the same variable of a task, or somebody made the pool meanwhile.
    """
    same = {
        name for name, head in before.items() if name in specs and _same(await spec_of(connection, head), specs[name])
    }
    changing = [
        Change(head.code, resources_of(specs[name]), head.check != specs[name].check)
        for name, head in before.items()
        if name in specs.keys() - same
    ]
    await resource_rows.hold_changing(connection, changing)
    done = {}
    for name in sorted(specs, key=resource_variable):  # two who make the same pools wait, not both
        head = before.get(name)
        if head is not None and name in same:
            done[name] = PutPool(head, head.version, is_new_version=False)
        else:
            done[name] = await _put(connection, head, name, specs[name], by)
    return done


async def _put(connection: AsyncConnection, before: PoolHead | None, name: str, spec: PoolSpec, by: str) -> PutPool:
    values = {
        "description": spec.description,
        "counted": spec.count,
        "validity_check": _check_json(spec.check),
        "by": by,
    }
    if before is None:
        row = (await connection.execute(_INSERT, {**values, "name": name})).first()
        if row is None:
            raise await _stands_in_the_way(connection, name)
    else:
        row = (await connection.execute(_UPDATE, {**values, "code": before.code})).one()
    saved = _head(row)
    rows = await resource_rows.put(connection, saved.code, resources_of(spec))
    if before is not None and before.check != spec.check:
        await resource_rows.change_check(connection, saved.code, is_checked=spec.check is not None)
    await notify_line(connection, [name])
    return PutPool(saved, before.version if before is not None else None, is_new_version=True, **rows._asdict())


async def delete(connection: AsyncConnection, pool: PoolHead, *, despite_line: bool) -> int:
    """Delete a pool, which this transaction holds. Returns how many attempts wait in its line.

    Raises `Refused`: something is held of it, or attempts wait for it and it is not to be deleted in spite of them.
    """
    await resource_rows.hold_all(connection, pool.code)
    held, waiting = (await connection.execute(_IN_USE, {"code": pool.code, "name": pool.name})).one()
    if held:
        raise Refused(
            f'tasks hold {held} of pool "{pool.name}"; wait until they have ended, or stop them, and delete it then'
        )
    if waiting and not despite_line:
        raise Refused(
            f'{waiting} {"task waits" if waiting == 1 else "tasks wait"} for pool "{pool.name}", and would wait until '
            f"somebody makes a pool of this name again; stop them, or delete it with force"
        )
    await resource_rows.delete(connection, pool.code)
    await connection.execute(_DELETE, {"code": pool.code})
    await changed(connection, Changes(pools=True))
    return int(waiting)


async def notify_line(connection: AsyncConnection, pools: Sequence[str]) -> None:
    """Wake the workers for whose groups attempts wait for these pools, and those who watch them."""
    await connection.execute(_WAKE, {"names": list(pools)})
    await changed(connection, Changes(pools=True))


def resources_of(spec: PoolSpec) -> dict[str, Mapping[str, Any]]:
    """The rows of a pool: name -> data. The places of a pool that is a number are called 1, 2, 3 ..."""
    if spec.resources is not None:
        return dict(spec.resources)
    return {str(number): {} for number in range(1, (spec.count or 0) + 1)}


async def _stands_in_the_way(connection: AsyncConnection, name: str) -> Refused:
    for other in await all_names(connection):
        if other != name and resource_variable(other) == resource_variable(name):
            return Refused(
                f'the pools "{name}" and "{other}" would be one variable of a task, {resource_variable(name)}; '
                f"give it another name"
            )
    return Refused(f'somebody has just made a pool "{name}"; read it, and try again')


def _head(row: Any) -> PoolHead:
    code, name, description, counted, check, version, changed_at, changed_by = row
    return PoolHead(code, name, description, counted, _check_of(check), version, changed_at, changed_by)


def _check_json(check: PoolCheck | None) -> str | None:
    if check is None:
        return None
    how = {"url": check.url} if check.url is not None else {"script": check.script}
    return json.dumps({**how, "timeout_s": check.timeout, "every_s": check.every}, ensure_ascii=False)


def _check_of(stored: Mapping[str, Any] | None) -> PoolCheck | None:
    """A row may have been written by hand: what it says is shown as it is."""
    if stored is None:
        return None
    return PoolCheck.model_construct(
        script=_text(stored.get("script")),
        url=_text(stored.get("url")),
        timeout=_seconds(stored.get("timeout_s", PoolCheck.model_fields["timeout"].default)),
        every=_seconds(stored.get("every_s", PoolCheck.model_fields["every"].default)),
    )


def _seconds(stored: float) -> float:
    """One of any size."""
    return float(max(0, min(stored, SECONDS_MAX)))


def _text(stored: object) -> str | None:
    return stored if stored is None or isinstance(stored, str) else json.dumps(stored)


def _same(one: PoolSpec, other: PoolSpec) -> bool:
    """Whether nothing differs, to the JSON of the data."""
    if (one.description, one.count, one.check) != (other.description, other.count, other.check):
        return False
    return resource_rows.rows_of(one.resources or {}) == resource_rows.rows_of(other.resources or {})
