"""`workflow_instance`: the runs, each written by its owner alone.

Every write names the owner and counts its rows. Fewer than expected means that memory and rows have parted:
`OwnershipLost`, upon which the master reads again what is its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from model.choices import FailureStrategy, Priority
from model.errors import Unknown
from model.ids import CommandId, Epoch, WorkflowCode, WorkflowInstanceId
from model.instances import WorkflowInstance
from model.states import WorkflowState

TAKEOVERS_MAX = 3
"""An instance whose owners were fenced so often ends as FAILURE: it may be what kills them."""


class OwnershipLost(Unknown):
    """A write hit fewer rows than it should: what this master believes to own must be read anew."""


@dataclass(frozen=True, slots=True)
class NewInstance:
    """What a START command makes."""

    command_id: CommandId
    workflow_code: WorkflowCode
    workflow_version: int
    failure_strategy: FailureStrategy
    priority: Priority
    worker_group: str
    params: str


@dataclass(frozen=True, slots=True)
class InstanceEnd:
    """How an instance ended; `reason` is empty for a success."""

    id: WorkflowInstanceId
    state: WorkflowState
    reason: str


_INSERT = text("""
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, params)
    SELECT n.command_id, n.code, n.version, 'RUNNING_EXECUTION', :master, n.failure_strategy,
           n.priority::priority_level, n.worker_group, n.params
    FROM unnest(CAST(:command_ids AS bigint[]), CAST(:codes AS bigint[]), CAST(:versions AS integer[]),
                CAST(:failure_strategies AS text[]), CAST(:priorities AS text[]), CAST(:worker_groups AS text[]),
                CAST(:params AS text[]))
         AS n (command_id, code, version, failure_strategy, priority, worker_group, params)
    RETURNING id, command_id
""")
# The state, not `ended_at`: see `dao.task_instances`, queue.
_FINISH = text("""
    UPDATE workflow_instance i
    SET state = f.state, reason = nullif(f.reason, ''), ended_at = clock_timestamp()
    FROM unnest(CAST(:ids AS bigint[]), CAST(:states AS text[]), CAST(:reasons AS text[])) AS f (id, state, reason)
    WHERE i.id = f.id AND i.master_id = :master AND i.state = 'RUNNING_EXECUTION'
""")
_COLUMNS = "id, workflow_code, workflow_version, failure_strategy, priority::text, worker_group, params"
# `takeovers` counts owners that were fenced, not those that left: a rolling restart must not fail a long run.
_TAKE_OVER = text(f"""
    UPDATE workflow_instance i
    SET master_id = :master, state = 'RUNNING_EXECUTION',
        takeovers = i.takeovers + CASE WHEN n.state = 'FENCED' THEN 1 ELSE 0 END
    FROM (SELECT id FROM workflow_instance WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR UPDATE) AS locked,
         node n
    WHERE i.id = locked.id AND n.id = i.master_id AND n.state IN ('FENCED', 'LEFT')
      AND i.state IN ('RUNNING_EXECUTION', 'FAILOVER')
    RETURNING {", ".join("i." + column for column in _COLUMNS.split(", "))}, i.takeovers
""")  # noqa: S608 - the columns are a constant of this module
_SETTLE = text("""
    UPDATE workflow_instance SET takeovers = 0
    WHERE id = ANY(CAST(:ids AS bigint[])) AND master_id = :master AND takeovers > 0
""")
_OWNED = text("SELECT id FROM workflow_instance WHERE master_id = :master AND ended_at IS NULL")
_READ_OWNED = text(f"""
    SELECT {_COLUMNS} FROM workflow_instance
    WHERE id = ANY(CAST(:ids AS bigint[])) AND master_id = :master AND ended_at IS NULL
""")  # noqa: S608 - the columns are a constant of this module
# Level-triggered: whatever was left by whoever is gone, whoever asks. What has an open RECOVER command is left out, so
# running it again finds only what is left; the unique index behind it holds if two run at once.
_HAND_ON = text("""
    WITH left_behind AS (
        SELECT i.id, i.workflow_code, i.priority
        FROM node n
        JOIN workflow_instance i ON i.master_id = n.id AND i.ended_at IS NULL     -- index: workflow_instance_unfinished
        WHERE n.kind = 'MASTER' AND n.state IN ('FENCED', 'LEFT')
          AND NOT EXISTS (SELECT FROM command c                                   -- index: command_one_recover
                          WHERE c.type = 'RECOVER_TOLERANCE_FAULT_PROCESS' AND c.workflow_instance_id = i.id)
        LIMIT :limit FOR UPDATE OF i SKIP LOCKED   -- ORDER BY could make it walk all history by primary key
    ), handed AS (
        UPDATE workflow_instance i SET state = 'FAILOVER' FROM left_behind l WHERE i.id = l.id RETURNING i.id
    ), asked AS (
        INSERT INTO command (type, workflow_code, workflow_instance_id, priority, created_by)
        SELECT 'RECOVER_TOLERANCE_FAULT_PROCESS', l.workflow_code, l.id, l.priority::text, 'failover'
        FROM left_behind l JOIN handed h ON h.id = l.id ORDER BY l.id
        ON CONFLICT (workflow_instance_id) WHERE type = 'RECOVER_TOLERANCE_FAULT_PROCESS' DO NOTHING
    )
    SELECT count(*) FROM handed
