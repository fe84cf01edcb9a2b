"""`alert_group`: named sets of channels, as people write them."""

from __future__ import annotations

from collections.abc import Sequence

from dao.alerts import channels
from dao.alerts.rows import Group
from dao.postgres.notify import ALERT_CHANGED, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import notifying, statement
from model.errors import NotFound
from model.near import cure_of

_LOCK = Sql("SELECT FROM alert_group WHERE name = :name FOR UPDATE")
_PUT = Sql("""
    INSERT INTO alert_group AS g (name, description, updated_by) VALUES (:name, :description, :by)
    ON CONFLICT (name) DO UPDATE
    SET description = :description, version = g.version + 1, updated_at = clock_timestamp(), updated_by = :by
    RETURNING g.id
""")
_FOUND = Sql("SELECT name FROM alert_channel WHERE name = ANY(CAST(:channels AS text[])) FOR KEY SHARE")
_LEAVE = Sql("""
    DELETE FROM alert_group_channel m USING alert_channel c
    WHERE m.group_id = :id AND c.id = m.channel_id AND c.name <> ALL(CAST(:channels AS text[]))
""")
_JOIN = Sql("""
    INSERT INTO alert_group_channel (group_id, channel_id)
    SELECT :id, c.id FROM alert_channel c WHERE c.name = ANY(CAST(:channels AS text[]))
    ON CONFLICT DO NOTHING
""")


@statement("""
    SELECT g.id, g.name, g.description, g.version, g.updated_at, g.updated_by,
           ARRAY(SELECT c.name FROM alert_group_channel m JOIN alert_channel c ON c.id = m.channel_id
                 WHERE m.group_id = g.id ORDER BY c.name)
    FROM alert_group g WHERE CAST(:name AS text) IS NULL OR g.name = :name ORDER BY g.name
""")
async def all_groups(connection: AsyncConnection, name: str | None = None) -> list[Group]:
    """All of them by name, or the one of this name."""


async def group_named(connection: AsyncConnection, name: str) -> Group:
    """One of them. Raises `NotFound`."""
    for found in await all_groups(connection, name):
        return found
    raise await not_found(connection, name)


async def hold(connection: AsyncConnection, name: str) -> Group | None:
    """The group, which nobody else changes until this transaction ends; None: there is none."""
    locked = (await connection.execute(_LOCK, {"name": name})).rowcount
    return await group_named(connection, name) if locked else None


async def put(connection: AsyncConnection, name: str, description: str, of: Sequence[str], by: str) -> None:
    """Save or replace a group. Raises `NotFound` if one of its channels is not there."""
    found = {each for (each,) in await connection.execute(_FOUND, {"channels": list(of)})}
    for each in of:
        if each not in found:
            raise await channels.not_found(connection, each)
    id_ = (await connection.execute(_PUT, {"name": name, "description": description, "by": by})).scalar_one()
    await connection.execute(_LEAVE, {"id": id_, "channels": list(of)})
    await connection.execute(_JOIN, {"id": id_, "channels": list(of)})
    await notify(connection, ALERT_CHANGED)


@notifying(ALERT_CHANGED)
@statement("DELETE FROM alert_group WHERE id = :group.id")
async def delete(connection: AsyncConnection, group: Group) -> None:
    """Delete a group that is held; its channels stay."""


async def not_found(connection: AsyncConnection, name: str) -> NotFound:
    """That there is no such group, with the name that is near."""
    known = await _names(connection)
    return NotFound(f'there is no alert group "{name[:200]}"; {cure_of(name, known, "there is none yet")}')


@statement("SELECT name FROM alert_group ORDER BY name")
async def _names(connection: AsyncConnection) -> list[str]: ...
