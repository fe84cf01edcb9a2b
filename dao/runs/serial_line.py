"""The line of a serial workflow: which of its runs is next, decided under a lock of the definition's row.

Checking whether a run is live and then deciding is a race between several masters, so the lock is held until the
decision is committed. A line may be 100,000 runs long, so nothing here reads all of it: only whether a run is live, and
which one is at the head. The execution types are those of Apache DolphinScheduler, by definition code, all versions
together.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import text

from dao.postgres.database import FencedTransaction
from dao.postgres.engine import AsyncConnection
from model.ids import WorkflowCode, WorkflowInstanceId
from model.states import WorkflowState


@dataclass(frozen=True, slots=True)
class Deadlock:
    """A waiting child run, and the live run of its line, which waits for that child in turn."""

    id: WorkflowInstanceId
    live: WorkflowInstanceId
    workflow_code: WorkflowCode


@dataclass(frozen=True, slots=True)
class InLine:
    """A run that has not ended."""

    id: WorkflowInstanceId
    workflow_code: WorkflowCode
    state: WorkflowState


_LOCK = text("""
    SELECT code FROM workflow_definition WHERE code = ANY(CAST(:codes AS bigint[])) ORDER BY code FOR NO KEY UPDATE
""")
# `IS NOT TRUE`: the same expression as in its index, which no other statement uses. Reads the first index entry of each
# kind.
_LIVE = """
    workflow_code = line.code AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
"""
_HEADS = text(f"""
    SELECT head.id, line.code, head.state FROM unnest(CAST(:codes AS bigint[])) AS line (code)
    CROSS JOIN LATERAL (
        (SELECT id, coalesce(requested_state, state) AS state FROM workflow_instance
         WHERE {_LIVE} ORDER BY id LIMIT 1)                                     -- index: workflow_instance_live
        UNION ALL
        (SELECT id, state FROM workflow_instance
         WHERE workflow_code = line.code AND state = 'SERIAL_WAIT'              -- index: workflow_instance_waiting
         ORDER BY id LIMIT 1)
    ) AS head
    ORDER BY head.id
""")  # noqa: S608 - the part is a constant of this module
_ALL_LIVE = text(f"""
    SELECT id, coalesce(requested_state, state) AS state FROM (SELECT CAST(:code AS bigint) AS code) AS line
    JOIN workflow_instance ON {_LIVE} ORDER BY id                               -- index: workflow_instance_live
""")  # noqa: S608 - the part is a constant of this module
_WAITING = text("""
    SELECT id FROM workflow_instance
    WHERE workflow_code = :code AND state = 'SERIAL_WAIT'                       -- index: workflow_instance_waiting
    ORDER BY id LIMIT :limit
""")
_OVERTAKEN = text("""
    SELECT id FROM workflow_instance
    WHERE workflow_code = :code AND state = 'SERIAL_WAIT'                       -- index: workflow_instance_waiting
      AND id < (SELECT id FROM workflow_instance
                WHERE workflow_code = :code AND state = 'SERIAL_WAIT' AND execution_type = 'SERIAL_PRIORITY'
                ORDER BY id DESC LIMIT 1)                                       -- index: workflow_instance_urgent
    ORDER BY id LIMIT :limit
