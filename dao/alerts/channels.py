"""`alert_channel`: where alerts are sent, as people write it. The URLs are encrypted, and no answer contains one."""

from __future__ import annotations

from dataclasses import dataclass

from dao.alerts.rows import Channel
from dao.postgres.notify import ALERT_CHANGED, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import notifying, statement
from dao.secrets.sealed_rows import check_name, reseal
from dao.secrets.vault import Vault
from model.alerts.channels import CHANNEL_PURPOSE, parse_channel_url
from model.errors import NotFound
from model.near import cure_of


@dataclass(frozen=True)
class ChannelContent:
    """All that is saved of one beside its URL."""

    description: str
    subject_template: str | None = None
    text_template: str | None = None
    enabled: bool = True


_LOCK = Sql("SELECT FROM alert_channel WHERE name = :name FOR UPDATE")
_PUT = Sql("""
    INSERT INTO alert_channel AS c (name, kind, url, key_id, shown_url, description, subject_template, text_template,
                                    enabled, updated_by)
    VALUES (:name, :kind, :url, :key_id, :shown, :description, :subject_template, :text_template, :enabled, :by)
    ON CONFLICT (name) DO UPDATE
    SET kind = :kind, url = :url, key_id = :key_id, shown_url = :shown, description = :description,
        subject_template = :subject_template, text_template = :text_template, enabled = :enabled,
        version = c.version + 1, updated_at = clock_timestamp(), updated_by = :by
""")
_CHANGE = Sql("""
    UPDATE alert_channel
    SET description = :description, subject_template = :subject_template, text_template = :text_template,
        enabled = :enabled, version = version + 1, updated_at = clock_timestamp(), updated_by = :by
    WHERE id = :id
""")
# A person who changes a channel wants to see at once whether it works now.
_TRY_NOW = Sql("""
    UPDATE alert_delivery SET next_try_at = clock_timestamp()
    WHERE channel_id = (SELECT id FROM alert_channel WHERE name = :name) AND state = 'WAIT'
      AND next_try_at > clock_timestamp()
""")
_UNDER_OTHERS = Sql(
    "SELECT name, url, key_id FROM alert_channel WHERE key_id IS DISTINCT FROM :key ORDER BY name FOR UPDATE"
)
_RESEAL = Sql("UPDATE alert_channel SET url = :data, key_id = :key_id WHERE name = :name")


# There are few: all are read by their names, and so is one.
@statement("""
    SELECT c.id, c.name, c.kind, c.shown_url, c.key_id, c.description, c.enabled, c.version, c.updated_at, c.updated_by,
           c.subject_template, c.text_template,
           ARRAY(SELECT g.name FROM alert_group_channel m JOIN alert_group g ON g.id = m.group_id
                 WHERE m.channel_id = c.id ORDER BY g.name),
           (SELECT count(*) FROM (SELECT FROM alert_delivery d
                                  WHERE d.channel_id = c.id AND d.state = 'WAIT' LIMIT 10000) AS n),
           h.waits_since, h.last_error, h.next_try_at,
           (SELECT max(l.sent_at) FROM (SELECT d.sent_at FROM alert_delivery d
                                        WHERE d.channel_id = c.id AND d.sent_at IS NOT NULL
                                        ORDER BY d.sent_at DESC LIMIT 1) AS l)
    FROM alert_channel c
    LEFT JOIN LATERAL (
        SELECT d.waits_since, d.last_error, CASE WHEN d.tries > 0 THEN d.next_try_at END AS next_try_at
        FROM alert_delivery d
        WHERE d.channel_id = c.id AND d.state = 'WAIT' AND NOT d.is_test
        ORDER BY d.alert_id LIMIT 1
    ) AS h ON true
    WHERE CAST(:name AS text) IS NULL OR c.name = :name
    ORDER BY c.name
""")
async def all_channels(connection: AsyncConnection, name: str | None = None) -> list[Channel]:
    """All of them by name, or the one of this name."""


async def channel_named(connection: AsyncConnection, name: str) -> Channel:
    """One of them. Raises `NotFound`."""
    for found in await all_channels(connection, name):
        return found
    raise await not_found(connection, name)


async def hold(connection: AsyncConnection, name: str) -> Channel | None:
    """The channel, which nobody else changes until this transaction ends; None: there is none."""
    locked = (await connection.execute(_LOCK, {"name": name})).rowcount
    return await channel_named(connection, name) if locked else None


async def put(
    connection: AsyncConnection,
    name: str,
    url: str,
    vault: Vault,
    content: ChannelContent,
    by: str,
) -> None:
    """Save or replace a channel, which is tried at once. Raises `Refused` for an invalid name, URL or vault."""
    check_name(name, "a channel")
    parsed = parse_channel_url(url)
    seal = vault.seal(parsed.text, f"{CHANNEL_PURPOSE} {name}")
    values = {
        "name": name,
        "kind": parsed.kind,
        "url": seal.data,
        "key_id": seal.key_id,
        "shown": parsed.shown,
        **vars(content),
        "by": by,
    }
    await connection.execute(_PUT, values)
    await connection.execute(_TRY_NOW, {"name": name})
    await notify(connection, ALERT_CHANGED)


async def change(connection: AsyncConnection, held: Channel, content: ChannelContent, by: str) -> None:
    """Change a channel that is held, all but its URL."""
    await connection.execute(_CHANGE, {"id": held.id, **vars(content), "by": by})
    await connection.execute(_TRY_NOW, {"name": held.name})
    await notify(connection, ALERT_CHANGED)


@notifying(ALERT_CHANGED)
@statement("DELETE FROM alert_channel WHERE id = :held.id")
async def delete(connection: AsyncConnection, held: Channel) -> None:
    """Delete a channel that is held, with what it was sent."""


async def rotate(connection: AsyncConnection, vault: Vault) -> int:
    """Encrypt rows under other keys with the first key. Returns how many. Raises `Refused`, then nothing is changed."""
    return await reseal(connection, _UNDER_OTHERS, _RESEAL, CHANNEL_PURPOSE, vault)


async def not_found(connection: AsyncConnection, name: str) -> NotFound:
    """That there is no such channel, with the name that is near."""
    if "://" in name:  # it may contain a password
        return NotFound("there is no channel with a URL as its name; `shoal alert channels` lists those there are")
    known = await _names(connection)
    return NotFound(f'there is no channel "{name[:200]}"; {cure_of(name, known, "there is none yet")}')


@statement("SELECT name FROM alert_channel ORDER BY name")
async def _names(connection: AsyncConnection) -> list[str]: ...
