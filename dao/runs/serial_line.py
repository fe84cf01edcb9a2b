"""The lines of serial workflows: which run of a line is next, decided under a lock of the definition's row.

Checking whether a run is live and then deciding is a race between several masters, so the lock is held until the
decision is committed. A line may be 100,000 runs long, so nothing here reads all of it: only whether a run is live, and
which one is at the head. The execution types are those of Apache DolphinScheduler, by definition code, all versions
together; a workflow with a key has a line for each value of it. The runs of a line without a key are in the order of
their ids, those of a line with one in the order of their commands.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import text

from dao.postgres.database import FencedTransaction
from dao.postgres.engine import AsyncConnection
from model.ids import CommandId, WorkflowCode, WorkflowInstanceId
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState


@dataclass(frozen=True, slots=True)
class Deadlock:
    """A waiting child run, and the live run of its line, which waits for that child in turn."""

    id: WorkflowInstanceId
    live: WorkflowInstanceId
    workflow_code: WorkflowCode


@dataclass(frozen=True, slots=True)
class InLine:
    """A run that has not ended, and the command that asked for it."""

    id: WorkflowInstanceId
    line: Line
    state: WorkflowState
    command: CommandId


_LOCK = text("""
    SELECT code FROM workflow_definition WHERE code = ANY(CAST(:codes AS bigint[])) ORDER BY code FOR NO KEY UPDATE
""")
# Of a workflow whose row somebody deleted while runs wait: they go on, one at a time.
_LOCK_DELETED = text("""
    SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'shoal line', current_schema(), code), 0))
    FROM (SELECT code FROM unnest(CAST(:codes AS bigint[])) AS given (code) ORDER BY code) AS gone
""")
# Reads the first index entry of each kind. A live run is in none of these states: with `IS NOT TRUE` it is the same
# expression as in the index, which no other statement uses. So is the place of a waiting run in its line.
_HEADS = text("""
    SELECT head.id, line.code, line.key, head.state, head.command_id
    FROM unnest(CAST(:codes AS bigint[]), CAST(:keys AS text[])) AS line (code, key)
    CROSS JOIN LATERAL (
        (SELECT id, coalesce(requested_state, state) AS state, command_id FROM workflow_instance
         WHERE workflow_code = line.code AND serial_key = line.key              -- index: workflow_instance_line
           AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
         ORDER BY id LIMIT 1)
        UNION ALL
        (SELECT id, state, command_id FROM workflow_instance
         WHERE workflow_code = line.code AND serial_key = line.key              -- index: workflow_instance_turn
           AND state = 'SERIAL_WAIT' ORDER BY (CASE WHEN serial_key = '' THEN id ELSE command_id END) LIMIT 1)
    ) AS head
    ORDER BY head.id
""")
_ALL_LIVE = text("""
    SELECT id, coalesce(requested_state, state) AS state, command_id
    FROM (SELECT CAST(:code AS bigint) AS code, CAST(:key AS text) AS key) AS line
    JOIN workflow_instance ON workflow_code = line.code AND serial_key = line.key   -- index: workflow_instance_line
                          AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
    ORDER BY id
""")
_WAITING = text("""
    SELECT head.id, line.code, line.key, head.command_id
    FROM unnest(CAST(:codes AS bigint[]), CAST(:keys AS text[])) AS line (code, key)
    CROSS JOIN LATERAL (
        SELECT id, command_id, (CASE WHEN serial_key = '' THEN id ELSE command_id END) AS place
        FROM workflow_instance                                                  -- index: workflow_instance_turn
        WHERE workflow_code = line.code AND serial_key = line.key AND state = 'SERIAL_WAIT'
        ORDER BY (CASE WHEN serial_key = '' THEN id ELSE command_id END) LIMIT :limit
    ) AS head
    ORDER BY line.code, line.key, head.place
