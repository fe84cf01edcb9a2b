"""Which runs a page of a list shows: their ids, found by indexes, however few of how many fit.

The runs are in ranges: of one workflow (if the filter limits that), children or not, in one state. An index has each
range in the order of its ids, so the newest of all wanted ranges are merged, and what does not fit is not read. What
started too early is not read either: an index has the starts of each block of ids, so the oldest block that contains a
late enough start is found without reading the others. That is right for starts in any order, and quick for starts that
grow with the ids, as they do unless somebody writes them by hand.

Each range costs a search in an index or two. If they are more than `RANGES_MAX`, since so many workflows may be seen,
the newest runs of all are read first, up to a bound. The ranges are read only if these do not fill the page.

The indexes are of expressions that no other statement has, and `-id` is an order that no other index has: with `ORDER
BY id` the planner might walk the primary key, and read the whole history for a rare state.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import TextClause, text

from model.states import WorkflowState

RANGES_MAX = 500
"""Of more ranges than these the newest runs of all are read first."""
WALK_MAX = 4_000
"""So many of the newest runs of all are read at least before the ranges are."""
_ID_MAX = 2**63 - 1


@dataclass(frozen=True)
class WantedRuns:
    """The filter of a list and where its page begins; see `listings.runs`."""

    limit: int
    states: Sequence[WorkflowState] = ()
    workflow: str | None = None
    project: str | None = None
    since: datetime | None = None
    before: int | None = None
    children: bool = True
    visible: Collection[str] | None = None

    @property
    def is_of_workflows(self) -> bool:
        """Whether it depends on the workflow of a run."""
        return (self.workflow, self.project, self.visible) != (None, None, None)

    @property
    def is_any(self) -> bool:
        """Whether all runs fit."""
        return self.children and not self.states and not self.is_of_workflows and self.since is None


_IS_OF_WORKFLOWS = """(CAST(:workflow AS text) IS NULL OR name = :workflow)
      AND (CAST(:project AS text) IS NULL OR project = :project)
      AND (CAST(:visible AS text[]) IS NULL OR project = ANY(CAST(:visible AS text[])))"""
_WORKFLOWS = f"SELECT code FROM workflow_definition WHERE {_IS_OF_WORKFLOWS}"  # noqa: S608
_ANY = "SELECT id FROM workflow_instance WHERE id < CAST(:before AS bigint) ORDER BY id DESC LIMIT :page"
_OLDEST = """
    block AS (
        SELECT CAST(-1 AS bigint) AS number, false AS is_wanted
        UNION ALL
        SELECT following.number, EXISTS (
            SELECT FROM workflow_instance i                                     -- index: workflow_instance_started
            WHERE i.id / 4096 = following.number AND i.started_at >= :since)
        FROM block CROSS JOIN LATERAL (
            SELECT i.id / 4096 AS number FROM workflow_instance i               -- index: workflow_instance_started
            WHERE i.id / 4096 > block.number ORDER BY i.id / 4096, i.started_at LIMIT 1) AS following
        WHERE NOT block.is_wanted
    ), oldest AS MATERIALIZED (SELECT number * 4096 AS id FROM block WHERE is_wanted)
"""
_WITHOUT_OLDEST = "oldest AS MATERIALIZED (SELECT CAST(0 AS bigint) AS id)"
# The workflow of a run is found by a scalar subquery, which stays one: a join might read all workflows first.
_WALKED = f"""
    many AS MATERIALIZED (
        SELECT count(*) > :workflows_max AS are FROM ({_WORKFLOWS} LIMIT CAST(:workflows_max AS bigint) + 1) AS first
    ), walked AS MATERIALIZED (
        SELECT i.id FROM (
            SELECT id, workflow_code, state, parent_instance_id, started_at
            FROM workflow_instance                                              -- index: workflow_instance_pkey
            WHERE id < CAST(:before AS bigint) AND (SELECT are FROM many) ORDER BY id DESC LIMIT :walk) AS i
        WHERE i.state = ANY(CAST(:states AS text[]))
          AND (i.parent_instance_id IS NULL) = ANY(CAST(:tops AS boolean[])) {{started}}
          AND (SELECT {_IS_OF_WORKFLOWS} FROM workflow_definition WHERE code = i.workflow_code)
        ORDER BY i.id DESC LIMIT :page
    ), workflow AS MATERIALIZED (
        {_WORKFLOWS} AND CASE WHEN NOT (SELECT are FROM many) THEN true
                              WHEN (SELECT count(*) FROM walked) = :page THEN false
                              ELSE (SELECT id FROM oldest) < (
            SELECT id FROM workflow_instance                                    -- index: workflow_instance_pkey
            WHERE id < CAST(:before AS bigint) ORDER BY id DESC OFFSET CAST(:walk AS bigint) - 1 LIMIT 1) END
    ),
