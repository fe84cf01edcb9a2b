"""`log_store` and `log_copying`: the marks of log stores, who cleans one up, and how far workers are with copies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import Epoch


@dataclass(frozen=True, slots=True)
class StoreRow:
    """A log store: `mark` is what it says whose it is; `is_marked`: it has been put there once."""

    mark: str
    is_marked: bool


@dataclass(frozen=True, slots=True)
class Step:
    """The step of a walk through a store that is this worker's: after which key it goes on, and which days are over."""

    after: str
    newest_day: str


@dataclass(frozen=True, slots=True)
class Copying:
    """How far a worker is: how many logs only it has, and since when and why none can be copied."""

    worker: Epoch
    name: str
    waiting: int
    failing_since: datetime | None
    reason: str | None


_ENTER = Sql("INSERT INTO log_store (place) VALUES (:place) ON CONFLICT (place) DO NOTHING")
_ROW = Sql("SELECT mark::text, marked_at IS NOT NULL FROM log_store WHERE place = :place")


async def enter(connection: FencedTransaction, place: str) -> StoreRow:
    """The row of a store, made with a new mark if it has none."""
    await connection.execute(_ENTER, {"place": place})
    return StoreRow(*(await connection.execute(_ROW, {"place": place})).one())


@statement("""
    INSERT INTO log_store (place, mark, marked_at) VALUES (:place, CAST(:mark AS uuid), clock_timestamp())
    ON CONFLICT (place) DO UPDATE SET mark = EXCLUDED.mark, marked_at = EXCLUDED.marked_at
""")
async def enter_as(connection: FencedTransaction, place: str, mark: str) -> None: ...


@statement("SELECT EXISTS (SELECT FROM log_store WHERE mark::text = :mark)")
async def is_ours(connection: AsyncConnection, mark: str) -> bool:
    """Whether a mark is that of a store of this cluster, which other machines may reach under another name."""


# A holder that died is waited for as long as its step may take; between two steps the pause of who did the last. What
# is further away has the time of a clock that was set back since.
@statement("""
    UPDATE log_store SET walk_due_at = clock_timestamp() + make_interval(secs => :step_s),
                         walk_began = CASE WHEN walked_to = '' THEN clock_timestamp() ELSE walk_began END
    WHERE place = :place
      AND (walk_due_at <= clock_timestamp()
           OR CASE WHEN walked_to = '' THEN walk_began > clock_timestamp()
                   ELSE walk_due_at > clock_timestamp() + make_interval(secs => :step_s) END)
    RETURNING walked_to, to_char(clock_timestamp() - make_interval(days => :days), 'YYYYMMDD')
""")
async def take_step(connection: FencedTransaction, place: str, step_s: float, days: int) -> Step | None:
    """Take the next step of the walk through a store, for `step_s` seconds; None if it is not due or another's.

    `days`: how long ago a day is that the walk still checks.
    """


@statement("""
    UPDATE log_store SET walked_to = CAST(:walked_to AS text), walk_due_at = clock_timestamp() + CASE
        WHEN CAST(:walked_to AS text) <> '' THEN make_interval(secs => :pause_s)
        ELSE greatest(make_interval(secs => :round_s),
                      4 * (clock_timestamp() - coalesce(walk_began, clock_timestamp())))
    END
    WHERE place = :place
""")
async def step_done(
    connection: FencedTransaction, place: str, walked_to: str, *, pause_s: float, round_s: float
) -> None:
    """The walk has come so far; an empty text: to its end. The next step is due after `pause_s` seconds, the next walk
    after `round_s`, or four times as long as this one took."""


@statement("""
    INSERT INTO log_copying (node_id, waiting, failing_since, reason)
    VALUES (:worker, :waiting, CASE WHEN CAST(:reason AS text) IS NOT NULL THEN clock_timestamp() END, :reason)
    ON CONFLICT (node_id) DO UPDATE SET waiting = EXCLUDED.waiting, reason = EXCLUDED.reason, at = clock_timestamp(),
        failing_since = CASE WHEN EXCLUDED.reason IS NOT NULL
                             THEN coalesce(log_copying.failing_since, EXCLUDED.failing_since) END
""")
async def say(connection: FencedTransaction, worker: Epoch, waiting: int, reason: str | None) -> None:
    """Write how far a worker is; it is gone with the row of that."""


@statement("SELECT place FROM log_store WHERE marked_at IS NOT NULL ORDER BY marked_at DESC")
async def places(connection: AsyncConnection) -> list[str]:
    """The stores into which workers have copied logs, the newest first."""


@statement("""
    SELECT c.node_id, n.name, c.waiting, c.failing_since, c.reason FROM log_copying c JOIN node n ON n.id = c.node_id
    WHERE CASE WHEN CAST(:worker AS bigint) IS NULL THEN n.state IN ('ALIVE', 'LEAVING') ELSE c.node_id = :worker END
    ORDER BY c.failing_since NULLS LAST, c.node_id
""")
async def copying(connection: AsyncConnection, worker: Epoch | None = None) -> list[Copying]:
    """How far the living workers are, those first that cannot copy; or one worker, whether it lives or not."""
