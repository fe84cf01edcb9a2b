"""Which runs a page of a list shows: their ids, found by indexes, however few of how many fit.

The runs are in ranges: of one workflow (if the filter limits that), children or not, in one state. An index has each
range in the order of its ids, so the newest of all wanted ranges are merged, and what does not fit is not read. What
started too early or too late is not read either: an index has the starts of each block of ids, so the oldest block that
contains a late enough start, and the newest with an early enough one, are found without reading the others: first among
wide blocks, of which a long history has few, then within one. That is right for starts in any order, and quick for
starts that grow with the ids, as they do unless somebody writes them by hand.

Each range costs a search in an index or two. If they are more than `RANGES_MAX`, since so many workflows may be seen,
the newest runs of all in the wanted states are read first, up to a bound; if all states are wanted, of fewer ranges
too, since the newest runs lie together. The ranges are read only if these do not fill the page and are not all.

The indexes are of expressions that no other statement has, and `-id` is an order that no other index has: with `ORDER
BY id` the planner might walk the primary key, and read the whole history for a rare state.
"""

from __future__ import annotations

import re
from typing import Any

from dao.postgres.sql import Sql
from dao.run_lists.wanted_runs import WantedRuns
from model.runs.states import WorkflowState

RANGES_MAX = 500
"""Of more ranges than these the newest runs of all are read first; of a fifth as many, if all states are wanted."""
WALK_MAX = 4_000
"""So many of the newest runs of all are read at least before the ranges are."""
EACH_MIN = 20
"""So many candidates at least are read of each range."""
_ID_MAX = 2**63 - 1


_IS_OF_WORKFLOWS = """(CAST(:workflow AS text) IS NULL OR name = :workflow)
      AND (CAST(:project AS text) IS NULL OR project = :project)
      AND (CAST(:visible AS text[]) IS NULL OR project = ANY(CAST(:visible AS text[])))"""
_WORKFLOWS = f"SELECT code FROM workflow_definition WHERE {_IS_OF_WORKFLOWS}"
_ANY = "SELECT id FROM workflow_instance WHERE id < CAST(:before AS bigint) ORDER BY id DESC LIMIT :page"
_BLOCK, _WIDE = 4096, 65536
_OF_WIDE = _WIDE // _BLOCK
_FOLLOWING = """
        SELECT following.number, EXISTS (
            SELECT FROM workflow_instance i                                     -- index: {index}
            WHERE i.id / {size} = following.number AND i.started_at >= :since)
        FROM {name} CROSS JOIN LATERAL (
            SELECT i.id / {size} AS number FROM workflow_instance i             -- index: {index}
            WHERE i.id / {size} > {name}.number ORDER BY i.id / {size}, i.started_at LIMIT 1) AS following
        WHERE NOT {name}.is_wanted"""
_PREVIOUS = """
        SELECT previous.number, EXISTS (
            SELECT FROM workflow_instance i                                     -- index: {index}
            WHERE i.id / {size} = previous.number AND i.started_at < :until)
        FROM {name} CROSS JOIN LATERAL (
            SELECT i.id / {size} AS number FROM workflow_instance i             -- index: {index}
            WHERE i.id / {size} < {name}.number ORDER BY i.id / {size} DESC, i.started_at DESC LIMIT 1) AS previous
        WHERE NOT {name}.is_wanted"""