""")
_OVERTAKEN = text("""
    SELECT behind.id, line.code, line.key
    FROM unnest(CAST(:codes AS bigint[]), CAST(:keys AS text[])) AS line (code, key)
    CROSS JOIN LATERAL (
        SELECT (CASE WHEN serial_key = '' THEN id ELSE command_id END) AS place
        FROM workflow_instance                                                  -- index: workflow_instance_urgent_turn
        WHERE workflow_code = line.code AND serial_key = line.key
          AND state = 'SERIAL_WAIT' AND execution_type = 'SERIAL_PRIORITY'
        ORDER BY (CASE WHEN serial_key = '' THEN id ELSE command_id END) DESC LIMIT 1
    ) AS newest
    CROSS JOIN LATERAL (
        SELECT id, (CASE WHEN serial_key = '' THEN id ELSE command_id END) AS place
        FROM workflow_instance                                                  -- index: workflow_instance_turn
        WHERE workflow_code = line.code AND serial_key = line.key AND state = 'SERIAL_WAIT'
          AND (CASE WHEN serial_key = '' THEN id ELSE command_id END) < newest.place
        ORDER BY (CASE WHEN serial_key = '' THEN id ELSE command_id END) LIMIT :limit
    ) AS behind
    ORDER BY line.code, line.key, behind.place
""")
# It steps from line to line, however many runs wait in each. So do the statements below that find all waiting lines.
_IDLE = text("""
    WITH RECURSIVE waiting AS (
        (SELECT workflow_code AS code, serial_key AS key FROM workflow_instance -- index: workflow_instance_turn
         WHERE state = 'SERIAL_WAIT' AND workflow_code = :code AND serial_key >= :first
         ORDER BY workflow_code, serial_key LIMIT 1)
        UNION ALL
        SELECT next.code, next.key FROM waiting w CROSS JOIN LATERAL (
            SELECT i.workflow_code AS code, i.serial_key AS key FROM workflow_instance i
            WHERE i.state = 'SERIAL_WAIT' AND i.workflow_code = :code
              AND (i.workflow_code, i.serial_key) > (w.code, w.key)
            ORDER BY i.workflow_code, i.serial_key LIMIT 1) AS next
    )
    SELECT line.key FROM waiting AS line
    WHERE (SELECT id FROM workflow_instance                                     -- index: workflow_instance_line
           WHERE workflow_code = line.code AND serial_key = line.key
             AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
           ORDER BY id LIMIT 1) IS NULL
    LIMIT :limit
""")
# A call that is in the table already is enough: its master locks the lines first, so waits for the caller. Not
# one of which a master may have died, since that may be refused.
_CALL_ALL = text("""
    INSERT INTO command (type, workflow_code, created_by)
    SELECT 'RECOVER_SERIAL_WAIT', code, 'serial' FROM unnest(CAST(:codes AS bigint[])) AS asked (code)
    WHERE (SELECT id FROM workflow_instance WHERE workflow_code = code AND state = 'SERIAL_WAIT' LIMIT 1) IS NOT NULL
      AND (SELECT c.id FROM command c                                           -- index: command_calls
           WHERE c.type = 'RECOVER_SERIAL_WAIT' AND c.workflow_code = code AND coalesce(c.workflow_instance_id, 0) = 0
             AND c.params = '{}' AND c.deaths = 0 LIMIT 1) IS NULL
""")
# The master that handles a call in the table may have read the lines before the caller commits. A run that
# another transaction makes just now is not visible: it waits for the next check of all lines.
_CALL_WITHOUT_LOCK = text("""
    INSERT INTO command (type, workflow_code, created_by)
    SELECT 'RECOVER_SERIAL_WAIT', code, 'serial' FROM (SELECT CAST(:code AS bigint) AS code) AS asked
    WHERE (SELECT id FROM workflow_instance WHERE workflow_code = code AND state = 'SERIAL_WAIT' LIMIT 1) IS NOT NULL
""")
_CALL_FROM = text("""
    INSERT INTO command (type, workflow_code, params, created_by)
    VALUES ('RECOVER_SERIAL_WAIT', :code, json_build_object('serial_from', CAST(:key AS text))::text, 'serial')
