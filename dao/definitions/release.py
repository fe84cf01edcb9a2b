"""Putting a workflow ONLINE or OFFLINE, and deleting it."""

from __future__ import annotations

from dataclasses import dataclass

from dao.definitions.references import named_by
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import changing, statement
from model.changes import Changes
from model.choices import ReleaseState
from model.ids import CommandId, ScheduleId, WorkflowCode, WorkflowInstanceId

FOUND_MAX = 5

_SCHEDULES = Sql("SELECT id FROM schedule WHERE workflow_code = :code ORDER BY id LIMIT :limit")
# In two parts, each with its index: workflow_instance_line, workflow_instance_turn.
_UNFINISHED = Sql("""
    SELECT id FROM workflow_instance WHERE workflow_code = :code
      AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
    UNION ALL
    SELECT id FROM workflow_instance WHERE workflow_code = :code AND state = 'SERIAL_WAIT'
    ORDER BY id LIMIT :limit
""")
_COMMANDS = Sql("SELECT id FROM command WHERE workflow_code = :code ORDER BY id LIMIT :limit")  # asked by people only


@dataclass(frozen=True, slots=True)
class Users:
    """What uses a workflow, and would fail without it: of each up to `FOUND_MAX`."""

    runs: list[WorkflowInstanceId]
    commands: list[CommandId]
    schedules: list[ScheduleId]
    workflows: list[tuple[str, str]]
    """Their projects and names."""


@changing(lambda code: Changes(definitions={code}))
@statement("""
    UPDATE workflow_definition SET release_state = :state, updated_at = clock_timestamp()
    WHERE code = :code AND release_state <> :state
""")
async def set_state(connection: AsyncConnection, code: WorkflowCode, state: ReleaseState) -> bool:
    """Whether this changed it: False if it was so already."""


@statement("SELECT id FROM schedule WHERE workflow_code = :code AND state = 'ONLINE' ORDER BY id")
async def firing(connection: AsyncConnection, code: WorkflowCode) -> list[ScheduleId]:
    """Its schedules that are ONLINE."""


async def users_of(connection: AsyncConnection, code: WorkflowCode) -> Users:
    """What uses a workflow: unfinished runs, waiting commands, schedules, and current versions of other workflows."""
    values = {"code": code, "limit": FOUND_MAX}
    runs, commands, schedules = [
        (await connection.execute(query, values)).scalars() for query in (_UNFINISHED, _COMMANDS, _SCHEDULES)
    ]
    return Users(runs, commands, schedules, (await named_by(connection, code))[:FOUND_MAX])


@changing(lambda code: Changes(definitions={code}))
@statement("""
    WITH gone AS (DELETE FROM workflow_version WHERE workflow_code = :code)
    DELETE FROM workflow_definition WHERE code = :code
""")
async def delete(connection: AsyncConnection, code: WorkflowCode) -> None:
    """Delete a workflow and its versions. The rows of its runs stay."""
