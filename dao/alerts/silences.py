"""`alert_silence`: times in which alerts that match are kept and not sent, as people write them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from dao.alerts.rows import Silence
from dao.postgres.notify import ALERT_CHANGED, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import missing, statement


@dataclass(frozen=True)
class NewSilence:
    """From now on if `starts_at` is None, until `ends_at` or for `lasts_s` seconds."""

    starts_at: datetime | None
    ends_at: datetime | None
    lasts_s: float | None
    project: str | None
    workflow: str | None
    kind: str | None
    reason: str


_INSERT = Sql("""
    INSERT INTO alert_silence (starts_at, ends_at, project, workflow, kind, reason, created_by)
    SELECT s.starts_at, coalesce(:ends_at, s.starts_at + make_interval(secs => :lasts_s)), :project, :workflow, :kind,
           :reason, :by
    FROM (SELECT coalesce(CAST(:starts_at AS timestamptz), clock_timestamp()) AS starts_at) s
    RETURNING id, starts_at, ends_at, project, workflow, kind, reason, created_at, created_by
""")
# One that has not begun ends before it begins: it is deleted instead.
_END = Sql("""
    WITH future AS (DELETE FROM alert_silence WHERE id = :id AND starts_at >= clock_timestamp())
    UPDATE alert_silence SET ends_at = clock_timestamp()
    WHERE id = :id AND starts_at < clock_timestamp() AND ends_at > clock_timestamp()
""")


# All that are not over, and of the others the newest; a long list of old ones is of no use to anybody.
@statement("""
    SELECT id, starts_at, ends_at, project, workflow, kind, reason, created_at, created_by FROM alert_silence
    WHERE (CAST(:visible AS text[]) IS NULL OR project IS NULL OR project = ANY(CAST(:visible AS text[])))
      AND (:has_past OR ends_at > clock_timestamp())
    ORDER BY id DESC LIMIT :limit
""")
async def some(
    connection: AsyncConnection, visible: Collection[str] | None, limit: int, *, has_past: bool
) -> list[Silence]:
    """Up to `limit` silences, newest first: those of these projects (None = all) and of the whole cluster."""


@missing("there is no silence {id_}; `shoal alert silence list` lists those there are")
@statement("""
    SELECT id, starts_at, ends_at, project, workflow, kind, reason, created_at, created_by
    FROM alert_silence WHERE id = :id_
""")
async def find(connection: AsyncConnection, id_: int) -> Silence:
    """One of them. Raises `NotFound`."""


async def insert(connection: AsyncConnection, new: NewSilence, by: str) -> Silence:
    await notify(connection, ALERT_CHANGED)
    return Silence(*(await connection.execute(_INSERT, {**vars(new), "by": by})).one())


async def end(connection: AsyncConnection, silence: Silence) -> None:
    """End it now. What it has silenced stays so."""
    await connection.execute(_END, {"id": silence.id})
    await notify(connection, ALERT_CHANGED)