""")
# Level-triggered, by any master: workflows with lines without a live run and without a command. One command for each
# workflow: if an older command is locked for long, that may be 10,000 lines, again and again.
_CALL_MISSED = text("""
    WITH RECURSIVE waiting AS (
        (SELECT workflow_code AS code, serial_key AS key FROM workflow_instance -- index: workflow_instance_turn
         WHERE state = 'SERIAL_WAIT' AND true
         ORDER BY workflow_code, serial_key LIMIT 1)
        UNION ALL
        SELECT next.code, next.key FROM waiting w CROSS JOIN LATERAL (
            SELECT i.workflow_code AS code, i.serial_key AS key FROM workflow_instance i
            WHERE i.state = 'SERIAL_WAIT' AND true AND (i.workflow_code, i.serial_key) > (w.code, w.key)
            ORDER BY i.workflow_code, i.serial_key LIMIT 1) AS next
    )
    , calls AS MATERIALIZED (
        SELECT line.code, call.params FROM (SELECT DISTINCT code FROM waiting) AS line
        CROSS JOIN LATERAL (SELECT params FROM command                          -- index: command_calls
                            WHERE type = 'RECOVER_SERIAL_WAIT' AND workflow_code = line.code
                              AND coalesce(workflow_instance_id, 0) = 0) AS call
    ), called AS (
        INSERT INTO command (type, workflow_code, created_by)
        SELECT DISTINCT 'RECOVER_SERIAL_WAIT', line.code, 'serial' FROM waiting AS line
        WHERE (SELECT id FROM workflow_instance                                 -- index: workflow_instance_line
               WHERE workflow_code = line.code AND serial_key = line.key
                 AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
               ORDER BY id LIMIT 1) IS NULL
          AND NOT EXISTS (SELECT FROM calls c
                          WHERE c.code = line.code
                            AND c.params = CASE WHEN line.key = '' THEN '{}'
                                                ELSE json_build_object('serial_key', line.key)::text END)
          AND NOT EXISTS (SELECT FROM calls c
                          WHERE c.code = line.code AND (c.params = '{}' OR c.params LIKE '{"serial_from"%'))
        RETURNING 1
    )
    SELECT count(*) FROM called
""")


# What a live run of a line with waiting runs waits for: its children, their children, and of those that wait in a line
# the live run of that line. If it waits for a run of the same line, both wait forever. Only workflows that contain each
# other come to that, so it is a few rows for each line.
_DEADLOCKED = text("""
    WITH RECURSIVE waiting AS (
        (SELECT workflow_code AS code, serial_key AS key FROM workflow_instance -- index: workflow_instance_turn
         WHERE state = 'SERIAL_WAIT' AND true
         ORDER BY workflow_code, serial_key LIMIT 1)
        UNION ALL
        SELECT next.code, next.key FROM waiting w CROSS JOIN LATERAL (
            SELECT i.workflow_code AS code, i.serial_key AS key FROM workflow_instance i
            WHERE i.state = 'SERIAL_WAIT' AND true AND (i.workflow_code, i.serial_key) > (w.code, w.key)
            ORDER BY i.workflow_code, i.serial_key LIMIT 1) AS next
    )
    , awaited AS (
        SELECT head.id AS live, line.code, line.key, head.id, head.workflow_code, head.serial_key, head.state
        FROM waiting AS line
        CROSS JOIN LATERAL (
            SELECT id, workflow_code, serial_key, state FROM workflow_instance     -- index: workflow_instance_line
            WHERE workflow_code = line.code AND serial_key = line.key
              AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE) AS head
        UNION
        SELECT a.live, a.code, a.key, next.id, next.workflow_code, next.serial_key, next.state FROM awaited a
        CROSS JOIN LATERAL (
            SELECT c.id, c.workflow_code, c.serial_key, c.state
            FROM workflow_instance c                                               -- index: workflow_instance_child
            WHERE c.parent_instance_id = a.id AND coalesce(c.ended_at IS NULL, false) AND a.state <> 'SERIAL_WAIT'
            UNION ALL
            SELECT head.id, head.workflow_code, head.serial_key, head.state
            FROM (SELECT a.workflow_code AS code, a.serial_key AS key) AS line
            CROSS JOIN LATERAL (
                SELECT id, workflow_code, serial_key, state FROM workflow_instance -- index: workflow_instance_line
                WHERE workflow_code = line.code AND serial_key = line.key
                  AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE) AS head
            WHERE a.state = 'SERIAL_WAIT'
        ) AS next
    )
    SELECT id, max(live) AS live, code FROM awaited
    WHERE state = 'SERIAL_WAIT' AND workflow_code = code AND serial_key = key
    GROUP BY id, code ORDER BY id