""")
# Level-triggered, by any master: lines without a live run and without a command. It steps from line to line, however
# many runs wait in each.
_CALL_MISSED = text("""
    WITH RECURSIVE waiting AS (
        (SELECT workflow_code FROM workflow_instance WHERE state = 'SERIAL_WAIT'    -- index: workflow_instance_waiting
         ORDER BY workflow_code LIMIT 1)
        UNION ALL
        SELECT (SELECT i.workflow_code FROM workflow_instance i
                WHERE i.state = 'SERIAL_WAIT' AND i.workflow_code > w.workflow_code
                ORDER BY i.workflow_code LIMIT 1)
        FROM waiting w WHERE w.workflow_code IS NOT NULL
    ), called AS (
        INSERT INTO command (type, workflow_code, created_by)
        SELECT 'RECOVER_SERIAL_WAIT', w.workflow_code, 'serial' FROM waiting w
        WHERE w.workflow_code IS NOT NULL
          AND (SELECT i.id FROM workflow_instance i                                 -- index: workflow_instance_live
               WHERE i.workflow_code = w.workflow_code
                 AND (i.state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
               ORDER BY i.id LIMIT 1) IS NULL
          AND NOT EXISTS (SELECT FROM command c                                     -- index: command_calls
                          WHERE c.type = 'RECOVER_SERIAL_WAIT' AND c.workflow_code = w.workflow_code)
        RETURNING 1
    )
    SELECT count(*) FROM called
""")
_ANY_WAITS = text("""
    SELECT (SELECT workflow_code FROM workflow_instance WHERE state = 'SERIAL_WAIT' -- index: workflow_instance_waiting
            ORDER BY workflow_code LIMIT 1) IS NOT NULL
""")


# What a live run of a line with waiting runs waits for: its children, their children, and of those that wait in a line
# the live run of that line. If it waits for a run of the same line, both wait forever. Only workflows that contain each
# other come to that, so it is a few rows for each line.
_DEADLOCKED = text(f"""
    WITH RECURSIVE waiting AS (
        (SELECT workflow_code AS code FROM workflow_instance WHERE state = 'SERIAL_WAIT'
         ORDER BY workflow_code LIMIT 1)                                        -- index: workflow_instance_waiting
        UNION ALL
        SELECT (SELECT i.workflow_code FROM workflow_instance i
                WHERE i.state = 'SERIAL_WAIT' AND i.workflow_code > w.code
                ORDER BY i.workflow_code LIMIT 1)
        FROM waiting w WHERE w.code IS NOT NULL
    ), awaited AS (
        SELECT head.id AS live, line.code, head.id, head.workflow_code, head.state FROM waiting AS line
        CROSS JOIN LATERAL (SELECT id, workflow_code, state FROM workflow_instance WHERE {_LIVE}) AS head
        UNION
        SELECT a.live, a.code, next.id, next.workflow_code, next.state FROM awaited a
        CROSS JOIN LATERAL (
            SELECT c.id, c.workflow_code, c.state FROM workflow_instance c         -- index: workflow_instance_child
            WHERE c.parent_instance_id = a.id AND coalesce(c.ended_at IS NULL, false) AND a.state <> 'SERIAL_WAIT'
            UNION ALL
            SELECT head.id, head.workflow_code, head.state FROM (SELECT a.workflow_code AS code) AS line
            CROSS JOIN LATERAL (SELECT id, workflow_code, state FROM workflow_instance WHERE {_LIVE}) AS head
            WHERE a.state = 'SERIAL_WAIT'                                          -- index: workflow_instance_live
        ) AS next
    )
    SELECT id, max(live) AS live, code FROM awaited WHERE state = 'SERIAL_WAIT' AND workflow_code = code
    GROUP BY id, code ORDER BY id
""")  # noqa: S608 - the part is a constant of this module


async def lock(connection: AsyncConnection, codes: Collection[WorkflowCode]) -> list[InLine]:
    """Lock the lines of these workflows until the transaction ends; of each its oldest live and its oldest waiting run.

    Oldest first. A caller that needs several lines requests all of them at once: they are locked in one order, so there
    is no deadlock.
    """
    values = {"codes": sorted(set(codes))}
    await connection.execute(_LOCK, values)
    rows = (await connection.execute(_HEADS, values)).all()
    return [InLine(WorkflowInstanceId(id_), WorkflowCode(code), WorkflowState(state)) for id_, code, state in rows]


async def live(connection: AsyncConnection, code: WorkflowCode) -> list[InLine]:
    """All runs of a workflow that have begun and not ended, oldest first. At most one unless runs are in parallel."""
    rows = (await connection.execute(_ALL_LIVE, {"code": code})).all()
    return [InLine(WorkflowInstanceId(id_), code, WorkflowState(state)) for id_, state in rows]


async def waiting(connection: AsyncConnection, code: WorkflowCode, limit: int) -> list[WorkflowInstanceId]:
    """Up to `limit` runs of a workflow that wait for their turn, oldest first."""
    rows = await connection.execute(_WAITING, {"code": code, "limit": limit})
    return [WorkflowInstanceId(id_) for (id_,) in rows.all()]


async def overtaken(connection: AsyncConnection, code: WorkflowCode, limit: int) -> list[WorkflowInstanceId]:
    """Up to `limit` runs of a workflow that wait although a newer one that waits has priority, oldest first."""
    rows = await connection.execute(_OVERTAKEN, {"code": code, "limit": limit})
    return [WorkflowInstanceId(id_) for (id_,) in rows.all()]


async def anyone_waits(connection: AsyncConnection) -> bool:
    """Whether any run waits for its turn."""
    return bool((await connection.execute(_ANY_WAITS)).scalar_one())


async def call_missed(connection: FencedTransaction) -> int:
    """Insert commands for lines that wait although no run is live. Returns how many."""
    return int((await connection.execute(_CALL_MISSED)).scalar_one())


async def deadlocked(connection: AsyncConnection) -> list[Deadlock]:
    """The child runs that wait for their turn behind a run that waits for them, directly or through other runs."""
    rows = (await connection.execute(_DEADLOCKED)).all()
    return [Deadlock(WorkflowInstanceId(id_), WorkflowInstanceId(live), WorkflowCode(code)) for id_, live, code in rows]