_FINE = {"index": "workflow_instance_started", "size": _BLOCK}
_COARSE = {"index": "workflow_instance_started_wide", "size": _WIDE}
# First among the wide blocks, then among the blocks from the beginning of the wide one on.
_OLDEST = f"""
    wide AS (
        SELECT CAST(-1 AS bigint) AS number, false AS is_wanted
        UNION ALL{_FOLLOWING.format(name="wide", **_COARSE)}
    ), block AS (
        SELECT number * {_OF_WIDE} - 1 AS number, false AS is_wanted FROM wide WHERE is_wanted
        UNION ALL{_FOLLOWING.format(name="block", **_FINE)}
    ), oldest AS MATERIALIZED (SELECT number * {_BLOCK} AS id FROM block WHERE is_wanted)
"""
# The same from the newest block on; without any block there is no id, and nothing is found.
_NEWEST = f"""
    wide_late AS (
        SELECT CAST(:before AS bigint) / {_WIDE} + 1 AS number, false AS is_wanted
        UNION ALL{_PREVIOUS.format(name="wide_late", **_COARSE)}
    ), late AS (
        SELECT least(CAST(:before AS bigint) / {_BLOCK} + 1, (number + 1) * {_OF_WIDE}) AS number, false AS is_wanted
        FROM wide_late WHERE is_wanted
        UNION ALL{_PREVIOUS.format(name="late", **_FINE)}
    ), newest_block AS MATERIALIZED (
        SELECT least(CAST(:before AS bigint), (number + 1) * {_BLOCK}) AS id FROM late WHERE is_wanted
    ), {{oldest}}
"""
_BEFORE, _BEFORE_LATE = "CAST(:before AS bigint)", "(SELECT id FROM newest_block)"
_WITHOUT_OLDEST = "oldest AS MATERIALIZED (SELECT CAST(0 AS bigint) AS id)"
# The workflow of a run is found by a scalar subquery, which stays one: a join might read all workflows first.
_IS_WANTED = f"""i.state = ANY(CAST(:states AS text[]))
          AND (i.parent_instance_id IS NULL) = ANY(CAST(:tops AS boolean[])) {{started}}
          AND ((CAST(:workflow AS text) IS NULL AND CAST(:project AS text) IS NULL AND CAST(:visible AS text[]) IS NULL)
               OR (SELECT {_IS_OF_WORKFLOWS} FROM workflow_definition WHERE code = i.workflow_code))"""
_WALKED = f"""
    many AS MATERIALIZED (
        SELECT count(*) > :workflows_max AS are FROM ({_WORKFLOWS} LIMIT CAST(:workflows_max AS bigint) + 1) AS first
    ), walked AS MATERIALIZED (
        SELECT i.id FROM ({{source}}) AS i WHERE {_IS_WANTED} ORDER BY i.id DESC LIMIT :page
    ), last_walked AS MATERIALIZED (
        SELECT i.id FROM ({{source}}) AS i ORDER BY i.id DESC OFFSET :walk - 1 LIMIT 1
    ), workflow AS MATERIALIZED (
        {_WORKFLOWS} AND CASE WHEN NOT (SELECT are FROM many) THEN true
                              WHEN (SELECT count(*) FROM walked) = :page THEN false
                              ELSE coalesce((SELECT id FROM last_walked) > (SELECT id FROM oldest), false) END
    ),
"""
_NEWEST_OF_ALL = """
    SELECT id, workflow_code, state, parent_instance_id, started_at
    FROM workflow_instance                                                      -- index: workflow_instance_pkey
    WHERE id < {before} AND (SELECT are FROM many) ORDER BY id DESC LIMIT :walk"""
# Of a rare state these are all, however long ago they were, and no workflow is searched for.
_NEWEST_OF_STATES = """
    SELECT own.* FROM oldest CROSS JOIN {ranges} CROSS JOIN LATERAL (
        SELECT i.id, i.workflow_code, i.state, i.parent_instance_id, i.started_at
        FROM workflow_instance i                                                -- index: {index}
        WHERE {is_in_range} AND -i.id > -{before} AND -i.id <= -oldest.id {started}
        ORDER BY -i.id LIMIT :walk) AS own
    WHERE (SELECT are FROM many) ORDER BY own.id DESC LIMIT :walk"""