""")


async def lock(connection: AsyncConnection, codes: Collection[WorkflowCode]) -> None:
    """Lock all lines of these workflows until the transaction ends.

    A caller that needs several workflows requests all of them at once: they are locked in one order, so there is no
    deadlock.
    """
    locked = (await connection.execute(_LOCK, {"codes": sorted(set(codes))})).scalars().all()
    if deleted := set(codes) - set(locked):
        await connection.execute(_LOCK_DELETED, {"codes": sorted(deleted)})


async def heads(connection: AsyncConnection, lines: Collection[Line]) -> list[InLine]:
    """Of each of these lines its oldest live run, and the waiting run that is next. The caller has locked them."""
    rows = (await connection.execute(_HEADS, _named(lines))).all()
    return [
        InLine(WorkflowInstanceId(id_), Line(WorkflowCode(code), key), WorkflowState(state), CommandId(command))
        for id_, code, key, state, command in rows
    ]


async def live(connection: AsyncConnection, line: Line) -> list[InLine]:
    """All runs of a line that have begun and not ended, oldest first. At most one unless runs are in parallel."""
    rows = (await connection.execute(_ALL_LIVE, {"code": line.workflow_code, "key": line.key})).all()
    return [
        InLine(WorkflowInstanceId(id_), line, WorkflowState(state), CommandId(command)) for id_, state, command in rows
    ]


async def waiting(connection: AsyncConnection, lines: Collection[Line], limit: int) -> list[InLine]:
    """Of each of these lines up to `limit` runs that wait for their turn, in the order of the line."""
    rows = (await connection.execute(_WAITING, {**_named(lines), "limit": limit})).all()
    return [
        InLine(WorkflowInstanceId(id_), Line(WorkflowCode(code), key), WorkflowState.SERIAL_WAIT, CommandId(command))
        for id_, code, key, command in rows
    ]


async def overtaken(
    connection: AsyncConnection, lines: Collection[Line], limit: int
) -> dict[Line, list[WorkflowInstanceId]]:
    """Of each of these lines up to `limit` runs that wait although a newer one that waits has priority."""
    found: dict[Line, list[WorkflowInstanceId]] = {}
    for id_, code, key in (await connection.execute(_OVERTAKEN, {**_named(lines), "limit": limit})).all():
        found.setdefault(Line(WorkflowCode(code), key), []).append(WorkflowInstanceId(id_))
    return found


async def idle(connection: AsyncConnection, code: WorkflowCode, limit: int, first: str = "") -> list[Line]:
    """Up to `limit` lines of a workflow in which runs wait and none is live, by their keys, from the key `first` on."""
    rows = await connection.execute(_IDLE, {"code": code, "limit": limit, "first": first})
    return [Line(code, key) for (key,) in rows.all()]


async def call(connection: FencedTransaction, codes: Collection[WorkflowCode]) -> None:
    """Insert commands that call all lines of these workflows, for those in which any run waits. The caller has locked
    them."""
    await connection.execute(_CALL_ALL, {"codes": sorted(set(codes))})


async def call_without_lock(connection: FencedTransaction, code: WorkflowCode) -> None:
    """Insert a command that calls all lines of a workflow, if any run waits. For callers that have not locked them."""
    await connection.execute(_CALL_WITHOUT_LOCK, {"code": code})


async def call_from(connection: FencedTransaction, line: Line) -> None:
    """Insert a command that calls this line and all of its workflow that come after it."""
    await connection.execute(_CALL_FROM, {"code": line.workflow_code, "key": line.key})


async def call_missed(connection: FencedTransaction) -> int:
    """Insert a command for each workflow with lines that wait although no run is live. Returns how many."""
    return int((await connection.execute(_CALL_MISSED)).scalar_one())


async def deadlocked(connection: AsyncConnection) -> list[Deadlock]:
    """The child runs that wait for their turn behind a run that waits for them, directly or through other runs."""
    rows = (await connection.execute(_DEADLOCKED)).all()
    return [Deadlock(WorkflowInstanceId(id_), WorkflowInstanceId(live), WorkflowCode(code)) for id_, live, code in rows]


def _named(lines: Collection[Line]) -> dict[str, object]:
    each = sorted(set(lines))
    return {"codes": [line.workflow_code for line in each], "keys": [line.key for line in each]}
