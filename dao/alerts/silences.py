"""`alert_silence`: times in which alerts that match are kept and not sent, as people write them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from dao.alerts.rows import Silence
from dao.postgres.notify import ALERT_CHANGED
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import missing, notifying, statement


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


@notifying(ALERT_CHANGED)
@statement("""
    INSERT INTO alert_silence (starts_at, ends_at, project, workflow, kind, reason, created_by)
    SELECT s.starts_at, coalesce(:new.ends_at, s.starts_at + make_interval(secs => :new.lasts_s)),
           :new.project, :new.workflow, :new.kind, :new.reason, :by
    FROM (SELECT coalesce(CAST(:new.starts_at AS timestamptz), clock_timestamp()) AS starts_at) s
    RETURNING id, starts_at, ends_at, project, workflow, kind, reason, created_at, created_by
""")
async def insert(connection: AsyncConnection, new: NewSilence, by: str) -> Silence: ...


# One that has not begun ends before it begins: it is deleted instead.
@notifying(ALERT_CHANGED)
@statement("""
    WITH future AS (DELETE FROM alert_silence WHERE id = :silence.id AND starts_at >= clock_timestamp())
    UPDATE alert_silence SET ends_at = clock_timestamp()
    WHERE id = :silence.id AND starts_at < clock_timestamp() AND ends_at > clock_timestamp()
""")
async def end(connection: AsyncConnection, silence: Silence) -> None:
    """End it now. What it has silenced stays so."""
