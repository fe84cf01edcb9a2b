"""All rows that explain why a run does not move: read by a few statements for sets, in a transaction of one moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from dao.cluster import nodes
from dao.cluster.node_rows import NodeRow
from dao.commands import queue_listings
from dao.commands.older_starts import first_older
from dao.commands.queue_listings import GroupQueue
from dao.definitions import definitions
from dao.pools import pool_readings
from dao.pools.pool_readings import PoolReading
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from dao.run_lists import element_listings
from dao.run_lists import run_listings as listings
from dao.runs import dependencies, lookups, relations
from dao.runs.dependent_verdicts import evaluate_all
from dao.runs.relations import ChildRun
from dao.runs.rows import Elements, Run, TaskRun
from dao.streams import stream_listings as streams
from dao.streams.stream_listings import OpenRestart
from dao.tasks import approvals
from dao.tasks.approvals import Approval
from model.cluster.nodes import NodeState
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import CommandId, Epoch, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logic.approval import APPROVAL
from model.logic.dependent import Outcome
from model.runs.commands import read_parent
from model.runs.instances import Parent
from model.runs.states import TaskState, WorkflowState

LEVELS_BELOW_MAX = 5
"""The maximum depth of nested runs in a readable sentence."""
PLACES_MAX = 20
"""Positions in the queue are counted one by one; a larger number is not useful. Of so many DEPENDENT tasks it is
evaluated what they wait for."""


@dataclass(frozen=True, slots=True)
class OpenCommand:
    """A command that no master has taken yet: for a run itself, or for a child of it (`parent`); `project` is that of
    the workflow that it starts."""

    id: CommandId
    type: str
    age_s: float | None
    parent: Parent | None
    project: str | None


@dataclass(frozen=True, slots=True)
class RunReading:
    """A run and what explains it, all of the moment `now`.

    Mappings by run contain the run and those below it that may explain it: of each attempt that counts the first child
    in each state but SUCCESS and STOP. `runs` also contains those above a run at rest, up to the first that is not.
    `idle_s` are the seconds since anything of a run changed; `before` the runs that are before one in a serial line,
    `older` the oldest start that is before one with a key and not handled yet, `max_active` how many runs of its line
    go on at once. `life` has the states of their masters and workers. `values` are those that an attempt which chose a
    branch compared, as JSON; `places` are positions in the queue of a worker group, 1 = next;
    `pools` are those for whose resources a queued attempt waits, `restarts` the streams of a run that are restarted.
    `awaits` says for what a DEPENDENT task waits, `asks` what an APPROVAL task asks, `elements` how far a task with
    elements is.
    """

    id: WorkflowInstanceId
    now: datetime
    runs: Mapping[WorkflowInstanceId, Run]
    attempts: Mapping[WorkflowInstanceId, Sequence[TaskRun]]
    children: Mapping[WorkflowInstanceId, Sequence[ChildRun]]
    commands: Mapping[WorkflowInstanceId, Sequence[OpenCommand]]
    idle_s: Mapping[WorkflowInstanceId, float]
    before: Mapping[WorkflowInstanceId, Sequence[tuple[WorkflowInstanceId, WorkflowState]]]
    specs: Mapping[tuple[WorkflowCode, int], WorkflowSpec | Refused]
    values: Mapping[TaskInstanceId, tuple[str, str | None]]
    places: Mapping[TaskInstanceId, int]
    life: Mapping[Epoch, NodeState]
    living: Sequence[NodeRow]
    queue: Sequence[GroupQueue]
    older: Mapping[WorkflowInstanceId, CommandId] = field(default_factory=dict)
    max_active: Mapping[WorkflowInstanceId, int] = field(default_factory=dict)
    pools: Mapping[TaskInstanceId, Sequence[PoolReading]] = field(default_factory=dict)
    restarts: Mapping[WorkflowInstanceId, Sequence[OpenRestart]] = field(default_factory=dict)
    awaits: Mapping[TaskInstanceId, str] = field(default_factory=dict)
    asks: Mapping[TaskInstanceId, Approval] = field(default_factory=dict)
    elements: Mapping[TaskInstanceId, Elements] = field(default_factory=dict)


# UNION, not UNION ALL: rows written by hand may stand under each other. OFFSET 0: each run by itself, since a join
# could read all tasks in the history. Idle within some years, since an infinite time has no distance.
_FAMILY = Sql("""
    WITH RECURSIVE below AS (
        SELECT CAST(:run AS bigint) AS id, 0 AS level
        UNION
        SELECT child.id, below.level + 1 FROM below CROSS JOIN LATERAL (
            SELECT DISTINCT ON (c.parent_task_code, c.state) c.id
            FROM workflow_instance c                                               -- index: workflow_instance_child
            JOIN task_instance t ON t.workflow_instance_id = below.id              -- index: task_instance_valid
                 AND t.task_code = c.parent_task_code AND t.attempt = c.parent_attempt AND t.flag = 'YES'
            WHERE c.parent_instance_id = below.id AND c.state NOT IN ('SUCCESS', 'STOP')
            ORDER BY c.parent_task_code, c.state, c.child_index OFFSET 0) AS child
        WHERE below.level < :levels
    ), above AS (
        SELECT i.id, i.state, i.parent_instance_id AS parent FROM workflow_instance i WHERE i.id = :run
        UNION
        SELECT p.id, p.state, p.parent_instance_id FROM above a JOIN workflow_instance p ON p.id = a.parent
        WHERE a.state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP')
    ), family AS (
        SELECT id, bool_or(is_below) AS is_below
        FROM (SELECT id, true AS is_below FROM below UNION ALL SELECT id, false FROM above) AS each GROUP BY id
    )
    SELECT i.id, family.is_below, clock_timestamp() AS now,
           greatest(0, extract(epoch FROM clock_timestamp() - least(now(), greatest(
               i.started_at, i.running_since, i.owned_since, now() - interval '9 y',
               (SELECT max(greatest(t.queued_at, t.started_at, t.ended_at)) FROM task_instance t
                WHERE t.workflow_instance_id = i.id),                              -- index: task_instance_attempt
               (SELECT max(c.ended_at) FROM workflow_instance c
                WHERE c.parent_instance_id = i.id)))))::float8 AS idle_s           -- index: workflow_instance_child
    FROM family JOIN workflow_instance i ON i.id = family.id
