"""Which resources can be given, and which are to be checked: parts of the statements of claims and checks."""

from __future__ import annotations

FREE = "r.task_instance_id IS NULL AND r.set_aside_at IS NULL AND r.checking_by IS NULL AND NOT r.removed"
"""Of a row of `pool_resource r`: nobody holds it."""
SECONDS_MAX = 604_800
"""Whatever somebody wrote by hand: a number that no interval takes would end the statement, for all pools. Written out
in the parts below."""
EVERY = "make_interval(secs => least(greatest((p.validity_check ->> 'every_s')::numeric, 5), 604800)::float8)"
"""Of rows of `resource_pool p`: how old a check may be when the resource is given. Where each use is to be preceded by
a check, one that passed is good for 5 seconds."""
FRESH = """
    (p.validity_check IS NULL
     OR (r.checked_at <= clock_timestamp()
         AND (r.checked_at > clock_timestamp() - make_interval(
                  secs => least(greatest((p.validity_check ->> 'every_s')::numeric, 5), 604800)::float8)
              OR coalesce(r.checked_at >= together.since, false))
         AND ((p.validity_check ->> 'every_s')::numeric > 0
              OR r.checked_at >= r.free_since OR r.free_since > clock_timestamp())))"""
"""Of rows of `pool_resource r`, `resource_pool p` and `together`: it need not be checked before it is given. A time to
come was written before the clock was set back (docs/concepts/reliability.md): then nobody knows when it was checked,
or that it was given back after a check."""
CHECKS_AT_ONCE = 8
"""So many checks run at once on one worker. `TOGETHER` counts with it."""
CHECK_TIMEOUT_S = 10.0
"""The limit of a check that names none. `TOGETHER` counts with it."""
POOL, GROUP, HASH = "(l.pool_name || '')", "(l.worker_group || '')", "jsonb_hash_extended(l.needs, 0)"
"""Of rows of `pool_line l`: expressions that only the index pool_line_kind has, whatever the statistics say."""
KINDS = """
    kind (pool_name, worker_group, hash, needs, needed) AS (
        SELECT first.* FROM pool CROSS JOIN LATERAL (
            SELECT (l.pool_name || ''), (l.worker_group || ''), jsonb_hash_extended(l.needs, 0), l.needs, l.needed
            FROM pool_line l                                                                -- index: pool_line_kind
            WHERE (l.pool_name || '') = pool.name
            ORDER BY (l.pool_name || ''), (l.worker_group || ''), jsonb_hash_extended(l.needs, 0) LIMIT 1) AS first
        UNION ALL
        SELECT next.* FROM kind k CROSS JOIN LATERAL (
            SELECT (l.pool_name || ''), (l.worker_group || ''), jsonb_hash_extended(l.needs, 0), l.needs, l.needed
            FROM pool_line l
            WHERE (l.pool_name || '') = k.pool_name
              AND ((l.worker_group || ''), jsonb_hash_extended(l.needs, 0)) > (k.worker_group, k.hash)
            ORDER BY (l.pool_name || ''), (l.worker_group || ''), jsonb_hash_extended(l.needs, 0) LIMIT 1) AS next
    )"""
"""What waits in the lines of the pools in `pool (name)`, by kind: a kind is a worker group and what its attempts need.
Each kind takes one step of the index, however many wait: by expressions that only this index has, whatever the
statistics say. A part of a WITH RECURSIVE."""
OF_KIND = f"""
    {POOL} = k.pool_name AND ({GROUP}, {HASH}) >= (k.worker_group, k.hash)
    AND ({GROUP}, {HASH}) <= (k.worker_group, k.hash)"""
"""Whether a row of `pool_line l` is of the kind `k`."""
TOGETHER = f"""
    LEFT JOIN LATERAL (
        WITH RECURSIVE pool (name) AS (SELECT p.name WHERE p.validity_check IS NOT NULL), {KINDS}
        SELECT min(greatest(
                   CASE WHEN nth.free_since <= clock_timestamp() THEN nth.free_since END,
                   clock_timestamp() - make_interval(secs => least(
                       least(greatest((p.validity_check ->> 'every_s')::numeric, 5), 604800)::float8
                       + 2 * ceil(nth.place / 8.0)
                           * least(greatest(coalesce((p.validity_check ->> 'timeout_s')::numeric, 10.0), 0), 604800),
                       604800)::float8))) AS since
        FROM (SELECT DISTINCT needed FROM kind WHERE needed > 1) AS several
        JOIN (SELECT c.free_since, row_number() OVER (ORDER BY c.free_since) AS place
              FROM pool_resource c
              WHERE c.pool_code = p.code AND c.task_instance_id IS NULL AND c.set_aside_at IS NULL
                AND NOT c.removed) AS nth ON nth.place = several.needed
    ) AS together ON true"""
"""Joins to `resource_pool p` as `together` since when checks count for somebody who needs several at once: since the
last of so many was given back. A worker checks a few at a time, so without it what passed first would be too old when
the last has passed, for ever if checks are slow; all those that are older are checked together. The earliest of these
times counts, so that nobody waits for what another needs. Null if nobody who waits needs several, or there are not so
many. At most for twice as long as checking so many may take: then they are checked again, and are good together for as
long as that took, and more."""
LATE_S = 60
"""A check that takes this much longer than its timeout has been dropped by its worker: another checks."""
# Where each lease is preceded by a check, only while somebody waits; else all the while.
DUE = f"""
    p.validity_check IS NOT NULL AND r.task_instance_id IS NULL AND NOT r.removed AND r.set_aside_by IS NULL
    AND NOT coalesce(
        r.checking_by IS NOT NULL
        AND r.checking_since > clock_timestamp() - make_interval(
            secs => least(greatest((p.validity_check ->> 'timeout_s')::numeric, 0), 604800)::float8 + :late_s)
        AND r.checking_since <= clock_timestamp()
        AND EXISTS (SELECT FROM node n
                    WHERE n.id = r.checking_by AND n.kind = 'WORKER' AND n.state IN ('ALIVE', 'LEAVING')), false)
    AND CASE WHEN r.set_aside_at IS NOT NULL
             THEN r.checked_at IS NULL
                  OR r.checked_at NOT BETWEEN clock_timestamp() - make_interval(
                         secs => least(greatest((p.validity_check ->> 'every_s')::numeric, 5), 604800)::float8)
                     AND clock_timestamp()
             ELSE NOT coalesce({FRESH}, false)
                  AND (coalesce((p.validity_check ->> 'every_s')::numeric > 0, false)
                       OR (SELECT l.pool_name FROM pool_line l WHERE l.pool_name = p.name    -- index: pool_line_pkey
                           ORDER BY l.pool_name, l.workflow_priority LIMIT 1) IS NOT NULL) END"""
"""Of rows of `pool_resource r` and `resource_pool p`: it is to be checked. Takes `:late_s`."""