""")
_FIND_ONE = text("SELECT state, ended_at IS NOT NULL AS ended, master_id FROM workflow_instance WHERE id = :id")


async def insert(
    connection: AsyncConnection, new: Sequence[NewInstance], master: Epoch
) -> dict[CommandId, WorkflowInstanceId]:
    """Make the instances, owned by `master` and running; their ids by the command that asked for them."""
    rows = await connection.execute(
        _INSERT,
        {
            "master": master,
            "command_ids": [each.command_id for each in new],
            "codes": [each.workflow_code for each in new],
            "versions": [each.workflow_version for each in new],
            "failure_strategies": [each.failure_strategy for each in new],
            "priorities": [each.priority for each in new],
            "worker_groups": [each.worker_group for each in new],
            "params": [each.params for each in new],
        },
    )
    return {CommandId(command_id): WorkflowInstanceId(id_) for id_, command_id in rows.all()}


async def finish(connection: AsyncConnection, ends: Sequence[InstanceEnd], master: Epoch) -> None:
    """Write the ends of own instances. Raises `OwnershipLost`."""
    done = await connection.execute(
        _FINISH,
        {
            "master": master,
            "ids": [end.id for end in ends],
            "states": [end.state for end in ends],
            "reasons": [end.reason for end in ends],
        },
    )
    if done.rowcount != len(ends):
        raise OwnershipLost(f"{len(ends) - done.rowcount} of {len(ends)} instances to finish are not master {master}'s")


async def take_over(
    connection: AsyncConnection, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> dict[WorkflowInstanceId, tuple[WorkflowInstance, int]]:
    """Make unfinished instances of masters that are gone our own; each with the number of its takeovers."""
    rows = (await connection.execute(_TAKE_OVER, {"master": master, "ids": list(ids)})).all()
    return {WorkflowInstanceId(row.id): (_instance(row), row.takeovers) for row in rows}


async def settle(connection: AsyncConnection, ids: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    """Forget the takeovers of own instances that have got on since: they are not what kills masters."""
    await connection.execute(_SETTLE, {"ids": list(ids), "master": master})


async def owned(connection: AsyncConnection, master: Epoch) -> set[WorkflowInstanceId]:
    """All unfinished instances of a master."""
    return {WorkflowInstanceId(id_) for (id_,) in (await connection.execute(_OWNED, {"master": master})).all()}


async def read_owned(
    connection: AsyncConnection, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> list[WorkflowInstance]:
    """Those of `ids` that are unfinished and this master's."""
    rows = (await connection.execute(_READ_OWNED, {"ids": list(ids), "master": master})).all()
    return [_instance(row) for row in rows]


async def hand_on(connection: AsyncConnection, limit: int) -> int:
    """Ask, by RECOVER commands, for up to `limit` instances whose masters are gone. How many there were."""
    return int((await connection.execute(_HAND_ON, {"limit": limit})).scalar_one())


async def why_not_recovered(connection: AsyncConnection, id_: WorkflowInstanceId) -> str:
    """The sentence why an instance could not be taken over."""
    row = (await connection.execute(_FIND_ONE, {"id": id_})).first()
    if row is None:
        return f"there is no workflow instance {id_}"
    if row.ended:
        return f"workflow instance {id_} has already ended as {row.state}; there is nothing to take over"
    return f"workflow instance {id_} belongs to master {row.master_id}, which lives; it is not taken away"


def _instance(row: Row[tuple[object, ...]]) -> WorkflowInstance:
    return WorkflowInstance(
        WorkflowInstanceId(row.id),
        WorkflowCode(row.workflow_code),
        row.workflow_version,
        FailureStrategy(row.failure_strategy),
        Priority(row.priority),
        row.worker_group,
        row.params,
    )
