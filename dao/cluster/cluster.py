"""`cluster`: one row with the settings that are the same for all nodes.

The first node writes it; the settings of later nodes are compared with it. If the row was deleted, it is created again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.cluster.timing import Timing

_MAKE = Sql("INSERT INTO cluster DEFAULT VALUES ON CONFLICT DO NOTHING")
_READ_TIMING = Sql("SELECT timing FROM cluster")
_HOLD_TIMING = Sql("SELECT timing FROM cluster FOR UPDATE")
_RECORD_REGISTRY = Sql("""
    UPDATE cluster SET registry_mark = :mark, registry_place = :place
    WHERE :replaces OR registry_mark IS NULL OR registry_place IS NULL
""")
_WRITE_TIMING = Sql("UPDATE cluster SET timing = cast(:timing AS jsonb)")


@dataclass(frozen=True, slots=True)
class RecordedRegistry:
    """The cluster's registry: its mark, and its address without secrets (`registry/belonging.py`)."""

    mark: str
    place: str


@statement("""
    SELECT registry_mark, registry_place FROM cluster WHERE registry_mark IS NOT NULL AND registry_place IS NOT NULL
""")
async def registry(connection: AsyncConnection) -> RecordedRegistry | None:
    """The cluster's registry; None before the first node."""


async def record_registry(
    connection: AsyncConnection, wanted: RecordedRegistry, *, replaces: bool = False
) -> RecordedRegistry:
    """Record the cluster's registry, and return the recorded one. Replaces an existing record only if `replaces`."""
    await connection.execute(_MAKE)
    await connection.execute(_RECORD_REGISTRY, {"mark": wanted.mark, "place": wanted.place, "replaces": replaces})
    found = await registry(connection)
    assert found is not None
    return found


async def timing(connection: AsyncConnection) -> Timing | None:
    """The cluster's timing settings; None before the first node. Raises `Refused` for invalid ones."""
    return _recorded((await connection.execute(_READ_TIMING)).scalar())


async def agree_on_timing(connection: AsyncConnection, given: Timing) -> Timing:
    """The cluster's timing for a node with these settings; the first node's settings become the cluster's.

    Raises `Refused` when the settings differ from the cluster's.
    """
    await connection.execute(_MAKE)
    recorded = _recorded((await connection.execute(_HOLD_TIMING)).scalar())
    if recorded is not None:
        return given.agreed(recorded)
    await _write(connection, given)
    return given


async def set_timing(connection: AsyncConnection, changes: Mapping[str, object]) -> Timing:
    """Change some timing settings, by name, and return all of them. Raises `Refused` when they contradict each other.

    Living nodes keep the timing with which they started: each reports it with its beats, and is measured by it.
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
