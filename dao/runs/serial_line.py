"""The lines of serial workflows: which run of a line is next, decided under a lock of the definition's row.

Checking whether a run may begin and then deciding is a race between several masters, so the lock is held until the
decision is committed. A line may be 100,000 runs long, so nothing here reads all of it: only which runs are live, no
more than may be, and which one is at the head. How many may be says the current version of the workflow, read once its
lines are locked: a save holds the same row.

The execution types are those of Apache DolphinScheduler, by definition code, all versions together; a workflow with a
key has a line for each value of it. The runs of a line without a key are in the order of their ids, those of a line
with one in the order of their commands.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import CommandId, WorkflowCode, WorkflowInstanceId
from model.runs import deadlocks
from model.runs.deadlocks import Unfinished
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState


@dataclass(frozen=True, slots=True)
class Deadlock:
    """A waiting child run, and the live run of its line, which waits for that child in turn."""

    id: WorkflowInstanceId
    live: WorkflowInstanceId
    workflow_code: WorkflowCode


@dataclass(frozen=True, slots=True)
class Standing:
    """What decides about a line: how many of its runs may be live at once, the oldest of those that are, no more than
    that, and the waiting run that is next."""

    line: Line
    max_active: int
    live: tuple[InLine, ...] = ()
    next: InLine | None = None


@dataclass(frozen=True, slots=True)
class InLine:
    """A run that has not ended, and the command that asked for it."""

    id: WorkflowInstanceId
    line: Line
    state: WorkflowState
    command: CommandId


_LOCK = Sql("""
    SELECT code FROM workflow_definition WHERE code = ANY(CAST(:codes AS bigint[])) ORDER BY code FOR NO KEY UPDATE
""")
# Of a workflow whose row somebody deleted while runs wait: they go on, one at a time.
_LOCK_DELETED = Sql("""
    SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'shoal line', current_schema(), code), 0))
    FROM (SELECT code FROM unnest(CAST(:codes AS bigint[])) AS given (code) ORDER BY code) AS gone
""")
# Reads the first index entries of each kind. A live run is in none of these states: with `IS NOT TRUE` it is the same
# expression as in the index, which no other statement uses. So is the place of a waiting run in its line.
_STANDING = Sql("""
    SELECT line.code, line.key, line.places, head.id, head.state, head.command_id
    FROM (SELECT given.code, given.key, coalesce(
              (SELECT v.max_active FROM workflow_definition d                      -- index: workflow_version_pkey
               JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
               WHERE d.code = given.code), 1) AS places
          FROM unnest(CAST(:codes AS bigint[]), CAST(:keys AS text[])) AS given (code, key) OFFSET 0) AS line
    LEFT JOIN LATERAL (
        (SELECT id, coalesce(requested_state, state) AS state, command_id FROM workflow_instance
         WHERE workflow_code = line.code AND serial_key = line.key              -- index: workflow_instance_line
           AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
         ORDER BY id LIMIT line.places)
        UNION ALL
        (SELECT id, state, command_id FROM workflow_instance
         WHERE workflow_code = line.code AND serial_key = line.key              -- index: workflow_instance_turn
           AND state = 'SERIAL_WAIT' ORDER BY (CASE WHEN serial_key = '' THEN id ELSE command_id END) LIMIT 1)
    ) AS head ON true
    ORDER BY line.code, line.key, head.id
""")
_WAITING = Sql("""
    SELECT head.id, line.code, line.key, head.command_id
    FROM unnest(CAST(:codes AS bigint[]), CAST(:keys AS text[]), CAST(:counts AS integer[])) AS line (code, key, most)
    CROSS JOIN LATERAL (
        SELECT id, command_id, (CASE WHEN serial_key = '' THEN id ELSE command_id END) AS place
        FROM workflow_instance                                                  -- index: workflow_instance_turn
        WHERE workflow_code = line.code AND serial_key = line.key AND state = 'SERIAL_WAIT'
        ORDER BY (CASE WHEN serial_key = '' THEN id ELSE command_id END) LIMIT line.most
    ) AS head
    ORDER BY line.code, line.key, head.place
