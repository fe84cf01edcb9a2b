"""`resource_pool` and its rows in `pool_resource`, as people write them: saved, set aside, deleted.

Each change holds the row of the pool, as the claims do that give out of it. It never touches who holds what: a resource
that is removed while somebody holds it is only marked, and its row is deleted when it is given back.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
from dao.postgres.notify import changed
from model.changes import Changes
from model.errors import NotFound, Refused
from model.pool_check import PoolCheck
from model.pool_spec import PoolSpec
from model.pool_variables import resource_variable


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


_COLUMNS = "code, name, description, counted, validity_check, version, changed_at, changed_by"
_HEADS = text(f"SELECT {_COLUMNS} FROM resource_pool WHERE name = ANY(:names) ORDER BY code")  # noqa: S608
_HOLD = text(f"SELECT {_COLUMNS} FROM resource_pool WHERE name = ANY(:names) ORDER BY code FOR UPDATE")  # noqa: S608
_ALL_NAMES = text("SELECT name FROM resource_pool ORDER BY name")
_SPEC = text("SELECT name, data FROM pool_resource WHERE pool_code = :code AND NOT removed ORDER BY place, id")
_INSERT = text(f"""
    INSERT INTO resource_pool (name, description, counted, validity_check, changed_by)
    VALUES (:name, :description, :counted, CAST(:validity_check AS jsonb), :by)
    ON CONFLICT DO NOTHING RETURNING {_COLUMNS}
""")  # noqa: S608 - the part is a constant
_UPDATE = text(f"""
    UPDATE resource_pool SET description = :description, counted = :counted, version = version + 1,
        validity_check = CAST(:validity_check AS jsonb), changed_at = clock_timestamp(), changed_by = :by
    WHERE code = :code RETURNING {_COLUMNS}
""")  # noqa: S608 - the part is a constant
# Marked before it is deleted: what is given back in between is deleted by whoever gives it back.
_MARK_REMOVED = text("""
    UPDATE pool_resource SET removed = true
    WHERE pool_code = :code AND NOT removed AND name <> ALL(CAST(:names AS text[]))
""")
_DELETE_REMOVED = text("""
    DELETE FROM pool_resource
    WHERE pool_code = :code AND removed AND task_instance_id IS NULL AND checking_by IS NULL
""")
# What stays as it is is not locked: a worker may be about to give it back.
_ADD = text("""
    INSERT INTO pool_resource AS r (pool_code, name, data, place)
    SELECT :code, given.name, CAST(given.data AS jsonb), given.place - 1
    FROM unnest(CAST(:names AS text[]), CAST(:data AS text[])) WITH ORDINALITY AS given (name, data, place)
    WHERE NOT EXISTS (SELECT FROM pool_resource same
                      WHERE same.pool_code = :code AND same.name = given.name AND NOT same.removed
                        AND same.data = CAST(given.data AS jsonb) AND same.place = given.place - 1)
    ON CONFLICT (pool_code, name) DO UPDATE SET data = excluded.data, place = excluded.place, removed = false,
        checked_at = CASE WHEN r.data IS NOT DISTINCT FROM excluded.data THEN r.checked_at END
    WHERE (r.data, r.place, r.removed) IS DISTINCT FROM (excluded.data, excluded.place, false)
""")
_CHECK_AGAIN = text("UPDATE pool_resource SET checked_at = NULL WHERE pool_code = :code AND checked_at IS NOT NULL")
_NO_CHECK = text("""
    UPDATE pool_resource SET set_aside_at = NULL, set_aside_why = NULL
    WHERE pool_code = :code AND set_aside_at IS NOT NULL AND set_aside_by IS NULL
""")
_COUNTS = text("""
    SELECT count(*) FILTER (WHERE NOT removed), count(*) FILTER (WHERE removed) FROM pool_resource
    WHERE pool_code = :code
""")
_WAKE = text("SELECT wake_pool_line(CAST(:names AS text[]))")
_IN_USE = text("""
    SELECT (SELECT count(*) FROM pool_resource WHERE pool_code = :code AND task_instance_id IS NOT NULL),
           (SELECT count(*) FROM (SELECT FROM pool_line WHERE pool_name = :name LIMIT 10000) AS line)
