"""Listings of attempts of tasks across runs, for people. Reads only.

No index fits every filter, so a page walks backwards over all attempts, or over those in the wanted states if these are
rare ones, and reads no more than `WALK_MAX` or `FAILED_WALK_MAX` of them: a filter that fits few gives short pages, and
each costs the same, however long the history is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql, filtered
from dao.postgres.statements import statement
from dao.run_lists import id_prefixes
from dao.run_lists.attempt_rows import attempts_that, task_of
from dao.run_lists.run_conditions import ANY_RUN, RunConditions
from dao.run_lists.run_counts import CHECKED_MAX, Count, planned_rows
from dao.runs.rows import TaskRun
from model.errors import NotFound
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.states import TaskState

WALK_MAX = 4_000
FAILED_WALK_MAX = 1_000
"""Of attempts in the states below, which lie far apart: each is another page of the table, and so is its run."""
FAILED = frozenset(map(TaskState, ("FAILURE", "KILL", "PAUSE", "NEED_FAULT_TOLERANCE", "FORCED_SUCCESS")))
"""The states that have an index, since few attempts are in them."""


_ID_MAX = 2**63 - 1
# The states once more as constants: the index is partial. `-id` is an order that no other index has.
_NEWEST_FAILED = Sql("""
    SELECT t.id FROM unnest(CAST(:states AS text[])) AS in_state CROSS JOIN LATERAL (
        SELECT id FROM task_instance                                            -- index: task_instance_failed
        WHERE state = in_state AND state IN ('FAILURE', 'KILL', 'PAUSE', 'NEED_FAULT_TOLERANCE', 'FORCED_SUCCESS')
          AND -id > -CAST(:before AS bigint)
        ORDER BY -id LIMIT :read) AS t
    ORDER BY t.id DESC LIMIT :read
""")
# By ranges of the primary key; see `id_prefixes`.
_NEWEST_OF_PREFIX = Sql("""
    SELECT own.id FROM unnest(CAST(:lows AS bigint[]), CAST(:highs AS bigint[])) AS wanted (low, high)
    CROSS JOIN LATERAL (
        SELECT id FROM task_instance                                            -- index: task_instance_pkey
        WHERE id BETWEEN wanted.low AND wanted.high AND id < CAST(:before AS bigint)
        ORDER BY id DESC LIMIT :read) AS own
    ORDER BY own.id DESC LIMIT :read
""")
# A subquery hides from the planner how many they are: for thousands it would walk all runs to join them.
_IS_READ = "t.id = ANY(ARRAY(SELECT unnest(CAST(:ids AS bigint[]))))"
# Of the walked attempts those of some workflows: each of their runs is looked up once, however many attempts it has.
_IS_OF_WORKFLOWS = """t.id = ANY(ARRAY(
        WITH walked AS MATERIALIZED (
            SELECT id, workflow_instance_id FROM task_instance                  -- index: task_instance_pkey
            WHERE id >= CAST(:down_to AS bigint) AND id < CAST(:before AS bigint) ORDER BY id DESC
        ), run AS MATERIALIZED (
            SELECT each.id FROM (SELECT DISTINCT workflow_instance_id AS id FROM walked) AS each
            CROSS JOIN LATERAL (
                SELECT FROM workflow_instance i WHERE i.id = each.id AND i.workflow_code = ANY(ARRAY(
                    SELECT code FROM workflow_definition
                    WHERE name = coalesce(CAST(:workflow AS text), name)
                      AND project = coalesce(CAST(:project AS text), project)))
                OFFSET 0) AS wanted
        )
        SELECT walked.id FROM walked WHERE walked.workflow_instance_id IN (SELECT id FROM run)))"""
_IS_WALKED = "t.id >= CAST(:down_to AS bigint) AND t.id < CAST(:before AS bigint)"
_COUNT = """
    SELECT count(*) FROM (
        SELECT FROM task_instance t
        JOIN workflow_instance i ON i.id = t.workflow_instance_id
        LEFT JOIN workflow_definition d ON d.code = i.workflow_code
        LEFT JOIN node n ON n.id = t.worker_id
        WHERE t.id >= CAST(:down_to AS bigint) AND {condition} LIMIT :most) AS counted