""")
_COMMANDS = Sql("""
    SELECT c.id, c.type, CASE WHEN isfinite(c.created_at)
                              THEN extract(epoch FROM clock_timestamp() - c.created_at)::float8 END AS age_s,
           asked.run, asked.parent, d.project
    FROM (SELECT id, workflow_instance_id AS run, NULL AS parent FROM command      -- index: command_one_recover
          WHERE workflow_instance_id = ANY(CAST(:runs AS bigint[])) AND type = 'RECOVER_TOLERANCE_FAULT_PROCESS'
          UNION ALL
          SELECT id, workflow_instance_id, NULL FROM command                       -- index: command_resume
          WHERE workflow_instance_id = ANY(CAST(:runs AS bigint[]))
            AND type IN ('RECOVER_SUSPENDED_PROCESS', 'START_FAILURE_TASK_PROCESS')
          UNION ALL
          SELECT id, NULL, parent FROM command                                     -- index: command_child
          WHERE parent IS NOT NULL AND left(split_part(parent, '/', 1), 20) = ANY(CAST(:names AS text[]))
            AND parent NOT LIKE '%/event') AS asked
    JOIN command c ON c.id = asked.id LEFT JOIN workflow_definition d ON d.code = c.workflow_code ORDER BY c.id
""")


async def read(connection: AsyncConnection, id_: WorkflowInstanceId, task: str | None = None) -> RunReading:
    """Read a run, in a transaction of one moment (`Database.snapshot`); `task` is which task of it is asked for.

    Raises `NotFound`.
    """
    family = (await connection.execute(_FAMILY, {"run": id_, "levels": LEVELS_BELOW_MAX})).all()
    ids = [WorkflowInstanceId(row.id) for row in family if row.is_below]
    runs = await listings.heads(connection, {id_, *(row.id for row in family)})
    attempts = await listings.attempts(connection, ids)
    if task is not None:
        attempts[id_] += await element_listings.attempts_named(connection, id_, attempts[id_], task)
    counting = [each for run in ids for each in attempts[run] if each.valid]
    queued = [each.id for each in counting if each.state is TaskState.QUEUED]
    # Of thousands only some are read: the one that is asked for must be among them.
    asked = {each.id for each in attempts[id_] if each.name == task}
    queued.sort(key=lambda each: each not in asked)
    in_master = [each for each in counting if each.state is TaskState.RUNNING_EXECUTION]
    waiting = [each.id for each in in_master if each.type == "DEPENDENT"]
    waiting.sort(key=lambda each: each not in asked)
    asking = [each.id for each in in_master if each.type == APPROVAL]
    asking.sort(key=lambda each: each not in asked)
    owners = {*(runs[run].master_id for run in ids), *(each.worker for each in counting if each.worker is not None)}
    in_line = [run for run in ids if runs[run].state is WorkflowState.SERIAL_WAIT]
    return RunReading(
        id_,
        now=family[0].now,
        runs=runs,
        attempts=attempts,
        children=await relations.children(connection, ids),
        commands=await _commands(connection, ids),
        idle_s={row.id: row.idle_s for row in family},
        before=await relations.before(connection, in_line) if in_line else {},
        older=await first_older(connection, in_line) if in_line else {},
        max_active=await relations.max_active(connection, in_line) if in_line else {},
        values=await lookups.parameter_values(connection, counting),
        places=await _places(connection, queued[:PLACES_MAX]) if queued else {},
        pools=await pool_readings.read(connection, queued[:PLACES_MAX]) if queued else {},
        elements=await element_listings.elements(connection, attempts),
        awaits=await _awaits(connection, waiting[:PLACES_MAX]) if waiting else {},
        asks=await _asks(connection, asking[:PLACES_MAX]) if asking else {},
        restarts=await streams.restarts(connection, ids) if any(each.is_stream for each in counting) else {},
        life=await _life(connection, owners),
        living=await nodes.living(connection),
        queue=await queue_listings.queue_by_group(connection),
        specs=await definitions.specs(connection, {(runs[run].workflow_code, runs[run].version) for run in ids}),
    )


async def _commands(
    connection: AsyncConnection, runs: Sequence[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, list[OpenCommand]]:
    found: dict[WorkflowInstanceId, list[OpenCommand]] = defaultdict(list)
    values = {"runs": runs, "names": [str(run) for run in runs]}
    for id_, type_, age_s, run, written, project in await connection.execute(_COMMANDS, values):
        with suppress(Refused):  # written by hand; the master that takes it reports what is wrong
            parent = read_parent(written)
            found[parent.instance if parent else run].append(OpenCommand(CommandId(id_), type_, age_s, parent, project))
    return found


@statement("SELECT id, state FROM node WHERE id = ANY(CAST(:epochs AS bigint[]))")
async def _life(connection: AsyncConnection, epochs: Collection[Epoch]) -> dict[Epoch, NodeState]: ...


async def _awaits(connection: AsyncConnection, ids: Sequence[TaskInstanceId]) -> dict[TaskInstanceId, str]:
    verdicts = await evaluate_all(connection, await dependencies.still_waiting(connection, None, ids))
    return {task.id: said.sentence for task, (said, _) in verdicts.items() if said.outcome is Outcome.WAIT}


async def _asks(connection: AsyncConnection, ids: Sequence[TaskInstanceId]) -> dict[TaskInstanceId, Approval]:
    return {each.id: each for each in await approvals.these(connection, ids)}


# The order is that of the workers' claims: streams that need only a place go before all else, and what waits for pools
# before nobody. The index of the queue supports it.
@statement("""
    SELECT mine.id, (
        SELECT count(*) FROM task_instance q WHERE q.state = 'QUEUED' AND q.worker_group = mine.worker_group
          AND q.is_plain = mine.is_plain AND (q.resources IS NULL) = (mine.resources IS NULL)
          AND (q.workflow_priority, q.workflow_instance_id, q.task_priority, q.id)
              <= (mine.workflow_priority, mine.workflow_instance_id, mine.task_priority, mine.id))
        + CASE WHEN mine.is_plain THEN (
            SELECT count(*) FROM task_instance s
            WHERE s.stream IS NOT NULL AND s.state = 'QUEUED'                        -- index: task_instance_stream
              AND s.worker_group = mine.worker_group AND s.resources IS NULL) ELSE 0 END
    FROM task_instance mine WHERE mine.id = ANY(CAST(:ids AS bigint[]))
""")
async def _places(connection: AsyncConnection, ids: Sequence[TaskInstanceId]) -> dict[TaskInstanceId, int]: ...