""")
_DELETE_RESOURCES = text("DELETE FROM pool_resource WHERE pool_code = :code")
_DELETE = text("DELETE FROM resource_pool WHERE code = :code")


async def heads(connection: AsyncConnection, names: Collection[str]) -> dict[str, PoolHead]:
    """The pools of these names, by name."""
    return {row[1]: _head(row) for row in (await connection.execute(_HEADS, {"names": list(names)})).all()}


async def head(connection: AsyncConnection, name: str) -> PoolHead:
    """One of them. Raises `NotFound`."""
    found = (await heads(connection, [name])).get(name)
    if found is None:
        raise await not_found(connection, name)
    return found


async def hold(connection: AsyncConnection, names: Collection[str]) -> dict[str, PoolHead]:
    """The same, until the transaction ends: nobody gets a resource of them and nobody changes them meanwhile."""
    return {row[1]: _head(row) for row in (await connection.execute(_HOLD, {"names": list(names)})).all()}


async def not_found(connection: AsyncConnection, name: str) -> NotFound:
    """That there is no such pool, with the names that are near."""
    known = [each for (each,) in (await connection.execute(_ALL_NAMES)).all()]
    near = get_close_matches(name, known, n=1)
    cure = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known[:20])}" if known else "there is none yet"
    return NotFound(f'there is no resource pool "{name[:200]}"; {cure}')


async def spec_of(connection: AsyncConnection, pool: PoolHead) -> PoolSpec:
    """A pool as people write it. What stands in its rows is not validated again."""
    rows = (await connection.execute(_SPEC, {"code": pool.code})).all()
    resources = {row.name: row.data for row in rows} if pool.counted is None else None
    return PoolSpec.model_construct(
        description=pool.description, resources=resources, count=pool.counted, check=pool.check
    )


async def put(connection: AsyncConnection, before: PoolHead | None, name: str, spec: PoolSpec, by: str) -> PutPool:
    """Save a pool. What stays in it keeps its holder; what is new can be had at once.

    Args:
        before: the pool as it is now, held by this transaction; None: there is none.
        by: who saves it.
    Raises:
        Refused: another pool would be the same variable of a task, or somebody made the pool meanwhile.
    """
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
        if _same(await spec_of(connection, before), spec):
            return PutPool(before, before.version, is_new_version=False)
        row = (await connection.execute(_UPDATE, {**values, "code": before.code})).one()
    saved = _head(row)
    had, left = await _put_resources(connection, saved.code, resources_of(spec))
    if before is not None and before.check != spec.check:
        await connection.execute(_CHECK_AGAIN if spec.check is not None else _NO_CHECK, {"code": saved.code})
    await notify_line(connection, [name])
    return PutPool(
        saved,
        before.version if before is not None else None,
        is_new_version=True,
        added=max(0, spec.size - (had - left[0])),
        removed=left[0],
        leaving=left[1],
    )


async def _put_resources(
    connection: AsyncConnection, code: int, resources: Mapping[str, Mapping[str, Any]]
) -> tuple[int, tuple[int, int]]:
    """How many there were, and how many of them were removed, and are still held though removed."""
    had = (await connection.execute(_COUNTS, {"code": code})).one()
    names = list(resources)
    removed = (await connection.execute(_MARK_REMOVED, {"code": code, "names": names})).rowcount
    await connection.execute(_DELETE_REMOVED, {"code": code})
    await connection.execute(
        _ADD,
        {"code": code, "names": names, "data": [json.dumps(each, ensure_ascii=False) for each in resources.values()]},
    )
    has = (await connection.execute(_COUNTS, {"code": code})).one()
    return had[0], (removed, has[1])


async def delete(connection: AsyncConnection, pool: PoolHead, *, despite_line: bool) -> int:
    """Delete a pool, which this transaction holds. Returns how many attempts wait in its line.

    Raises `Refused`: something is held of it, or attempts wait for it and it is not to be deleted in spite of them.
    """
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
    await connection.execute(_DELETE_RESOURCES, {"code": pool.code})
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
    for (other,) in (await connection.execute(_ALL_NAMES)).all():
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
        timeout=stored.get("timeout_s", PoolCheck.model_fields["timeout"].default),
        every=stored.get("every_s", PoolCheck.model_fields["every"].default),
    )


def _text(stored: object) -> str | None:
    return stored if stored is None or isinstance(stored, str) else json.dumps(stored)


def _same(one: PoolSpec, other: PoolSpec) -> bool:
    """Whether nothing differs, to the JSON of the data: `1`, `1.0` and `true` are equal in Python."""
    return one.description == other.description and one.check == other.check and _rows(one) == _rows(other)


def _rows(spec: PoolSpec) -> tuple[int | None, list[tuple[str, str]]]:
    rows = (spec.resources or {}).items()
    return spec.count, [(name, json.dumps(data, sort_keys=True)) for name, data in rows]
