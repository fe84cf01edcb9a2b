"""Which runs a page of a list shows: their ids, found by indexes, however few of how many fit.

The runs are in ranges: of one workflow (if the filter limits that), children or not, in one state. An index has each
range in the order of its ids, so the newest of all wanted ranges are merged, and what does not fit is not read. What
started too early is not read either: an index has the starts of each block of ids, so the oldest block that contains a
late enough start is found without reading the others. That is right for starts in any order, and quick for starts that
grow with the ids, as they do unless somebody writes them by hand.

The indexes are of expressions that no other statement has, and `-id` is an order that no other index has: with `ORDER
BY id` the planner might walk the primary key, and read the whole history for a rare state.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import TextClause, text

from model.states import WorkflowState

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


_WORKFLOWS = """
    SELECT code FROM workflow_definition
    WHERE (CAST(:workflow AS text) IS NULL OR name = :workflow)
      AND (CAST(:project AS text) IS NULL OR project = :project)
      AND (CAST(:visible AS text[]) IS NULL OR project = ANY(CAST(:visible AS text[])))
"""
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
# First the newest of each range. Where those fill a page alone, it ends at the last of them at the latest.
_OF_RANGES = """
    WITH RECURSIVE {oldest}, head AS MATERIALIZED (
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
    ORDER BY found.id DESC LIMIT :page
"""
_OF_STATES = {
    "index": "workflow_instance_by_state",
    "names": "is_top, in_state",
    "ranges": "unnest(CAST(:tops AS boolean[])) AS is_top CROSS JOIN unnest(CAST(:states AS text[])) AS in_state",
    "is_in_range": "(i.parent_instance_id IS NULL) = is_top AND i.state = in_state",
}
_OF_WORKFLOWS = {
    "index": "workflow_instance_by_workflow",
    "names": f"code, {_OF_STATES['names']}",
    "ranges": f"({_WORKFLOWS}) AS workflow CROSS JOIN {_OF_STATES['ranges']}",
    "is_in_range": """i.workflow_code = code AND (i.parent_instance_id IS NOT NULL) = (NOT is_top)
              AND i.state = in_state""",
}


def newest(wanted: WantedRuns) -> TextClause:
    """A condition on `workflow_instance`: the newest runs that are wanted."""
    if wanted.is_any:
        ids = _ANY
    else:
        ids = _OF_RANGES.format(
            **_OF_WORKFLOWS if wanted.is_of_workflows else _OF_STATES,
            oldest=_WITHOUT_OLDEST if wanted.since is None else _OLDEST,
            started="" if wanted.since is None else "AND i.started_at >= :since",
        )
    values = {
        "page": wanted.limit,
        "states": [state.value for state in dict.fromkeys(wanted.states or WorkflowState)],
        "tops": [True, False] if wanted.children else [True],
        "before": _ID_MAX if wanted.before is None else wanted.before,
        "workflow": wanted.workflow,
        "project": wanted.project,
        "visible": None if wanted.visible is None else list(wanted.visible),
        "since": wanted.since,
    }
    condition = text(f"workflow_instance.id = ANY(ARRAY({ids}))")
    return condition.bindparams(**{name: value for name, value in values.items() if f":{name}" in ids})