"""
_IN_STATES = """
    SELECT FROM task_instance WHERE CAST(:states AS text[]) IS NULL OR state = ANY(CAST(:states AS text[]))
"""
_LIMITS = {
    "states": "t.state = ANY(CAST(:states AS text[]))",
    "types": "t.task_type = ANY(CAST(:types AS text[]))",
    "name": "t.task_name = :name",
    "workflow": "d.name = :workflow",
    "project": "d.project = :project",
    "worker": "(n.address = :worker OR n.name = :worker)",
    "worker_id": "t.worker_id = :worker_id",
    "worker_group": "t.worker_group = :worker_group",
    "started_after": "t.started_at >= CAST(:started_after AS timestamptz)",
    "started_before": "t.started_at < CAST(:started_before AS timestamptz)",
    "visible": "d.project = ANY(CAST(:visible AS text[]))",
    "digits": "starts_with(CAST(t.id AS text), :digits)",
    "part": "(strpos(lower(t.task_name), :part) > 0 OR strpos(lower(t.reason), :part) > 0)",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt of a task, and whose it is. `workflow` and `project` are None if the workflow is gone."""

    task: TaskRun
    run: WorkflowInstanceId
    workflow_code: WorkflowCode
    workflow: str | None
    project: str | None


@dataclass(frozen=True)
class AttemptFilter:
    """Which attempts are wanted; None or empty = any.

    `worker` is the address or the name of a worker, `started_after` and `started_before` are aware, `visible` the
    projects that may be seen. `words` are the beginning of its id (digits), or else a part of its task's name or of its
    reason. `of_runs` are conditions on its run.
    """

    states: Sequence[TaskState] = ()
    types: Sequence[str] = ()
    name: str | None = None
    workflow: str | None = None
    project: str | None = None
    worker: str | None = None
    worker_id: int | None = None
    worker_group: str | None = None
    started_after: datetime | None = None
    visible: Collection[str] | None = None
    started_before: datetime | None = None
    words: str | None = None
    of_runs: RunConditions = ANY_RUN

    @property
    def digits(self) -> str | None:
        """The beginning of an id, if that is meant."""
        return RunConditions(words=self.words).digits


@dataclass(frozen=True, slots=True)
class Walked:
    """What was found, newest first; `down_to` is the last id that was read, None if no older attempts are left."""

    found: list[Attempt]
    down_to: int | None


async def page(connection: AsyncConnection, limit: int, wanted: AttemptFilter, before: int | None = None) -> Walked:
    """Up to `limit` of the attempts with an id below `before` that are wanted."""
    if wanted.digits is not None:
        return await _page_of_ids(connection, limit, wanted, wanted.digits, before)
    if wanted.states and FAILED.issuperset(wanted.states):
        return await _page_of_failed(connection, limit, wanted, before)
    down_to = await _walk_end(connection, WALK_MAX, before)
    condition, values = _matching(wanted)
    condition = f"{_IS_WALKED} AND {condition}"
    if (wanted.workflow, wanted.project) != (None, None):
        condition = f"{condition} AND {_IS_OF_WORKFLOWS}"
    own: dict[str, Any] = {"down_to": down_to or 0, "before": before or _ID_MAX}
    own |= {"workflow": wanted.workflow, "project": wanted.project}
    return Walked(await _read(connection, condition, values | own, limit), down_to)


# So many of the newest attempts are read: the last of them.
@statement("""
    SELECT id FROM task_instance                                                -- index: task_instance_pkey
    WHERE id < coalesce(CAST(:before AS bigint), 9223372036854775807) ORDER BY id DESC OFFSET :read - 1 LIMIT 1
""")
async def _walk_end(connection: AsyncConnection, read: int, before: int | None = None) -> int | None:
    """The last id of a walk over so many attempts; None if there are fewer."""


