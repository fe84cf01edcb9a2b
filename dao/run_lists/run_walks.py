"""Pages of runs under conditions that no index has: a page reads a limited number of runs, and says how far it came.

What indexes find is found by them (`run_pages.py`): the newest runs in the wanted states, of the wanted workflows and
times, or whose id begins so. Of these up to `WALK_MAX` are checked, newest first, until the page is full. A page may so
be short, or empty, and not be the last: the next one begins where it ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.run_lists import id_prefixes, run_pages
from dao.run_lists.wanted_runs import WantedRuns
from model.ids import WorkflowInstanceId
from model.runs.states import WorkflowState
from model.runs.triggers import Trigger

WALK_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Walked:
    """The ids that were found, newest first; `down_to` is the last id that was checked, None if no older one is left.

    `candidates` are how many runs indexes found, all of which were checked unless the page was full before.
    """

    ids: list[WorkflowInstanceId]
    down_to: WorkflowInstanceId | None
    candidates: int

    @property
    def share(self) -> float:
        """The part of the candidates that fit."""
        return len(self.ids) / max(1, self.candidates)


# The newest runs whose ids begin so. `is_cut`: older ones may be wanted too.
_OF_IDS = """
    SELECT id, count(*) OVER () = :page AS is_cut FROM (
        SELECT own.id FROM unnest(CAST(:lows AS bigint[]), CAST(:highs AS bigint[])) AS wanted (low, high)
        CROSS JOIN LATERAL (
            SELECT id FROM workflow_instance                                    -- index: workflow_instance_pkey
            WHERE id BETWEEN wanted.low AND wanted.high AND id < CAST(:before AS bigint)
            ORDER BY id DESC LIMIT :page) AS own
        ORDER BY own.id DESC LIMIT :page) AS newest
"""
# One run after the other, newest first, so that the walk ends with a full page.
_WALK = """
    WITH walked AS MATERIALIZED ({candidates})
    SELECT ARRAY(
               SELECT walk.id FROM (SELECT id FROM walked ORDER BY id DESC) AS walk CROSS JOIN LATERAL (
                   SELECT FROM workflow_instance i                              -- index: workflow_instance_pkey
                   WHERE i.id = walk.id AND {condition} OFFSET 0) AS fitting
               ORDER BY walk.id DESC LIMIT :wanted),
           (SELECT min(id) FROM walked WHERE is_cut), (SELECT count(*) FROM walked)
"""


async def walk(connection: AsyncConnection, wanted: WantedRuns, walk_max: int | None = None) -> Walked:
    """Up to `wanted.limit` of the newest runs that are wanted."""
    conditions = wanted.conditions
    page = max(walk_max or WALK_MAX, wanted.limit)
    wanted_ids = _narrowed(replace(wanted, limit=page))
    if wanted_ids is None:
        return Walked([], None, 0)
    condition, values = conditions.sql("i")
    more: dict[str, Any] = {}
    if conditions.digits is None:
        candidates, more = run_pages.candidates(wanted_ids)
    else:
        candidates = _OF_IDS
        values |= id_prefixes.bounds(conditions.digits)
    if conditions.digits is not None or wanted.is_of_workflows:
        plain, plain_values = run_pages.plain_condition(wanted_ids)
        condition = f"{plain} AND {condition}"
        values |= plain_values
    statement = Sql(_WALK.format(candidates=candidates, condition=condition))
    row = (await connection.execute(statement, {**values, **more, "wanted": wanted.limit})).one()
    ids, down_to, candidates = row
    return Walked([WorkflowInstanceId(id_) for id_ in ids], down_to, candidates)


def _narrowed(wanted: WantedRuns) -> WantedRuns | None:
    """What is wanted, by as few ranges of the indexes as the conditions leave; None if they contradict each other."""
    conditions = wanted.conditions
    if conditions.master is not None:
        unfinished = [state for state in wanted.states or WorkflowState if not state.is_final]
        if not unfinished:
            return None
        wanted = replace(wanted, states=unfinished)
    if conditions.triggers:
        has_parents = Trigger.PARENT in conditions.triggers
        if set(conditions.triggers) == {Trigger.PARENT}:
            return replace(wanted, only_children=True) if wanted.children else None
        wanted = replace(wanted, children=wanted.children and has_parents)
    return wanted
