"""The rows of `pool_resource` as the file of their pool says: added, changed, removed. Never who holds them.

What gives resources back locks several rows, as does what records checks, without the row of their pool. So all
lock them by id: here those of all pools that change are locked before the first is written. What stays as it is is not
locked: a worker may be about to give it back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement

Resources = Mapping[str, Mapping[str, Any]]
"""Name -> data, in the order of the file."""


class Change(NamedTuple):
    """What becomes of the resources of a pool. `is_check_new`: all are to be checked in another way, or not at all."""

    code: int
    resources: Resources
    is_check_new: bool


class Put(NamedTuple):
    """How many resources were added and removed; `leaving` are removed and still held."""

    added: int
    removed: int
    leaving: int


_ROWS = Sql("SELECT name, data, place FROM pool_resource WHERE pool_code = :code AND NOT removed ORDER BY place, id")
_HOLD = Sql("""
    SELECT r.id FROM unnest(CAST(:codes AS bigint[]), CAST(:names AS text[])) AS changed (code, name)
    JOIN pool_resource r ON r.pool_code = changed.code AND r.name = changed.name    -- index: pool_resource_name
    ORDER BY r.id FOR UPDATE OF r
""")
_HOLD_ALL = Sql("""
    SELECT id FROM pool_resource WHERE pool_code = ANY(CAST(:codes AS bigint[])) ORDER BY id FOR UPDATE
""")
# Marked before it is deleted: what is given back in between is deleted when it is given back. A check of it that is
# under way counts no more, here and below.
_MARK_REMOVED = Sql("""
    UPDATE pool_resource SET removed = true, checking_by = NULL, checking_since = NULL
    WHERE pool_code = :code AND NOT removed AND name <> ALL(CAST(:names AS text[]))
""")
_DELETE_REMOVED = Sql("""
    DELETE FROM pool_resource
    WHERE pool_code = :code AND removed AND task_instance_id IS NULL AND checking_by IS NULL
""")
# Data is compared as text: to jsonb 1 and 1.0 are equal, and a task finds them as they are written.
_ADD = Sql("""
    INSERT INTO pool_resource AS r (pool_code, name, data, place)
    SELECT :code, given.name, CAST(given.data AS jsonb), given.place - 1
    FROM unnest(CAST(:names AS text[]), CAST(:data AS text[])) WITH ORDINALITY AS given (name, data, place)
    WHERE NOT EXISTS (SELECT FROM pool_resource same
                      WHERE same.pool_code = :code AND same.name = given.name AND NOT same.removed
                        AND same.data::text = CAST(given.data AS jsonb)::text AND same.place = given.place - 1)
    ON CONFLICT (pool_code, name) DO UPDATE SET data = excluded.data, place = excluded.place, removed = false,
        checked_at = CASE WHEN r.data::text = excluded.data::text THEN r.checked_at END,
        checking_by = CASE WHEN r.data::text = excluded.data::text THEN r.checking_by END,
        checking_since = CASE WHEN r.data::text = excluded.data::text THEN r.checking_since END
    WHERE (r.data::text, r.place, r.removed) IS DISTINCT FROM (excluded.data::text, excluded.place, false)
""")
_CHECK_AGAIN = Sql("""
    UPDATE pool_resource SET checked_at = NULL, checking_by = NULL, checking_since = NULL
    WHERE pool_code = :code AND (checked_at IS NOT NULL OR checking_by IS NOT NULL)
""")
_NO_CHECK = Sql("""
    UPDATE pool_resource
    SET checking_by = NULL, checking_since = NULL,
        set_aside_at = CASE WHEN set_aside_by IS NOT NULL THEN set_aside_at END,
        set_aside_why = CASE WHEN set_aside_by IS NOT NULL THEN set_aside_why END, found_why = NULL
    WHERE pool_code = :code AND (checking_by IS NOT NULL OR found_why IS NOT NULL
                                 OR set_aside_at IS NOT NULL AND set_aside_by IS NULL)
""")
_COUNTS = Sql("""
    SELECT count(*) FILTER (WHERE NOT removed), count(*) FILTER (WHERE removed) FROM pool_resource
    WHERE pool_code = :code
""")


async def read(connection: AsyncConnection, code: int) -> dict[str, dict[str, Any]]:
    """The resources of a pool: name -> data."""
    return {row.name: row.data for row in await connection.execute(_ROWS, {"code": code})}


async def hold_changing(connection: AsyncConnection, changes: Iterable[Change]) -> None:
    """Lock all rows that these changes write. The transaction holds their pools, and writes no row before."""
    whole: list[int] = []
    codes: list[int] = []
    names: list[str] = []
    for change in changes:
        if change.is_check_new:
            whole.append(change.code)
        rows = (await connection.execute(_ROWS, {"code": change.code})).all()
        now = {row.name: (row.place, _json(row.data)) for row in rows}
        wanted = {name: (place, _json(data)) for place, (name, data) in enumerate(change.resources.items())}
        written = {name for name in now.keys() | wanted.keys() if now.get(name) != wanted.get(name)}
        codes += [change.code] * len(written)
        names += written
    if whole:
        await connection.execute(_HOLD_ALL, {"codes": sorted({*whole, *codes})})
    elif codes:
        await connection.execute(_HOLD, {"codes": codes, "names": names})


async def hold_all(connection: AsyncConnection, code: int) -> None:
    """Lock all rows of a pool, which the transaction holds."""
    await connection.execute(_HOLD_ALL, {"codes": [code]})


async def put(connection: AsyncConnection, code: int, resources: Resources) -> Put:
    """Have a pool, which is new or whose changing rows are locked, have these resources."""
    had = (await connection.execute(_COUNTS, {"code": code})).one()
    names = list(resources)
    removed = (await connection.execute(_MARK_REMOVED, {"code": code, "names": names})).rowcount
    await connection.execute(_DELETE_REMOVED, {"code": code})
    data = [json.dumps(each, ensure_ascii=False) for each in resources.values()]
    await connection.execute(_ADD, {"code": code, "names": names, "data": data})
    has = (await connection.execute(_COUNTS, {"code": code})).one()
    return Put(max(0, len(resources) - (had[0] - removed)), removed, has[1])


async def change_check(connection: AsyncConnection, code: int, *, is_checked: bool) -> None:
    """The check of a pool has changed. `is_checked` false: it no longer has one, and what that set aside is given."""
    await connection.execute(_CHECK_AGAIN if is_checked else _NO_CHECK, {"code": code})


@statement("DELETE FROM pool_resource WHERE pool_code = :code")
async def delete(connection: AsyncConnection, code: int) -> None:
    """Delete all of a pool, which are locked."""


def rows_of(resources: Resources) -> Sequence[tuple[str, str]]:
    """Names and data, to be compared: `1`, `1.0` and `true` are equal in Python."""
    return [(name, _json(data)) for name, data in resources.items()]


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(_as_stored(data), sort_keys=True)


def _as_stored(value: Any) -> Any:
    """A value as jsonb gives it back: `1e16` with all its digits, and no zero with a sign."""
    match value:
        case float():
            return int(Decimal(repr(value))) if "e+" in repr(value) else value + 0.0
        case Mapping():
            return {key: _as_stored(each) for key, each in value.items()}
        case list() | tuple():
            return [_as_stored(each) for each in value]
        case _:
            return value
