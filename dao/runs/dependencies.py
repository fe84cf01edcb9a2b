"""DEPENDENT tasks that wait, and the runs and tasks of other workflows that they wait for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from zlib import crc32

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import DEPENDENCY, notify_each
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import changing, statement
from model.changes import Changes
from model.ids import Epoch, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.states import TaskState, WorkflowState


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A waiting DEPENDENT task of this master; `params` is JSON text, `waited_s` is by the database's clock.

    `schedule_time` is None if the row holds a time outside the calendar. `is_dated`: a schedule or a backfill made its
    run.
    """

    id: TaskInstanceId
    params: str
    project: str
    schedule_time: datetime | None
    time_zone: str
    waited_s: float
    timeout_s: float | None
    timeout_strategy: str | None
    is_dated: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a walk over all waiting DEPENDENT tasks."""

    instance: WorkflowInstanceId
    task: TaskInstanceId


BEGINNING = Place(WorkflowInstanceId(0), TaskInstanceId(0))


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of such a walk: the tasks of this master, and the next position; None = the end was reached."""

    tasks: Sequence[WaitingTask]
    next: Place | None


@dataclass(frozen=True, slots=True)
class Happened:
    """A run ended, or with `task` one of its tasks succeeded; `schedule_time` is the run's, aware."""

    workflow_code: WorkflowCode
    schedule_time: datetime
    task: str | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """`Happened` as sent in a notification: the time in whole seconds since 1970, the task's name as a checksum."""

    workflow_code: int
    at_s: int
    task: int | None


@dataclass(frozen=True, slots=True)
class Span:
    """What to look up: the latest run of a workflow with a schedule time in [begin, end), and a task of it if named;
    `whole`: only runs that were started for all tasks, `passes`: with the outputs, `dated`: only runs that a schedule
    or a backfill made."""

    workflow_code: WorkflowCode
    begin: datetime
    end: datetime
    task: str | None = None
    whole: bool = True
    passes: bool = False
    dated: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The run's state, the state of its task if one was named and has begun, and whether a valid task of it failed.

    `is_whole`: an EXECUTE_TASK left nothing to do. `outputs` are those of the run, or of the named task, as a JSON
    object, if they were asked for and there are any.
    """

    id: WorkflowInstanceId
    state: WorkflowState
    task: TaskState | None
    any_failed: bool
    schedule_time: datetime
    is_whole: bool = True
    outputs: str | None = None


@dataclass(frozen=True, slots=True)
class Before:
    """The latest run before a span. `schedule_time` is aware."""

    id: WorkflowInstanceId
    schedule_time: datetime
    state: WorkflowState


@dataclass(frozen=True, slots=True)
class DependentEnd:
    """How a DEPENDENT task ended."""

    id: TaskInstanceId
    state: TaskState
    reason: str
    outputs: str | None = None


# Of all masters, in the order of the index: so it reads a bounded number of rows, however many tasks of others wait.
_WALK = Sql("""
    SELECT workflow_instance_id, id FROM task_instance                         -- index: task_instance_dependent
    WHERE state = 'RUNNING_EXECUTION' AND task_type = 'DEPENDENT'
      AND (workflow_instance_id, id) > (:after_instance, :after_task)
    ORDER BY workflow_instance_id, id LIMIT :limit
""")
_PAYLOAD_CHARACTERS_MAX = 7_000
"""PostgreSQL accepts just under 8,000 bytes."""


# A time outside the calendar (infinite, or in the year 10000) would fail the fetch of all.
@statement("""
    SELECT t.id, t.params, coalesce(d.project, 'default') AS project,
           CASE WHEN i.schedule_time BETWEEN '0001-01-03' AND '9999-12-29' THEN i.schedule_time END AS schedule_time,
           i.time_zone,
           CASE WHEN isfinite(t.started_at) THEN greatest(0, extract(epoch FROM clock_timestamp() - t.started_at))
                ELSE 0 END::float8 AS waited_s,
           t.timeout_s, t.timeout_strategy, i.command_type IN ('SCHEDULER', 'COMPLEMENT_DATA') AS is_dated
    FROM task_instance t                                                       -- index: task_instance_dependent
    JOIN workflow_instance i ON i.id = t.workflow_instance_id AND coalesce(i.master_id = :master, false)
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE t.state = 'RUNNING_EXECUTION' AND t.task_type = 'DEPENDENT'
      AND t.workflow_instance_id = ANY(CAST(:runs AS bigint[]))