"""  # noqa: S608
# First the newest of each range. Where those fill a page alone, it ends at the last of them at the latest.
_OF_RANGES = """
    WITH RECURSIVE {oldest}, {walked} head AS MATERIALIZED (
        SELECT {names}, newest.id
        FROM oldest CROSS JOIN {ranges} CROSS JOIN LATERAL (
            SELECT i.id FROM workflow_instance i                                -- index: {index}
            WHERE {is_in_range} AND -i.id > -CAST(:before AS bigint) AND -i.id <= -oldest.id {started}
            ORDER BY -i.id LIMIT 1) AS newest
        ORDER BY newest.id DESC LIMIT :page
    ), range AS (
        SELECT *, CASE WHEN count(*) OVER () = :page THEN min(id) OVER () ELSE (SELECT id FROM oldest) END AS down_to
        FROM head
    )
    SELECT found.id FROM range CROSS JOIN LATERAL (
        SELECT i.id FROM workflow_instance i                                    -- index: {index}
        WHERE {is_in_range} AND -i.id >= -range.id AND -i.id <= -range.down_to {started}
        ORDER BY -i.id LIMIT :page) AS found
    {or_walked} ORDER BY id DESC LIMIT :page
"""
# As many as there are, whichever these are: each range is read until there are enough.
_SOME_OF_RANGES = """
    WITH RECURSIVE {oldest}, {walked} range AS (SELECT {names}, oldest.id AS down_to FROM oldest CROSS JOIN {ranges})
    SELECT id FROM (SELECT found.id FROM range CROSS JOIN LATERAL (
        SELECT i.id FROM workflow_instance i                                    -- index: {index}
        WHERE {is_in_range} AND -i.id > -CAST(:before AS bigint) AND -i.id <= -range.down_to {started}
        ORDER BY -i.id LIMIT :page) AS found LIMIT :page) AS some_found
    {or_walked} LIMIT :page
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


def newest(wanted: WantedRuns) -> TextClause:
    """A condition on `workflow_instance`: the newest runs that are wanted."""
    ids, values = _ids(wanted, _OF_RANGES)
    return text(f"workflow_instance.id = ANY(ARRAY({ids}))").bindparams(**values)


def counted(wanted: WantedRuns) -> TextClause:
    """A statement that counts the runs that are wanted, up to `limit`; it reads little more than it counts."""
    ids, values = _ids(wanted, _SOME_OF_RANGES)
    return text(f"SELECT count(*) FROM ({ids}) AS counted").bindparams(**values)  # noqa: S608


def _ids(wanted: WantedRuns, of_ranges: str) -> tuple[str, dict[str, Any]]:
    if wanted.is_any:
        ids = _ANY
    else:
        parts = dict(_OF_WORKFLOWS if wanted.is_of_workflows else _OF_STATES)
        started = "" if wanted.since is None else "AND i.started_at >= :since"
        parts["walked"] = parts["walked"].format(started=started)
        oldest = _WITHOUT_OLDEST if wanted.since is None else _OLDEST
        ids = of_ranges.format(**parts, oldest=oldest, started=started)
    states = [state.value for state in dict.fromkeys(wanted.states or WorkflowState)]
    tops = [True, False] if wanted.children else [True]
    values = {
        "page": wanted.limit,
        "states": states,
        "tops": tops,
        "before": _ID_MAX if wanted.before is None else wanted.before,
        "workflow": wanted.workflow,
        "project": wanted.project,
        "visible": None if wanted.visible is None else list(wanted.visible),
        "since": wanted.since,
        "workflows_max": RANGES_MAX // (len(states) * len(tops)),
        "walk": max(WALK_MAX, 2 * wanted.limit),
    }
    return ids, {name: value for name, value in values.items() if re.search(f":{name}\\b", ids)}