""")
# Up to the newest that has priority, so many of the newest that wait stay as may be live at once.
_OVERTAKEN = Sql("""
    SELECT behind.id, line.code, line.key
    FROM unnest(CAST(:codes AS bigint[]), CAST(:keys AS text[]), CAST(:counts AS integer[])) AS line (code, key, stay)
    CROSS JOIN LATERAL (
        SELECT (CASE WHEN serial_key = '' THEN id ELSE command_id END) AS place
        FROM workflow_instance                                                  -- index: workflow_instance_urgent_turn
        WHERE workflow_code = line.code AND serial_key = line.key
          AND state = 'SERIAL_WAIT' AND execution_type = 'SERIAL_PRIORITY'
        ORDER BY (CASE WHEN serial_key = '' THEN id ELSE command_id END) DESC LIMIT 1
    ) AS newest
    CROSS JOIN LATERAL (
        SELECT (CASE WHEN serial_key = '' THEN id ELSE command_id END) AS place
        FROM workflow_instance                                                  -- index: workflow_instance_turn
        WHERE workflow_code = line.code AND serial_key = line.key AND state = 'SERIAL_WAIT'
          AND (CASE WHEN serial_key = '' THEN id ELSE command_id END) <= newest.place
        ORDER BY (CASE WHEN serial_key = '' THEN id ELSE command_id END) DESC LIMIT 1 OFFSET line.stay - 1
    ) AS oldest
    CROSS JOIN LATERAL (
        SELECT id, (CASE WHEN serial_key = '' THEN id ELSE command_id END) AS place
        FROM workflow_instance                                                  -- index: workflow_instance_turn
        WHERE workflow_code = line.code AND serial_key = line.key AND state = 'SERIAL_WAIT'
          AND (CASE WHEN serial_key = '' THEN id ELSE command_id END) < oldest.place
        ORDER BY (CASE WHEN serial_key = '' THEN id ELSE command_id END) LIMIT :limit
    ) AS behind
    ORDER BY line.code, line.key, behind.place
""")
# The live runs of the lines in which runs wait, and all that is unfinished below them: nothing, if none of that waits
# for its turn. Else it is a few rows for each line.
_AWAITED = Sql("""
    WITH RECURSIVE waiting AS (
        (SELECT workflow_code AS code, serial_key AS key FROM workflow_instance -- index: workflow_instance_turn
         WHERE state = 'SERIAL_WAIT' ORDER BY workflow_code, serial_key LIMIT 1)
        UNION ALL
        SELECT next.code, next.key FROM waiting w CROSS JOIN LATERAL (
            SELECT i.workflow_code AS code, i.serial_key AS key FROM workflow_instance i
            WHERE i.state = 'SERIAL_WAIT' AND (i.workflow_code, i.serial_key) > (w.code, w.key)
            ORDER BY i.workflow_code, i.serial_key LIMIT 1) AS next
    ), awaited AS (
        SELECT head.id, line.code, line.key, head.state, head.parent_instance_id AS above FROM waiting AS line
        CROSS JOIN LATERAL (
            SELECT id, state, parent_instance_id FROM workflow_instance            -- index: workflow_instance_line
            WHERE workflow_code = line.code AND serial_key = line.key
              AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE) AS head
        UNION
        SELECT next.id, next.code, next.key, next.state, a.id FROM awaited a
        CROSS JOIN LATERAL (
            SELECT c.id, c.workflow_code AS code, c.serial_key AS key, c.state
            FROM workflow_instance c                                               -- index: workflow_instance_child
            WHERE c.parent_instance_id = a.id AND coalesce(c.ended_at IS NULL, false)
              AND a.state <> 'SERIAL_WAIT') AS next
    )
    SELECT id, code, key, above, state = 'SERIAL_WAIT' AS waits, CASE WHEN state = 'SERIAL_WAIT' THEN coalesce(
               (SELECT v.max_active FROM workflow_definition d                     -- index: workflow_version_pkey
                JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
                WHERE d.code = awaited.code), 1) ELSE 1 END AS places
    FROM awaited WHERE (SELECT true FROM awaited WHERE state = 'SERIAL_WAIT' LIMIT 1)
