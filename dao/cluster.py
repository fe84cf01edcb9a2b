"""`cluster`: the one row of what is the same for all nodes, so that none of them can be told otherwise.

Whoever is first writes it; later ones are held against it. A row that somebody took away is made again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from model.timing import Timing

_MAKE = text("INSERT INTO cluster DEFAULT VALUES ON CONFLICT DO NOTHING")
_READ_TIMING = text("SELECT timing FROM cluster")
_HOLD_TIMING = text("SELECT timing FROM cluster FOR UPDATE")
_READ_REGISTRY = text("SELECT registry_mark, registry_place FROM cluster")
_RECORD_REGISTRY = text("""
    UPDATE cluster SET registry_mark = :mark, registry_place = :place
    WHERE :replaces OR registry_mark IS NULL OR registry_place IS NULL
""")
_WRITE_TIMING = text("UPDATE cluster SET timing = cast(:timing AS jsonb)")


@dataclass(frozen=True, slots=True)
class RecordedRegistry:
    """The cluster's registry: the mark that it carries, and its address without secrets (`registry/belonging.py`)."""

    mark: str
    place: str


async def registry(connection: AsyncConnection) -> RecordedRegistry | None:
    """The cluster's registry; None before the first node."""
    row = (await connection.execute(_READ_REGISTRY)).first()
    if row is None or row.registry_mark is None or row.registry_place is None:
        return None
    return RecordedRegistry(row.registry_mark, row.registry_place)


async def record_registry(
    connection: AsyncConnection, wanted: RecordedRegistry, *, replaces: bool = False
) -> RecordedRegistry:
    """Record the cluster's registry, unless one is recorded already and `replaces` is not set; the one that is now."""
    await connection.execute(_MAKE)
    await connection.execute(_RECORD_REGISTRY, {"mark": wanted.mark, "place": wanted.place, "replaces": replaces})
    found = await registry(connection)
    assert found is not None
    return found


async def timing(connection: AsyncConnection) -> Timing | None:
    """The times by which the cluster lives; None before the first node. Raises `Refused` for odd ones."""
    return _recorded((await connection.execute(_READ_TIMING)).scalar())


async def agree_on_timing(connection: AsyncConnection, given: Timing) -> Timing:
    """The cluster's times, for a node with these settings; the first node's become the cluster's.

    Raises `Refused` when the settings name others than the cluster's.
    """
    await connection.execute(_MAKE)
    recorded = _recorded((await connection.execute(_HOLD_TIMING)).scalar())
    if recorded is not None:
        return given.agreed(recorded)
    await _write(connection, given)
    return given


async def set_timing(connection: AsyncConnection, changes: Mapping[str, object]) -> Timing:
    """Change some times, by name; the whole as it is now. Raises `Refused` when they do not fit together.

    Nodes that live keep the times with which they started: each says them with its beats, and is judged by them.
    """
    await connection.execute(_MAKE)
    recorded = _recorded((await connection.execute(_HOLD_TIMING)).scalar()) or Timing()
    changed = Timing.recorded({**recorded.seconds(), **changes})
    await _write(connection, changed)
    return changed


async def _write(connection: AsyncConnection, wanted: Timing) -> None:
    await connection.execute(_WRITE_TIMING, {"timing": json.dumps(wanted.seconds())})


def _recorded(found: Any) -> Timing | None:
    return None if found is None else Timing.recorded(found)
