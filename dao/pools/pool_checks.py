"""The checks of resources: whose turn it is, who checks it, and what came of it.

Who checks a resource has it meanwhile: nobody gets it. A worker that dies at it does not keep it: another checks. What
fails is set aside until a later check passes; what a person has set aside is not checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dao.postgres.database import FencedTransaction
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import Epoch

SECONDS_MAX = 604_800
"""More counts as this, whatever somebody wrote by hand: a number that no interval takes would end the statement, for
all pools. The functions of `sql/schema.sql` have this number, and the next two."""
CHECKS_AT_ONCE = 8
"""So many checks run at once on one worker."""
CHECK_TIMEOUT_S = 10.0
"""The limit of a check that names none."""
LATE_S = 60
"""A check that takes this much longer than its timeout has been dropped by its worker: another checks."""

# One that began at another time is another check, of other data or in another way. By id, as all who lock several. A
# row that somebody has locked holds up no other: it comes later.
_RECORD = Sql("""
    WITH mine AS MATERIALIZED (
        SELECT n.* FROM unnest(CAST(:id AS bigint[]), CAST(:since AS timestamptz[]), CAST(:has_result AS boolean[]),
                               CAST(:why AS text[])) WITH ORDINALITY AS n (id, since, has_result, why, place)
        JOIN pool_resource r ON r.id = n.id AND r.checking_by = :worker AND r.checking_since = n.since
    ), held AS MATERIALIZED (
        SELECT r.id, n.has_result, n.why
        FROM mine n JOIN pool_resource r ON r.id = n.id AND r.checking_by = :worker AND r.checking_since = n.since
        ORDER BY r.id FOR UPDATE OF r SKIP LOCKED
    ), checked AS (
        UPDATE pool_resource r
        SET checked_at = CASE WHEN n.has_result THEN clock_timestamp() ELSE r.checked_at END,
            checking_by = NULL, checking_since = NULL,
            set_aside_at = CASE WHEN NOT n.has_result OR r.set_aside_by IS NOT NULL THEN r.set_aside_at
                                WHEN n.why IS NOT NULL THEN coalesce(r.set_aside_at, clock_timestamp()) END,
            set_aside_why = CASE WHEN NOT n.has_result OR r.set_aside_by IS NOT NULL THEN r.set_aside_why
                                 ELSE n.why END,
            found_why = CASE WHEN NOT n.has_result THEN r.found_why WHEN r.set_aside_by IS NOT NULL THEN n.why END
        FROM held n
        WHERE r.id = n.id
        RETURNING r.pool_code
    )
    SELECT wake_pool_line(ARRAY(SELECT name FROM resource_pool WHERE code IN (SELECT pool_code FROM checked))),
           ARRAY(SELECT place FROM mine WHERE id NOT IN (SELECT id FROM held)) AS locked
""")
_CHECKED = RowArrays(_RECORD)
_DELETE_REMOVED = Sql("""
    DELETE FROM pool_resource
    WHERE id = ANY(ARRAY(SELECT id FROM pool_resource WHERE id = ANY(CAST(:ids AS bigint[])) AND removed
                           AND task_instance_id IS NULL AND checking_by IS NULL
                         ORDER BY id FOR UPDATE SKIP LOCKED))
""")


@dataclass(frozen=True, slots=True)
class DueCheck:
    """A resource that this worker checks now, `since` when, and how: `how` is what the pool says, and may be
    anything."""

    id: int
    since: datetime
    pool: str
    name: str
    data: Mapping[str, Any]
    how: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of the check of a resource that began at `since`: why it failed, None if it passed; `has_result` is
    false if there was none."""

    id: int
    since: datetime
    why: str | None
    has_result: bool = True