""")


async def lock(connection: AsyncConnection, codes: Collection[WorkflowCode]) -> None:
    """Lock all lines of these workflows until the transaction ends.

    A caller that needs several workflows requests all of them at once: they are locked in one order, so there is no
    deadlock.
    """
    locked = (await connection.execute(_LOCK, {"codes": sorted(set(codes))})).scalars()
    if deleted := set(codes) - set(locked):
        await connection.execute(_LOCK_DELETED, {"codes": sorted(deleted)})


async def standing(connection: AsyncConnection, lines: Collection[Line]) -> list[Standing]:
    """What decides about each of these lines. The caller has locked them."""
    found: dict[Line, Standing] = {}
    for code, key, places, id_, state, command in await connection.execute(_STANDING, _named(lines)):
        line = Line(WorkflowCode(code), key)
        known = found.setdefault(line, Standing(line, places))
        if id_ is not None:
            run = InLine(WorkflowInstanceId(id_), line, WorkflowState(state), CommandId(command))
            waits = run.state is WorkflowState.SERIAL_WAIT
            found[line] = replace(known, next=run) if waits else replace(known, live=(*known.live, run))
    return list(found.values())


@statement("""
    SELECT id, line.code, line.key, coalesce(requested_state, state) AS state, command_id
    FROM (SELECT CAST(:line.workflow_code AS bigint) AS code, CAST(:line.key AS text) AS key) AS line
    JOIN workflow_instance ON workflow_code = line.code AND serial_key = line.key   -- index: workflow_instance_line
                          AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
    ORDER BY id
""")
async def live(connection: AsyncConnection, line: Line) -> list[InLine]:
    """All runs of a line that have begun and not ended, oldest first."""


async def waiting(connection: AsyncConnection, lines: Mapping[Line, int]) -> list[InLine]:
    """Of each of these lines up to so many runs that wait for their turn, in the order of the line."""
    rows = (await connection.execute(_WAITING, _counted(lines))).all()
    return [
        InLine(WorkflowInstanceId(id_), Line(WorkflowCode(code), key), WorkflowState.SERIAL_WAIT, CommandId(command))
        for id_, code, key, command in rows
    ]


async def overtaken(
    connection: AsyncConnection, lines: Mapping[Line, int], limit: int
) -> dict[Line, list[WorkflowInstanceId]]:
    """Of each of these lines up to `limit` runs that wait although a newer one that waits has priority.

    Args:
        lines: how many of each may be live at once: with the newest so many stay.
    """
    found: dict[Line, list[WorkflowInstanceId]] = {}
    for id_, code, key in await connection.execute(_OVERTAKEN, {**_counted(lines), "limit": limit}):
        found.setdefault(Line(WorkflowCode(code), key), []).append(WorkflowInstanceId(id_))
    return found


# It steps from line to line, however many runs wait in each. So do the statements below that find all waiting lines.
@statement("""
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
    ), allowed AS MATERIALIZED (
        SELECT coalesce((SELECT v.max_active FROM workflow_definition d            -- index: workflow_version_pkey
                         JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
                         WHERE d.code = :code), 1) AS places
    )
    SELECT line.code, line.key FROM allowed CROSS JOIN waiting AS line
    WHERE (SELECT id FROM workflow_instance                                     -- index: workflow_instance_line
           WHERE workflow_code = line.code AND serial_key = line.key
             AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
           ORDER BY id LIMIT 1 OFFSET allowed.places - 1) IS NULL
    LIMIT :limit
""")
async def with_room(connection: AsyncConnection, code: WorkflowCode, limit: int, first: str = "") -> list[Line]:
    """Up to `limit` lines of a workflow in which runs wait and fewer are live than may be, by their keys, from the key
    `first` on."""


# A call that is in the table already is enough: its master locks the lines first, so waits for the caller. Not
# one of which a master may have died, since that may be refused.
@statement("""
    INSERT INTO command (type, workflow_code, created_by)
    SELECT 'RECOVER_SERIAL_WAIT', code, 'serial' FROM unnest(CAST(:codes AS bigint[])) AS asked (code)
    WHERE (SELECT id FROM workflow_instance WHERE workflow_code = code AND state = 'SERIAL_WAIT' LIMIT 1) IS NOT NULL
      AND (SELECT c.id FROM command c                                           -- index: command_calls
           WHERE c.type = 'RECOVER_SERIAL_WAIT' AND c.workflow_code = code AND coalesce(c.workflow_instance_id, 0) = 0
             AND c.params = '{}' AND c.deaths = 0 LIMIT 1) IS NULL
