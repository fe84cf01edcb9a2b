"""Which resources can be given, and which are to be checked: parts of the statements of claims and checks."""

from __future__ import annotations

FREE = "r.task_instance_id IS NULL AND r.set_aside_at IS NULL AND r.checking_by IS NULL AND NOT r.removed"
"""Of a row of `pool_resource r`: nobody holds it."""
EVERY_S_MIN = 5
"""Where each use is to be preceded by a check, one that passed is good for so long."""
SECONDS_MAX = 604_800
"""Whatever somebody wrote by hand: a number that no interval takes would end the statement, for all pools."""
_EVERY_S = f"least(greatest((p.validity_check ->> 'every_s')::numeric, {EVERY_S_MIN}), {SECONDS_MAX})::float8"
_EVERY = f"make_interval(secs => {_EVERY_S})"
_IS_REPEATED = "(p.validity_check ->> 'every_s')::numeric > 0"
_TIMEOUT_S = f"least(greatest((p.validity_check ->> 'timeout_s')::numeric, 0), {SECONDS_MAX})::float8"
FRESH = f"""
    (p.validity_check IS NULL
     OR (r.checked_at > clock_timestamp() - {_EVERY} AND ({_IS_REPEATED} OR r.checked_at >= r.free_since)))"""
"""Of rows of `pool_resource r` and `resource_pool p`: it need not be checked before it is given."""
LATE_S = 60
"""A check that takes this much longer than its timeout has been dropped by its worker: another checks."""

_CHECKS_NOW = f"""
    r.checking_by IS NOT NULL
    AND r.checking_since > clock_timestamp() - make_interval(secs => {_TIMEOUT_S} + :late_s)
    AND EXISTS (SELECT FROM node n
                WHERE n.id = r.checking_by AND n.kind = 'WORKER' AND n.state IN ('ALIVE', 'LEAVING'))"""
# Where each lease is preceded by a check, only while somebody waits; else all the while.
DUE = f"""
    p.validity_check IS NOT NULL AND r.task_instance_id IS NULL AND NOT r.removed AND r.set_aside_by IS NULL
    AND NOT coalesce({_CHECKS_NOW}, false)
    AND CASE WHEN r.set_aside_at IS NOT NULL
             THEN r.checked_at IS NULL
                  OR r.checked_at < clock_timestamp() - {_EVERY}
             ELSE NOT coalesce({FRESH}, false)
                  AND (coalesce({_IS_REPEATED}, false)
                       OR (SELECT l.pool_name FROM pool_line l WHERE l.pool_name = p.name    -- index: pool_line_pkey
                           ORDER BY l.pool_name, l.workflow_priority LIMIT 1) IS NOT NULL) END"""  # noqa: S608 - constants
"""Of rows of `pool_resource r` and `resource_pool p`: it is to be checked. Takes `:late_s`."""
POOLS_IN_LINE = """
    WITH RECURSIVE line (name) AS (
        (SELECT l.pool_name FROM pool_line l ORDER BY l.pool_name, l.workflow_priority LIMIT 1)
        UNION ALL
        SELECT (SELECT l.pool_name FROM pool_line l WHERE l.pool_name > line.name           -- index: pool_line_pkey
                ORDER BY l.pool_name, l.workflow_priority LIMIT 1)
        FROM line WHERE line.name IS NOT NULL
    )"""
"""As `line`, the pools for which anything waits, and a null: a step of an index each, however many wait. In the order
of two columns, which only the primary key has, whatever the statistics say."""