@statement("""
    WITH due AS (
        SELECT d.id FROM checks_due(:LATE_S) AS d ORDER BY d.checked_at NULLS FIRST, d.id LIMIT :limit
    ), held AS (
        SELECT r.id FROM pool_resource r JOIN resource_pool p ON p.code = r.pool_code
        LEFT JOIN LATERAL checks_count_since(p) AS together ON true
        WHERE r.id = ANY(ARRAY(SELECT id FROM due))
          AND p.validity_check IS NOT NULL AND r.task_instance_id IS NULL AND NOT r.removed AND r.set_aside_by IS NULL
          AND NOT coalesce(
              r.checking_by IS NOT NULL
              AND r.checking_since > clock_timestamp() - make_interval(
                  secs => least(greatest((p.validity_check ->> 'timeout_s')::numeric, 0), 604800)::float8 + :LATE_S)
              AND r.checking_since <= clock_timestamp()
              AND EXISTS (SELECT FROM node n
                          WHERE n.id = r.checking_by AND n.kind = 'WORKER' AND n.state IN ('ALIVE', 'LEAVING')), false)
          AND CASE WHEN r.set_aside_at IS NOT NULL
                   THEN r.checked_at IS NULL
                        OR r.checked_at NOT BETWEEN clock_timestamp() - make_interval(
                               secs => least(greatest((p.validity_check ->> 'every_s')::numeric, 5), 604800)::float8)
                           AND clock_timestamp()
                   ELSE check_counts(p.validity_check, r.checked_at, r.free_since, together.since) IS NOT TRUE
                        AND (coalesce((p.validity_check ->> 'every_s')::numeric > 0, false)
                             OR (SELECT l.pool_name FROM pool_line l WHERE l.pool_name = p.name -- index: pool_line_pkey
                                 ORDER BY l.pool_name, l.workflow_priority LIMIT 1) IS NOT NULL) END
        FOR UPDATE OF r SKIP LOCKED
    )
    UPDATE pool_resource r SET checking_by = :worker, checking_since = clock_timestamp()
    FROM held, resource_pool p
    WHERE r.id = held.id AND p.code = r.pool_code
    RETURNING r.id, r.checking_since, p.name, r.name, r.data, p.validity_check
""")
async def take(connection: FencedTransaction, limit: int, worker: Epoch) -> list[DueCheck]:
    """Begin up to `limit` checks that are due: those that are overdue most first."""


@statement("""
    WITH mine AS MATERIALIZED (
        SELECT r.id FROM resource_pool p JOIN pool_resource r ON r.pool_code = p.code      -- index: pool_resource_name
        WHERE p.validity_check IS NOT NULL AND r.checking_by = :worker
          AND NOT EXISTS (SELECT FROM unnest(CAST(:running.0 AS bigint[]), CAST(:running.1 AS timestamptz[]))
                               AS n (id, since)
                          WHERE n.id = r.id AND n.since = r.checking_since)
    ), given AS (
        UPDATE pool_resource SET checking_by = NULL, checking_since = NULL
        WHERE id = ANY(ARRAY(SELECT r.id FROM pool_resource r
                             WHERE r.id = ANY(ARRAY(SELECT id FROM mine)) AND r.checking_by = :worker
                             ORDER BY r.id FOR UPDATE OF r SKIP LOCKED))
        RETURNING id
    )
    SELECT (SELECT count(*) FROM given) = (SELECT count(*) FROM mine) AS all_given
""")
async def give_back(connection: FencedTransaction, running: Sequence[tuple[int, datetime]], worker: Epoch) -> bool:
    """Have all checks that are this worker's by their rows be due again, except those of these resources that began
    then. False if somebody has locked the rows of some: they are left."""


async def record(connection: FencedTransaction, checked: Sequence[Checked], worker: Epoch) -> list[Checked]:
    """Write what came of checks, and wake the tasks that wait for these pools. What has changed since is left as it is.
    Returns those of resources whose rows somebody has locked: nothing is written of them."""
    found = (await connection.execute(_RECORD, {**_CHECKED.values(checked), "worker": worker})).one()
    await connection.execute(_DELETE_REMOVED, {"ids": [each.id for each in checked]})
    return [checked[place - 1] for place in found.locked]