# The newest of each range; then, of each that has one, its share of a page and a few more. If these fill a page, the
# ranges are read on down to the last of them only.
_OF_RANGES = """
    WITH RECURSIVE {oldest}, {walked} head AS MATERIALIZED (
        SELECT {names}, newest.id
        FROM oldest CROSS JOIN {ranges} CROSS JOIN LATERAL (
            SELECT i.id FROM workflow_instance i                                -- index: {index}
            WHERE {is_in_range} AND -i.id > -{before} AND -i.id <= -oldest.id {started}
            ORDER BY -i.id LIMIT 1) AS newest
        ORDER BY newest.id DESC LIMIT :page
    ), share AS MATERIALIZED (
        SELECT least(:page, :page / greatest(1, count(*)) + 2) AS size FROM head
    ), first AS MATERIALIZED (
        SELECT {names}, own.id FROM oldest CROSS JOIN head CROSS JOIN LATERAL (
            SELECT i.id FROM workflow_instance i                                -- index: {index}
            WHERE {is_in_range} AND -i.id >= -head.id AND -i.id <= -oldest.id {started}
            ORDER BY -i.id LIMIT (SELECT size FROM share)) AS own
    ), range AS MATERIALIZED (
        SELECT {names}, min(id) AS id, (
            SELECT coalesce((SELECT id FROM first ORDER BY id DESC OFFSET :page - 1 LIMIT 1), oldest.id) FROM oldest
        ) AS down_to FROM first GROUP BY {names} HAVING count(*) = (SELECT size FROM share)
    )
    SELECT id FROM first UNION ALL
    SELECT found.id FROM range CROSS JOIN LATERAL (
        SELECT i.id FROM workflow_instance i                                    -- index: {index}
        WHERE {is_in_range} AND -i.id > -range.id AND -i.id <= -range.down_to {started}
        ORDER BY -i.id LIMIT :page - (SELECT size FROM share)) AS found
    {or_walked} ORDER BY id DESC LIMIT :page
"""
# As many as there are, whichever these are: each range is read until there are enough.
_SOME_OF_RANGES = """
    WITH RECURSIVE {oldest}, {walked} range AS (SELECT {names}, oldest.id AS down_to FROM oldest CROSS JOIN {ranges})
    SELECT id FROM (SELECT found.id FROM range CROSS JOIN LATERAL (
        SELECT i.id FROM workflow_instance i                                    -- index: {index}
        WHERE {is_in_range} AND -i.id > -{before} AND -i.id <= -range.down_to {started}
        ORDER BY -i.id LIMIT :page) AS found LIMIT :page) AS some_found
    {or_walked} LIMIT :page
"""
# Each range down to so many runs; those that are older than the last of a range that has more may not be all.
_CANDIDATES = """
    WITH RECURSIVE {oldest}, workflow AS MATERIALIZED (
        {workflows} LIMIT CAST(:workflows_max AS bigint) + 1
    ), size AS MATERIALIZED (
        SELECT is_many, CASE WHEN is_many THEN :page ELSE greatest(:each_min, :page / greatest(1, number)) END AS each
        FROM (SELECT count(*) AS number, count(*) > :workflows_max AS is_many FROM workflow) AS counted
    ), found AS MATERIALIZED (
        SELECT {names}, own.id FROM oldest CROSS JOIN {ranges} CROSS JOIN LATERAL (
            SELECT i.id FROM workflow_instance i                                -- index: {index}
            WHERE {is_in_range} AND -i.id > -{before} AND -i.id <= -oldest.id {started}
            ORDER BY -i.id LIMIT (SELECT each FROM size)) AS own
        WHERE NOT (SELECT is_many FROM size)
        UNION ALL
        SELECT 0, {of_states[names]}, own.id FROM oldest CROSS JOIN {of_states[ranges]} CROSS JOIN LATERAL (
            SELECT i.id FROM workflow_instance i                                -- index: {of_states[index]}
            WHERE {of_states[is_in_range]} AND -i.id > -{before} AND -i.id <= -oldest.id {started}
            ORDER BY -i.id LIMIT (SELECT each FROM size)) AS own
        WHERE (SELECT is_many FROM size)
    ), cut AS MATERIALIZED (
        SELECT max(lowest) AS id FROM (
            SELECT min(id) AS lowest FROM found GROUP BY {names}
            HAVING count(*) = (SELECT each FROM size)) AS full_range
    )
    SELECT found.id, cut.id IS NOT NULL AS is_cut FROM found CROSS JOIN cut WHERE found.id >= coalesce(cut.id, 0)
"""
_OF_STATES = {
    "walked": "",
    "or_walked": "",
    "index": "workflow_instance_by_state",
    "names": "is_top, in_state",
    "ranges": "unnest(CAST(:tops AS boolean[])) AS is_top CROSS JOIN unnest(CAST(:states AS text[])) AS in_state",
    "is_in_range": "(i.parent_instance_id IS NULL) = is_top AND i.state = in_state",
}
_OF_WORKFLOWS = {
    "walked": _WALKED,
    "or_walked": "UNION SELECT id FROM walked",
    "index": "workflow_instance_by_workflow",
    "names": f"code, {_OF_STATES['names']}",
    "ranges": f"workflow CROSS JOIN {_OF_STATES['ranges']}",
    "is_in_range": """i.workflow_code = code AND (i.parent_instance_id IS NOT NULL) = (NOT is_top)
              AND i.state = in_state""",
}