""")
async def waiting_of(
    connection: AsyncConnection, master: Epoch, runs: Collection[WorkflowInstanceId]
) -> list[WaitingTask]:
    """The waiting DEPENDENT tasks of these runs, as far as this master owns the runs."""


@statement("""
    SELECT t.id, t.params, coalesce(d.project, 'default') AS project,
           CASE WHEN i.schedule_time BETWEEN '0001-01-03' AND '9999-12-29' THEN i.schedule_time END AS schedule_time,
           i.time_zone,
           CASE WHEN isfinite(t.started_at) THEN greatest(0, extract(epoch FROM clock_timestamp() - t.started_at))
                ELSE 0 END::float8 AS waited_s,
           t.timeout_s, t.timeout_strategy, i.command_type IN ('SCHEDULER', 'COMPLEMENT_DATA') AS is_dated
    FROM task_instance t                                                       -- index: task_instance_pkey
    JOIN workflow_instance i ON i.id = t.workflow_instance_id
         AND coalesce(i.master_id = coalesce(CAST(:master AS bigint), i.master_id), false)
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE t.id = ANY(CAST(:ids AS bigint[]))
      AND coalesce(t.state = 'RUNNING_EXECUTION' AND t.task_type = 'DEPENDENT', false)
""")
async def still_waiting(
    connection: AsyncConnection, master: Epoch | None, ids: Collection[TaskInstanceId]
) -> list[WaitingTask]:
    """Those of these tasks that still wait and belong to this master; None = to any."""


async def walk(connection: AsyncConnection, master: Epoch, after: Place, limit: int) -> Stretch:
    """The next `limit` of all waiting DEPENDENT tasks, after `after`; returns those of this master."""
    values = {"after_instance": after.instance, "after_task": after.task, "limit": limit}
    walked = [Place(*row) for row in await connection.execute(_WALK, values)]
    waiting = await still_waiting(connection, master, [place.task for place in walked]) if walked else []
    own = {task.id: task for task in waiting}
    tasks = [own[place.task] for place in walked if place.task in own]
    return Stretch(tasks, walked[-1] if len(walked) == limit else None)


@statement("""
    SELECT d.project, d.name, d.code FROM workflow_definition d
    JOIN unnest(CAST(:names.0 AS text[]), CAST(:names.1 AS text[])) AS w (project, name)
      ON d.project = w.project AND d.name = w.name
""")
async def codes(
    connection: AsyncConnection, names: Collection[tuple[str, str]]
) -> Mapping[tuple[str, str], WorkflowCode]:
    """The workflow codes of these (project, name) pairs; those that do not exist are missing."""


# Dry runs did nothing to depend on, and a start of some tasks is no run of the whole workflow.
@statement("""
    SELECT w.place, run.id, run.state,
           (SELECT t.state FROM task_instance t
            WHERE t.workflow_instance_id = run.id AND t.task_name = w.task AND t.flag = 'YES'
            ORDER BY t.attempt DESC LIMIT 1) AS task,
           CASE WHEN w.task IS NULL THEN false ELSE EXISTS (
               SELECT FROM task_instance t WHERE t.workflow_instance_id = run.id AND t.flag = 'YES'
                 AND t.state IN ('FAILURE', 'KILL', 'PAUSE', 'NEED_FAULT_TOLERANCE')
                 AND NOT EXISTS (SELECT FROM task_instance later
                                 WHERE later.workflow_instance_id = t.workflow_instance_id
                                   AND later.task_code = t.task_code AND later.attempt > t.attempt)) END AS any_failed,
           run.schedule_time, run.executing IS NULL AS is_whole,
           CASE WHEN w.passes AND w.task IS NULL THEN run.outputs WHEN w.passes THEN
               (SELECT t.outputs FROM task_instance t
                WHERE t.workflow_instance_id = run.id AND t.task_name = w.task AND t.flag = 'YES'
                ORDER BY t.attempt DESC LIMIT 1) END AS outputs
    FROM unnest(CAST(:spans.workflow_code AS bigint[]), CAST(:spans.begin AS timestamptz[]),
                CAST(:spans.end AS timestamptz[]), CAST(:spans.task AS text[]), CAST(:spans.whole AS boolean[]),
                CAST(:spans.passes AS boolean[]), CAST(:spans.dated AS boolean[])) WITH ORDINALITY
         AS w (code, begin_at, end_at, task, whole, passes, dated, place)
    CROSS JOIN LATERAL (
        SELECT i.id, i.state, i.schedule_time, i.executing, i.outputs
        FROM workflow_instance i                                               -- index: workflow_instance_time
        WHERE i.workflow_code = w.code AND i.schedule_time >= w.begin_at AND i.schedule_time < w.end_at
          AND NOT i.dry_run AND (i.scope IS NULL OR NOT w.whole)
          AND (NOT w.dated OR i.command_type IN ('SCHEDULER', 'COMPLEMENT_DATA'))
        ORDER BY i.schedule_time DESC, i.id DESC LIMIT 1
    ) AS run
""")
async def _found(connection: AsyncConnection, spans: Sequence[Span]) -> dict[int, Found]: ...


async def find(connection: AsyncConnection, spans: Sequence[Span]) -> dict[Span, Found]:
    """The latest run in each of these spans; a span without a run is missing."""
    return {spans[place - 1]: run for place, run in (await _found(connection, spans)).items()}


# What a schedule asked for and no master has handled yet: its run is not there.
@statement("""
    SELECT w.place
    FROM unnest(CAST(:spans.workflow_code AS bigint[]), CAST(:spans.end AS timestamptz[])) WITH ORDINALITY
         AS w (code, end_at, place)
    WHERE EXISTS (SELECT FROM command c                                        -- index: command_dated
                  WHERE c.workflow_code = w.code AND c.type IN ('SCHEDULER', 'COMPLEMENT_DATA')
                    AND c.schedule_time < w.end_at)
