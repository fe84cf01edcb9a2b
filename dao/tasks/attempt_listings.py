"""Listings of attempts of tasks across runs, for people. Reads only.

No index fits every filter, so a page walks backwards over all attempts, or over those in the wanted states if these are
rare ones, and reads no more than `WALK_MAX` or `FAILED_WALK_MAX` of them: a filter that fits few gives short pages, and
each costs the same, however long the history is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, Text, cast, func, select, text

from dao.postgres.engine import AsyncConnection
from dao.postgres.tables import node, task_instance, workflow_definition, workflow_instance
from dao.run_lists import id_prefixes
from dao.run_lists.run_conditions import ANY_RUN, RunConditions
from dao.run_lists.run_counts import CHECKED_MAX, Count, planned_rows
from dao.run_lists.run_listings import read_task, tasks
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
_NEWEST_FAILED = text("""
    SELECT t.id FROM unnest(CAST(:states AS text[])) AS in_state CROSS JOIN LATERAL (
        SELECT id FROM task_instance                                            -- index: task_instance_failed
        WHERE state = in_state AND state IN ('FAILURE', 'KILL', 'PAUSE', 'NEED_FAULT_TOLERANCE', 'FORCED_SUCCESS')
          AND -id > -CAST(:before AS bigint)
        ORDER BY -id LIMIT :read) AS t
    ORDER BY t.id DESC LIMIT :read
""")
# By ranges of the primary key; see `id_prefixes`.
_NEWEST_OF_PREFIX = text("""
    SELECT own.id FROM unnest(CAST(:lows AS bigint[]), CAST(:highs AS bigint[])) AS wanted (low, high)
    CROSS JOIN LATERAL (
        SELECT id FROM task_instance                                            -- index: task_instance_pkey
        WHERE id BETWEEN wanted.low AND wanted.high AND id < CAST(:before AS bigint)
        ORDER BY id DESC LIMIT :read) AS own
    ORDER BY own.id DESC LIMIT :read
""")
# A subquery hides from the planner how many they are: for thousands it would walk all runs to join them.
_IS_READ = text("task_instance.id = ANY(ARRAY(SELECT unnest(CAST(:ids AS bigint[]))))")
# Of the walked attempts those of some workflows: each of their runs is looked up once, however many attempts it has.
_IS_OF_WORKFLOWS = text("""
    task_instance.id = ANY(ARRAY(
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
        SELECT walked.id FROM walked WHERE walked.workflow_instance_id IN (SELECT id FROM run)))
