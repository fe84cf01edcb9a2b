"""The line of a serial workflow: which of its runs goes on, decided under a lock of the definition's row.

"Look whether one runs, then decide" is wrong with several masters; who decides holds the lock until it has committed.
Source: the execution types of Apache DolphinScheduler, by definition code, all versions together.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from model.ids import WorkflowCode, WorkflowInstanceId
from model.states import WorkflowState


@dataclass(frozen=True, slots=True)
class InLine:
    """A run that has not ended."""

    id: WorkflowInstanceId
    workflow_code: WorkflowCode
    state: WorkflowState


_LOCK = text("""
    SELECT code FROM workflow_definition WHERE code = ANY(CAST(:codes AS bigint[])) ORDER BY code FOR NO KEY UPDATE
""")
# `IS NOT TRUE`: in the words of its index, which are no other statement's.
_UNFINISHED = text("""
    SELECT id, workflow_code, coalesce(requested_state, state) AS state FROM workflow_instance
    WHERE workflow_code = ANY(CAST(:codes AS bigint[]))
      AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP')) IS NOT TRUE           -- index: workflow_instance_in_line
    ORDER BY id
""")
# Level-triggered, by any master: a line in which nobody runs and whom nobody has called.
_CALL_FORGOTTEN = text("""
    WITH waiting AS (
        SELECT DISTINCT workflow_code FROM workflow_instance WHERE state = 'SERIAL_WAIT'
    ), set_aside AS (
        SELECT id, workflow_code FROM workflow_instance w WHERE state = 'WAIT_TO_RUN'
          AND NOT EXISTS (SELECT FROM command c
                          WHERE c.type = 'RECOVER_WAITING_THREAD'                   -- index: command_calls
                            AND c.workflow_instance_id = w.id)
    ), called AS (
        INSERT INTO command (type, workflow_code, workflow_instance_id, created_by)
        SELECT 'RECOVER_SERIAL_WAIT', w.workflow_code, NULL::bigint, 'serial' FROM waiting w
        WHERE NOT EXISTS (SELECT FROM workflow_instance i
                          WHERE i.workflow_code = w.workflow_code
                            AND (i.state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP')) IS NOT TRUE
                            AND i.state <> 'SERIAL_WAIT')
          AND NOT EXISTS (SELECT FROM command c
                          WHERE c.type = 'RECOVER_SERIAL_WAIT' AND c.workflow_code = w.workflow_code)
        UNION ALL
        SELECT 'RECOVER_WAITING_THREAD', workflow_code, id, 'capacity' FROM set_aside
        RETURNING 1
    )
    SELECT count(*) FROM called
""")
_ANY_WAITS = text("SELECT EXISTS (SELECT FROM workflow_instance WHERE state IN ('SERIAL_WAIT', 'WAIT_TO_RUN'))")


async def lock(connection: AsyncConnection, codes: Collection[WorkflowCode]) -> list[InLine]:
    """Hold the lines of these workflows until the transaction ends; who stands in them, oldest first."""
    values = {"codes": sorted(set(codes))}
    await connection.execute(_LOCK, values)
    rows = (await connection.execute(_UNFINISHED, values)).all()
    return [InLine(WorkflowInstanceId(id_), WorkflowCode(code), WorkflowState(state)) for id_, code, state in rows]


async def anyone_waits(connection: AsyncConnection) -> bool:
    """Whether any run waits for its turn or for room."""
    return bool((await connection.execute(_ANY_WAITS)).scalar_one())


async def call_forgotten(connection: AsyncConnection) -> int:
    """Ask for whatever waits although nothing is before it. How many commands that took."""
    return int((await connection.execute(_CALL_FORGOTTEN)).scalar_one())