""")
async def _coming(connection: AsyncConnection, spans: Sequence[Span]) -> set[int]: ...


async def coming(connection: AsyncConnection, spans: Sequence[Span]) -> set[Span]:
    """Those of these spans for which a command of a schedule or a backfill still waits, for a date before their end.

    Ask before `find`: what is no longer there then is a run.
    """
    return {spans[place - 1] for place in await _coming(connection, spans)}


@statement("""
    SELECT w.place, run.id, run.schedule_time, run.state
    FROM unnest(CAST(:spans.workflow_code AS bigint[]), CAST(:spans.begin AS timestamptz[]),
                CAST(:spans.whole AS boolean[])) WITH ORDINALITY
         AS w (code, begin_at, whole, place)
    CROSS JOIN LATERAL (
        SELECT i.id, i.schedule_time, i.state FROM workflow_instance i         -- index: workflow_instance_time
        WHERE i.workflow_code = w.code AND i.schedule_time >= '0001-01-03' AND i.schedule_time < w.begin_at
          AND NOT i.dry_run AND (i.scope IS NULL OR NOT w.whole)
        ORDER BY i.schedule_time DESC, i.id DESC LIMIT 1
    ) AS run
""")
async def _before(connection: AsyncConnection, spans: Sequence[Span]) -> dict[int, Before]: ...


async def before(connection: AsyncConnection, spans: Sequence[Span]) -> dict[Span, Before]:
    """The latest run before each of these spans, of any date; a span without one is missing."""
    return {spans[place - 1]: run for place, run in (await _before(connection, spans)).items()}


# SKIP LOCKED: a lock on one of these rows must not delay the others.
@changing(lambda result: Changes(tasks=set(result.values())))
@statement("""
    WITH free AS MATERIALIZED (
        SELECT t.id FROM task_instance t
        JOIN workflow_instance i ON i.id = t.workflow_instance_id AND coalesce(i.master_id = :master, false)
        WHERE t.id = ANY(CAST(:ends.id AS bigint[])) AND coalesce(t.state = 'RUNNING_EXECUTION', false)
        FOR UPDATE OF t SKIP LOCKED
    ), ended AS (
        UPDATE task_instance t
        SET state = n.state, ended_at = clock_timestamp(), reason = n.reason, outputs = n.outputs
        FROM unnest(CAST(:ends.id AS bigint[]), CAST(:ends.state AS text[]), CAST(:ends.reason AS text[]),
                    CAST(:ends.outputs AS text[]))
             AS n (id, state, reason, outputs)
        WHERE t.id = ANY(ARRAY(SELECT id FROM free)) AND t.id = n.id
        RETURNING t.id, t.workflow_instance_id, t.task_code, t.attempt, t.state, t.outputs
    ), reported AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, outputs)
        SELECT workflow_instance_id, task_code, attempt, state, outputs FROM ended
    )
    SELECT id, workflow_instance_id FROM ended
""")
async def end(
    connection: FencedTransaction, ends: Sequence[DependentEnd], master: Epoch
) -> dict[TaskInstanceId, WorkflowInstanceId]:
    """Write the ends of own DEPENDENT tasks that still wait, and notify their owner. Returns those written,
    with their runs.

    A task missing in the result has ended already, or its row is locked.
    """


async def notify_masters(connection: FencedTransaction, happened: Iterable[Happened]) -> None:
    """Notify all masters of ends for which DEPENDENT tasks may wait. Call it once in a transaction."""
    await notify_each(connection, DEPENDENCY, payloads(happened))


def read_notice(payload: str) -> list[Notice] | None:
    """The content of a notification by `notify_masters`; None = another payload: anything may have happened."""
    if not payload:
        return None
    notices = []
    for token in payload.split(" "):
        code, _, rest = token.partition(":")
        at, _, task = rest.partition("/")
        try:
            notices.append(Notice(int(code), int(at), int(task) if task else None))
        except ValueError:
            return None
    return notices


def checksum(task: str) -> int:
    """Represents a task's name in a notification. A collision only causes a needless check."""
    return crc32(task.encode())


def payloads(happened: Iterable[Happened]) -> Iterator[str]:
    """As many payloads as needed; each token is `code:seconds`, with `/checksum` for a task."""
    tokens = {
        f"{each.workflow_code}:{int(each.schedule_time.timestamp())}"
        + (f"/{checksum(each.task)}" if each.task is not None else "")
        for each in set(happened)
    }
    gathered: list[str] = []
    size = 0
    for token in sorted(tokens):
        if size + len(token) >= _PAYLOAD_CHARACTERS_MAX:
            yield " ".join(gathered)
            gathered, size = [], 0
        gathered.append(token)
        size += len(token) + 1
    if gathered:
        yield " ".join(gathered)