async def _page_of_failed(connection: AsyncConnection, limit: int, wanted: AttemptFilter, before: int | None) -> Walked:
    """The same for states that have an index: if nothing but these is asked for, the page is all that is read."""
    walks = wanted != AttemptFilter(wanted.states)
    read = FAILED_WALK_MAX if walks else limit
    values = {"states": [state.value for state in set(wanted.states)], "before": before or _ID_MAX, "read": read}
    ids = (await connection.execute(_NEWEST_FAILED, values)).scalars()
    down_to = ids[-1] if walks and len(ids) == read else None
    return Walked(await _of_read(connection, limit, wanted, ids), down_to)


async def _page_of_ids(
    connection: AsyncConnection, limit: int, wanted: AttemptFilter, digits: str, before: int | None
) -> Walked:
    """The same for ids that begin so: they are read by ranges of the primary key."""
    values = {**id_prefixes.bounds(digits), "before": before or _ID_MAX, "read": WALK_MAX}
    ids = (await connection.execute(_NEWEST_OF_PREFIX, values)).scalars()
    return Walked(await _of_read(connection, limit, wanted, ids), ids[-1] if len(ids) == WALK_MAX else None)


async def _of_read(connection: AsyncConnection, limit: int, wanted: AttemptFilter, ids: Sequence[int]) -> list[Attempt]:
    condition, values = _matching(wanted)
    return await _read(connection, f"{_IS_READ} AND {condition}", {**values, "ids": list(ids)}, limit)


async def _read(
    connection: AsyncConnection, condition: str, values: Mapping[str, Any], limit: int | None = None
) -> list[Attempt]:
    rows = await connection.execute(attempts_that(condition, "t.id DESC", values, limit))
    return [
        Attempt(task_of(row), row.workflow_instance_id, row.workflow_code, row.workflow, row.project) for row in rows
    ]


async def count(connection: AsyncConnection, wanted: AttemptFilter, most: int) -> Count:
    """How many are wanted, up to `most`: of the newest `CHECKED_MAX` of all, unless an index has them."""
    is_indexed = bool(wanted.states) and FAILED.issuperset(wanted.states) and wanted == AttemptFilter(wanted.states)
    down_to = None if is_indexed else await _walk_end(connection, CHECKED_MAX)
    condition, values = _matching(wanted)
    own: dict[str, Any] = {"down_to": down_to or 0, "most": most + 1}
    number = int((await connection.execute(filtered(_COUNT, condition, values | own))).scalar_one())
    return Count(min(number, most), number > most or down_to is not None)


async def estimate(connection: AsyncConnection, wanted: AttemptFilter) -> int:
    """About how many are wanted: as many of all attempts as of the newest; by states as the planner says."""
    if wanted == AttemptFilter(wanted.states):
        return await planned_rows(connection, _IN_STATES, {"states": [*wanted.states] or None})
    newest = await count(connection, wanted, CHECKED_MAX)
    if not newest.is_capped:
        return newest.number
    return round(newest.number / CHECKED_MAX * await planned_rows(connection, _IN_STATES, {"states": None}))


async def attempt(connection: AsyncConnection, id_: TaskInstanceId) -> Attempt:
    """One attempt. Raises `NotFound`."""
    found = await _read(connection, "t.id = :id", {"id": id_})
    if not found:
        raise NotFound(f"there is no task instance {id_}; `shoal show RUN` lists those of a run")
    return found[0]


def _matching(wanted: AttemptFilter) -> tuple[str, dict[str, Any]]:
    """The condition that says which attempts are wanted, and its values."""
    by_words = (
        {"digits": wanted.digits} if wanted.digits is not None else {"part": wanted.words and wanted.words.lower()}
    )
    limits = {name: getattr(wanted, name) for name in _LIMITS if name not in ("digits", "part")} | by_words
    limits |= {"states": [*wanted.states] or None, "types": [*wanted.types] or None}
    limits["visible"] = None if wanted.visible is None else list(wanted.visible)
    values = {name: value for name, value in limits.items() if value is not None}
    of_run, of_values = wanted.of_runs.sql("i")
    return " AND ".join([*(_LIMITS[name] for name in values), of_run]), values | of_values