""")
async def call(connection: FencedTransaction, codes: Collection[WorkflowCode]) -> None:
    """Insert commands that call all lines of these workflows, for those in which any run waits. The caller has locked
    them."""


# The master that handles a call in the table may have read the lines before the caller commits. A run that
# another transaction makes just now is not visible: it waits for the next check of all lines.
@statement("""
    INSERT INTO command (type, workflow_code, created_by)
    SELECT 'RECOVER_SERIAL_WAIT', code, 'serial' FROM (SELECT CAST(:code AS bigint) AS code) AS asked
    WHERE (SELECT id FROM workflow_instance WHERE workflow_code = code AND state = 'SERIAL_WAIT' LIMIT 1) IS NOT NULL
""")
async def call_without_lock(connection: FencedTransaction, code: WorkflowCode) -> None:
    """Insert a command that calls all lines of a workflow, if any run waits. For callers that have not locked them."""


@statement("""
    INSERT INTO command (type, workflow_code, params, created_by)
    VALUES ('RECOVER_SERIAL_WAIT', :line.workflow_code,
            json_build_object('serial_from', CAST(:line.key AS text))::text, 'serial')
""")
async def call_from(connection: FencedTransaction, line: Line) -> None:
    """Insert a command that calls this line and all of its workflow that come after it."""


# Level-triggered, by any master: workflows with lines that have room for a run and no command. One command for each
# workflow: if an older command is locked for long, that may be 10,000 lines, again and again.
@statement("""
    WITH RECURSIVE waiting AS (
        (SELECT workflow_code AS code, serial_key AS key FROM workflow_instance -- index: workflow_instance_turn
         WHERE state = 'SERIAL_WAIT' ORDER BY workflow_code, serial_key LIMIT 1)
        UNION ALL
        SELECT next.code, next.key FROM waiting w CROSS JOIN LATERAL (
            SELECT i.workflow_code AS code, i.serial_key AS key FROM workflow_instance i
            WHERE i.state = 'SERIAL_WAIT' AND (i.workflow_code, i.serial_key) > (w.code, w.key)
            ORDER BY i.workflow_code, i.serial_key LIMIT 1) AS next
    ), allowed AS MATERIALIZED (
        SELECT line.code, coalesce(
            (SELECT v.max_active FROM workflow_definition d                        -- index: workflow_version_pkey
             JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
             WHERE d.code = line.code), 1) AS places
        FROM (SELECT DISTINCT code FROM waiting) AS line
    ), calls AS MATERIALIZED (
        SELECT line.code, call.params FROM allowed AS line
        CROSS JOIN LATERAL (SELECT params FROM command                          -- index: command_calls
                            WHERE type = 'RECOVER_SERIAL_WAIT' AND workflow_code = line.code
                              AND coalesce(workflow_instance_id, 0) = 0) AS call
    ), called AS (
        INSERT INTO command (type, workflow_code, created_by)
        SELECT DISTINCT 'RECOVER_SERIAL_WAIT', line.code, 'serial' FROM waiting AS line JOIN allowed USING (code)
        WHERE (SELECT id FROM workflow_instance                                 -- index: workflow_instance_line
               WHERE workflow_code = line.code AND serial_key = line.key
                 AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
               ORDER BY id LIMIT 1 OFFSET allowed.places - 1) IS NULL
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
async def call_missed(connection: FencedTransaction) -> int:
    """Insert a command for each workflow with lines that wait although there is room. Returns how many."""


async def deadlocked(connection: AsyncConnection) -> list[Deadlock]:
    """The child runs that wait for their turn behind a run that waits for them, directly or through other runs."""
    unfinished = [
        Unfinished(WorkflowInstanceId(id_), Line(WorkflowCode(code), key), above, waits, places)
        for id_, code, key, above, waits, places in (await connection.execute(_AWAITED)).all()
    ]
    lines = {each.id: each.line for each in unfinished}
    found = deadlocks.deadlocked(unfinished)
    return [Deadlock(id_, live, lines[id_].workflow_code) for id_, live in sorted(found.items())]


def _named(lines: Collection[Line]) -> dict[str, object]:
    each = sorted(set(lines))
    return {"codes": [line.workflow_code for line in each], "keys": [line.key for line in each]}


def _counted(lines: Mapping[Line, int]) -> dict[str, object]:
    return {**_named(lines), "counts": [lines[line] for line in sorted(lines)]}