def newest_ids(wanted: WantedRuns) -> tuple[str, dict[str, Any]]:
    """A statement for the ids of the newest runs that are wanted, and its values; its limit is `page`."""
    return _ids(wanted, _OF_RANGES)


def counted(wanted: WantedRuns) -> Sql:
    """A statement that counts the runs that are wanted, up to `limit`; it reads little more than it counts."""
    ids, values = _ids(wanted, _SOME_OF_RANGES)
    return Sql(f"SELECT count(*) FROM ({ids}) AS counted", values)


def candidates(wanted: WantedRuns) -> tuple[str, dict[str, Any]]:
    """A statement for the newest runs that are wanted, about `wanted.limit`, and its values.

    It finds ids, and whether older ones may be wanted too (`is_cut`). If they are of many workflows they are not all
    wanted: check `plain_condition`. Each range is read as far as needed for this only, however unlike they are.
    """
    if not wanted.is_of_workflows:
        ids, values = newest_ids(wanted)
        return f"SELECT id, count(*) OVER () = :page AS is_cut FROM ({ids}) AS newest", values
    statement = _with_parts(wanted, _CANDIDATES)
    return statement, _values(wanted, statement)


def plain_condition(wanted: WantedRuns) -> tuple[str, dict[str, Any]]:
    """What is wanted of one row of `workflow_instance`, called `i`, and the values, `before` and `page` among them."""
    condition = _IS_WANTED.format(started=_started(wanted))
    return condition, _values(wanted, condition) | {"before": _before(wanted), "page": wanted.limit}


def _started(wanted: WantedRuns) -> str:
    since = "" if wanted.since is None else "AND i.started_at >= :since"
    return since if wanted.until is None else f"{since} AND i.started_at < :until"


def _before(wanted: WantedRuns) -> int:
    return _ID_MAX if wanted.before is None else wanted.before


def _ids(wanted: WantedRuns, of_ranges: str) -> tuple[str, dict[str, Any]]:
    ids = _ANY if wanted.is_any else _with_parts(wanted, of_ranges)
    return ids, _values(wanted, ids)


def _with_parts(wanted: WantedRuns, statement: str) -> str:
    parts = dict(_OF_WORKFLOWS if wanted.is_of_workflows else _OF_STATES)
    started, before = _started(wanted), _BEFORE if wanted.until is None else _BEFORE_LATE
    source = _NEWEST_OF_STATES if wanted.states else _NEWEST_OF_ALL
    source = source.format(**_OF_STATES, started=started, before=before)
    parts["walked"] = parts["walked"].format(source=source, started=started)
    oldest = _WITHOUT_OLDEST if wanted.since is None else _OLDEST
    oldest = oldest if wanted.until is None else _NEWEST.format(oldest=oldest)
    more = {"oldest": oldest, "started": started, "before": before, "workflows": _WORKFLOWS, "of_states": _OF_STATES}
    return statement.format(**parts, **more)


def _values(wanted: WantedRuns, statement: str) -> dict[str, Any]:
    """The values of those parameters that the statement has."""
    states = [state.value for state in dict.fromkeys(wanted.states or WorkflowState)]
    ranges_max = RANGES_MAX if wanted.states else RANGES_MAX // 5
    values = {
        "page": wanted.limit,
        "states": states,
        "tops": wanted.tops,
        "before": _before(wanted),
        "workflow": wanted.workflow,
        "project": wanted.project,
        "visible": None if wanted.visible is None else list(wanted.visible),
        "since": wanted.since,
        "until": wanted.until,
        "workflows_max": ranges_max // (len(states) * len(wanted.tops)),
        "walk": max(WALK_MAX, 2 * wanted.limit),
        "each_min": EACH_MIN,
    }
    return {name: value for name, value in values.items() if re.search(f":{name}\\b", statement)}