""")


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
    t = task_instance.c
    if wanted.digits is not None:
        return await _page_of_ids(connection, limit, wanted, wanted.digits, before)
    if wanted.states and FAILED.issuperset(wanted.states):
        return await _page_of_failed(connection, limit, wanted, before)
    walk = select(t.id).order_by(t.id.desc()).offset(WALK_MAX - 1).limit(1)  # index: task_instance_pkey
    if before is not None:
        walk = walk.where(t.id < before)
    down_to = (await connection.execute(walk)).scalar()
    query = _that_match(_attempts(), wanted).order_by(t.id.desc()).limit(limit)
    if before is not None:
        query = query.where(t.id < before)
    if down_to is not None:
        query = query.where(t.id >= down_to)
    if (wanted.workflow, wanted.project) != (None, None):
        of = {"workflow": wanted.workflow, "project": wanted.project}
        query = query.where(_IS_OF_WORKFLOWS.bindparams(down_to=down_to or 0, before=before or _ID_MAX, **of))
    return Walked([_attempt(row) for row in (await connection.execute(query)).all()], down_to)


async def _page_of_failed(connection: AsyncConnection, limit: int, wanted: AttemptFilter, before: int | None) -> Walked:
    """The same for states that have an index: if nothing but these is asked for, the page is all that is read."""
    walks = wanted != AttemptFilter(wanted.states)
    read = FAILED_WALK_MAX if walks else limit
    values = {"states": [state.value for state in set(wanted.states)], "before": before or _ID_MAX, "read": read}
    ids = (await connection.execute(_NEWEST_FAILED, values)).scalars().all()
    down_to = ids[-1] if walks and len(ids) == read else None
    return Walked(await _of_read(connection, limit, wanted, ids), down_to)


async def _page_of_ids(
    connection: AsyncConnection, limit: int, wanted: AttemptFilter, digits: str, before: int | None
) -> Walked:
    """The same for ids that begin so: they are read by ranges of the primary key."""
    values = {**id_prefixes.bounds(digits), "before": before or _ID_MAX, "read": WALK_MAX}
    ids = (await connection.execute(_NEWEST_OF_PREFIX, values)).scalars().all()
    return Walked(await _of_read(connection, limit, wanted, ids), ids[-1] if len(ids) == WALK_MAX else None)


async def _of_read(connection: AsyncConnection, limit: int, wanted: AttemptFilter, ids: Sequence[int]) -> list[Attempt]:
    query = _that_match(_attempts(), wanted).where(_IS_READ.bindparams(ids=list(ids)))
    rows = await connection.execute(query.order_by(task_instance.c.id.desc()).limit(limit))
    return [_attempt(row) for row in rows.all()]


async def count(connection: AsyncConnection, wanted: AttemptFilter, most: int) -> Count:
    """How many are wanted, up to `most`: of the newest `CHECKED_MAX` of all, unless an index has them."""
    t = task_instance.c
    floor = select(t.id).order_by(t.id.desc()).offset(CHECKED_MAX - 1).limit(1)  # index: task_instance_pkey
    is_indexed = bool(wanted.states) and FAILED.issuperset(wanted.states) and wanted == AttemptFilter(wanted.states)
    down_to = None if is_indexed else (await connection.execute(floor)).scalar()
    query = _that_match(_with_runs(select(t.id)), wanted).limit(most + 1)
    if down_to is not None:
        query = query.where(t.id >= down_to)
    number = int((await connection.execute(select(func.count()).select_from(query.subquery()))).scalar_one())
    return Count(min(number, most), number > most or down_to is not None)


async def estimate(connection: AsyncConnection, wanted: AttemptFilter) -> int:
    """About how many are wanted: as many of all attempts as of the newest; by states as the planner says."""
    if wanted == AttemptFilter(wanted.states):
        return await planned_rows(connection, _that_match(select(task_instance.c.id), wanted))
    newest = await count(connection, wanted, CHECKED_MAX)
    if not newest.is_capped:
        return newest.number
    return round(newest.number / CHECKED_MAX * await planned_rows(connection, select(task_instance.c.id)))


async def attempt(connection: AsyncConnection, id_: TaskInstanceId) -> Attempt:
    """One attempt. Raises `NotFound`."""
    row = (await connection.execute(_attempts().where(task_instance.c.id == id_))).first()
    if row is None:
        raise NotFound(f"there is no task instance {id_}; `shoal show RUN` lists those of a run")
    return _attempt(row)


@cache
def _attempts() -> Select[Any]:
    i, d = workflow_instance.c, workflow_definition.c
    query = tasks().add_columns(i.workflow_code, d.name, d.project)
    return query.join(workflow_instance, i.id == task_instance.c.workflow_instance_id).outerjoin(
        workflow_definition, d.code == i.workflow_code
    )


def _with_runs(query: Select[Any]) -> Select[Any]:
    """A query on attempts, with the tables that a filter may name."""
    t, i, d = task_instance.c, workflow_instance.c, workflow_definition.c
    query = query.select_from(task_instance).outerjoin(node, node.c.id == t.worker_id)
    return query.join(workflow_instance, i.id == t.workflow_instance_id).outerjoin(
        workflow_definition, d.code == i.workflow_code
    )


def _that_match(query: Select[Any], wanted: AttemptFilter) -> Select[Any]:
    t, d = task_instance.c, workflow_definition.c
    if wanted.states:
        query = query.where(t.state.in_(wanted.states))
    if wanted.types:
        query = query.where(t.task_type.in_(wanted.types))
    if wanted.visible is not None:
        query = query.where(d.project.in_(wanted.visible))
    if wanted.worker is not None:
        query = query.where((node.c.address == wanted.worker) | (node.c.name == wanted.worker))
    if wanted.started_after is not None:
        query = query.where(t.started_at >= wanted.started_after)
    if wanted.started_before is not None:
        query = query.where(t.started_at < wanted.started_before)
    if wanted.digits is not None:
        query = query.where(func.starts_with(cast(t.id, Text), wanted.digits))
    elif wanted.words is not None:
        words = wanted.words.lower()
        named = func.strpos(func.lower(t.task_name), words) > 0
        query = query.where(named | (func.strpos(func.lower(t.reason), words) > 0))
    if not wanted.of_runs.is_any:
        query = query.where(wanted.of_runs.clause("workflow_instance"))
    for column, value in (
        (t.task_name, wanted.name),
        (t.worker_id, wanted.worker_id),
        (t.worker_group, wanted.worker_group),
        (d.name, wanted.workflow),
        (d.project, wanted.project),
    ):
        if value is not None:
            query = query.where(column == value)
    return query


def _attempt(row: Sequence[Any]) -> Attempt:
    run, *task, code, workflow, project = row
    return Attempt(read_task(task), WorkflowInstanceId(run), WorkflowCode(code), workflow, project)
