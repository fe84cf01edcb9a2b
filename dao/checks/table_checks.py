"""Invariants of the tables: each a statement that finds the rows that violate it. For `shoal doctor`.

Every finding is a sentence that identifies the row. A short-lived intermediate state is not a finding: each check
ignores rows younger than the time that the engine needs to handle them itself. Of the history only the last `RECENT`
rows are read, so that a check costs the same after a year.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql

RECENT = 100_000
"""How many of the last commands and runs are checked for duplicate work; written out below."""
SHOWN_MAX = 5
"""How many findings of one check are reported; the others are counted."""


@dataclass(frozen=True, slots=True)
class Check:
    """An invariant. `name` is for programs, `condition` and `fix` are sentences for people."""

    name: str
    condition: str
    fix: str
    statement: Sql


@dataclass(frozen=True, slots=True)
class Finds:
    """Violations of a check: how many, and the first of them."""

    count: int
    shown: Sequence[str]


def finding(sentences: str) -> Sql:
    """The statement whose rows are the findings; `sentences` returns the column `what`.

    They use now(), since only a value that is constant within a statement can be looked up in an index.
    """
    return Sql(f"SELECT f.what, count(*) OVER () AS ever FROM ({sentences}) AS f LIMIT :shown")


_COMMANDS_WAIT = finding("""
    SELECT format('command %s (%s) waits since %s', id, type, created_at) AS what FROM command
    WHERE created_at < now() - interval '30 s'                      -- index: command_age
      AND EXISTS (SELECT FROM node n JOIN node_beat b ON b.node_id = n.id
                  WHERE n.kind = 'MASTER' AND n.state = 'ALIVE' AND b.heartbeat LIKE '%"status":"NORMAL"%')
    ORDER BY created_at
""")
# `length(type)`: the commands are read with their type, which no index has. For the ids alone the planner would read
# the whole of another index where the statistics saw no commands.
_COMMANDS_DONE_TWICE = finding("""
    SELECT format('command %s has %s rows in command_history', command_id, count(*)) AS what
    FROM (SELECT command_id FROM command_history ORDER BY command_id DESC LIMIT 100000) AS h
    GROUP BY command_id HAVING count(*) > 1
    UNION ALL
    SELECT format('command %s made %s runs', command_id, count(*))
    FROM (SELECT command_id FROM workflow_instance ORDER BY id DESC LIMIT 100000) AS i
    GROUP BY command_id HAVING count(*) > 1
    UNION ALL
    SELECT format('command %s is recorded as an error and as done', e.command_id)
    FROM (SELECT command_id FROM error_command ORDER BY command_id DESC LIMIT 100000) AS e
    WHERE (SELECT outcome FROM command_history h WHERE h.command_id = e.command_id LIMIT 1) = 'DONE'
    UNION ALL
    SELECT format('command %s waits, and was handled before', c.id)
    FROM (SELECT id FROM (SELECT id, type FROM command ORDER BY id ASC LIMIT 100000) AS c   -- index: command_pkey
          WHERE length(type) >= 0) AS c
    WHERE (SELECT 1 FROM command_history h WHERE h.command_id = c.id LIMIT 1) IS NOT NULL
""")
_IDS_COME_AGAIN = finding("""
    SELECT format('the last id that the sequence gave to a command is %s, and there was a command %s', given, there)
           AS what
    FROM (SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('command', 'id')::regclass), 0) AS given,
                 greatest((SELECT id FROM (SELECT id, type FROM command ORDER BY id DESC LIMIT 1) AS c
                           WHERE length(type) >= 0),
                          (SELECT max(command_id) FROM command_history), 0) AS there
         ) AS ids
    WHERE given < there
    UNION ALL
    SELECT format('the sequence of the ids of %s gives them with CACHE %s, INCREMENT %s%s: of two rows the younger may '
                  'have the smaller id', name, seqcache, seqincrement, CASE WHEN seqcycle THEN ' and CYCLE' END)
    FROM unnest(ARRAY['command', 'workflow_instance', 'task_event']) AS name
    JOIN pg_sequence ON seqrelid = pg_get_serial_sequence(name, 'id')::regclass
    WHERE seqcache > 1 OR seqincrement < 1 OR seqcycle
""")
# A run whose master is gone, or never existed, needs a RECOVER command, which any master may write.
_RUNS_WITHOUT_OWNER = finding("""
    WITH unfinished AS MATERIALIZED (   -- apart, so that the order does not make it walk all that ever ran
        SELECT id, state, master_id FROM workflow_instance
        WHERE ended_at IS NULL AND state <> 'SERIAL_WAIT'  -- index: workflow_instance_unfinished
    )
    SELECT format('run %s is %s, and its master %s is %s', i.id, i.state, i.master_id,
                  coalesce(n.state || ' since ' || date_trunc('second', n.ended_at), 'not known')) AS what
    FROM unfinished i LEFT JOIN node n ON n.id = i.master_id AND n.kind = 'MASTER'
    WHERE (n.id IS NULL OR n.ended_at < now() - CAST(:failed_over_after AS interval))
      AND (SELECT 1 FROM command c                                              -- index: command_one_recover
           WHERE c.type = 'RECOVER_TOLERANCE_FAULT_PROCESS' AND c.workflow_instance_id = i.id LIMIT 1) IS NULL
    ORDER BY i.id
""")
_RUNS_STUCK_IN_LINE = finding("""
    SELECT format('run %s is SERIAL_WAIT, and nothing of its workflow is before it', w.id) AS what
    FROM (SELECT s.workflow_code, s.serial_key, s.id, coalesce(
              (SELECT v.max_active FROM workflow_definition d                      -- index: workflow_version_pkey
               JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
               WHERE d.code = s.workflow_code), 1) AS places
          FROM (SELECT workflow_code, serial_key, min(id) AS id FROM workflow_instance
                WHERE state = 'SERIAL_WAIT' GROUP BY workflow_code, serial_key) AS s   -- index: workflow_instance_turn
          OFFSET 0) AS w
    WHERE (SELECT 1 FROM workflow_instance i                                       -- index: workflow_instance_line
           WHERE i.workflow_code = w.workflow_code AND i.serial_key = w.serial_key
             AND (i.state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
           LIMIT 1 OFFSET w.places - 1) IS NULL
      AND (SELECT 1 FROM command c                                                 -- index: command_calls
           WHERE c.type = 'RECOVER_SERIAL_WAIT' AND c.workflow_code = w.workflow_code LIMIT 1) IS NULL
      AND (w.serial_key = '' OR (SELECT 1 FROM command c                           -- index: command_start
           WHERE c.type IN ('START_PROCESS', 'START_CURRENT_TASK_PROCESS', 'SCHEDULER', 'COMPLEMENT_DATA')
             AND c.workflow_code = w.workflow_code LIMIT 1) IS NULL)
""")
_ATTEMPTS_OVERLAP = finding("""
    SELECT format('task "%s" of run %s: attempt %s is %s while attempt %s is %s', t.task_name, t.workflow_instance_id,
                  t.attempt, t.state, o.attempt, o.state) AS what
    FROM task_instance t                                                        -- index: task_instance_running
    CROSS JOIN LATERAL (
        SELECT x.attempt, x.state FROM task_instance x                          -- index: task_instance_attempt
        WHERE x.workflow_instance_id = t.workflow_instance_id AND x.task_code = t.task_code AND x.ended_at IS NULL
          AND x.id <> t.id AND (x.id > t.id OR x.state NOT IN ('DISPATCH', 'RUNNING_EXECUTION'))
        LIMIT 1
    ) AS o
    WHERE t.state IN ('DISPATCH', 'RUNNING_EXECUTION')
""")
# Of a stream all but the last 20 are deleted (`ATTEMPTS_KEPT`), and those that are left have no gap either.
_ATTEMPTS_MISSING = finding("""
    SELECT format('task "%s" of run %s has %s attempts, and the last is number %s', a.task_name, i.id, a.there, a.last)
           AS what
    FROM workflow_instance i                                                    -- index: workflow_instance_unfinished
    CROSS JOIN LATERAL (
        SELECT min(t.task_name) AS task_name, count(*) AS there, max(t.attempt) AS last
        FROM task_instance t WHERE t.workflow_instance_id = i.id                -- index: task_instance_attempt
        GROUP BY t.task_code
        HAVING count(*) <> max(t.attempt) - CASE WHEN bool_and(t.stream IS NOT NULL) AND count(*) >= 20
                                                 THEN min(t.attempt) - 1 ELSE 0 END
    ) AS a
    WHERE i.ended_at IS NULL
""")
_TASKS_WITHOUT_WORKER = finding("""
    SELECT format('task %s ("%s" of run %s) is %s on worker %s, which is %s', t.id, t.task_name, t.workflow_instance_id,
                  t.state, t.worker_id, coalesce(n.state, 'not known')) AS what
    FROM task_instance t LEFT JOIN node n ON n.id = t.worker_id AND n.kind = 'WORKER'
    WHERE t.state IN ('DISPATCH', 'RUNNING_EXECUTION')                          -- index: task_instance_running
      AND t.worker_id IS NOT NULL
      AND (n.id IS NULL OR n.ended_at < now() - CAST(:failed_over_after AS interval))
""")
_TIMERS_OVERDUE = finding("""
    SELECT format('task %s ("%s" of run %s) waits for %s', id, task_name, workflow_instance_id,
                  coalesce(date_trunc('second', due_at)::text, 'a time that it does not have')) AS what
    FROM task_instance
    WHERE state = 'DELAY_EXECUTION' AND due_at IS NULL                          -- index: task_instance_due
    UNION ALL
    SELECT format('task %s ("%s" of run %s) was to be queued at %s', id, task_name, workflow_instance_id,
                  date_trunc('second', due_at))
    FROM task_instance
    WHERE state = 'DELAY_EXECUTION' AND due_at < now() - interval '30 s'
""")
_EVENTS_UNREAD = finding("""
    SELECT format('event %s (%s of task %s of run %s) is unread since %s; %s', e.id, e.state, e.task_code,
                  e.workflow_instance_id, date_trunc('second', e.created_at),
                  CASE WHEN i.id IS NULL THEN 'there is no such run'
                       WHEN i.ended_at IS NOT NULL THEN 'its run has ended'
                       ELSE 'its run belongs to master ' || i.master_id END) AS what
    FROM task_event e LEFT JOIN workflow_instance i ON i.id = e.workflow_instance_id
    WHERE e.created_at < now() - interval '30 s'
    ORDER BY e.id
""")
_SCHEDULES_LATE = finding("""
    SELECT format('schedule %s of workflow %s %s', id, workflow_code,
                  coalesce('was to fire at ' || date_trunc('second', next_fire_at), 'has no next time')) AS what
    FROM schedule
    WHERE state = 'ONLINE' AND problem IS NULL                                  -- index: schedule_due
      AND coalesce(next_fire_at, 'epoch') < now() - interval '60 s'
      AND (next_fire_at IS NOT NULL OR updated_at < now() - interval '60 s')
""")

# A round of many steps lasts for as long as it does: only what is not begun is late. The alerts are done only while
# there is something to do, which is late when it has waited for as long: `due_at` may be of days ago. What there may be
# to do is listed in dao/alerts/alerts.py. What other duties find is found by checks of their own.
_DUTIES_FAIL = finding("""
    SELECT format('duty %s has failed %s times in a row: %s', name, failures, left(coalesce(error, '?'), 300)) AS what
    FROM duty WHERE failures >= 3
    UNION ALL
    SELECT format('duty %s was due at %s', name, date_trunc('second', due_at)) FROM duty
    WHERE failures < 3 AND steps = 0 AND due_at < now() - interval '2 min'
      AND (name <> 'alert_rules' OR (
          EXISTS (SELECT FROM run_end WHERE ended_at < now() - interval '2 min')
          OR EXISTS (SELECT FROM alert_rule WHERE enabled AND updated_at < now() - interval '2 min')
          OR EXISTS (SELECT FROM error_command WHERE NOT is_alerted AND refused_at < now() - interval '2 min')
          OR EXISTS (
              SELECT t.id FROM task_instance t                                  -- index: task_instance_running
              WHERE t.state IN ('DISPATCH', 'RUNNING_EXECUTION') AND t.state = 'RUNNING_EXECUTION'
                AND t.timeout_strategy IN ('WARN', 'WARNFAILED') AND isfinite(t.started_at)
                AND extract(epoch FROM clock_timestamp() - t.started_at) > t.timeout_s
                AND (SELECT a.id FROM alert a WHERE a.unique_key = format('task-timeout:%s', t.id)) IS NULL
                AND extract(epoch FROM now() - t.started_at) > t.timeout_s + 120)
          OR EXISTS (
              SELECT n.* FROM node n                                            -- index: node_ended
              WHERE n.state IN ('LEFT', 'FENCED') AND n.state = 'FENCED' AND n.ended_at > now() - interval '1 d'
                AND (SELECT a.id FROM alert a WHERE a.unique_key = format('failover:%s', n.id)) IS NULL
                AND n.ended_at < now() - interval '2 min')))
      AND EXISTS (SELECT FROM node n JOIN node_beat b ON b.node_id = n.id
                  WHERE n.kind = 'MASTER' AND n.state = 'ALIVE' AND b.heartbeat LIKE '%"status":"NORMAL"%')
    UNION ALL
    SELECT format('duty %s: %s', name, left(result, 300))
    FROM (SELECT * FROM duty_done WHERE name = 'retention' ORDER BY due_at DESC LIMIT 1) AS last  -- its key
    WHERE NOT is_fine
""")

BEFORE_REASONS = (
    Check(
        "commands_are_taken",
        "no command waits though a master has room",
        "See whether the masters agree on the slots: shoal master list; ask about one: shoal why command ID.",
        _COMMANDS_WAIT,
    ),
    Check(
        "commands_have_one_outcome",
        "each command has one outcome",
        "Check which of them is true before you delete the other, and see whether the unique keys are in place. "
        "If its id came again: shoal queue retry ID, or delete ID; one that waits is let go by "
        "UPDATE command SET id = DEFAULT WHERE id = ID.",
        _COMMANDS_DONE_TWICE,
    ),
    Check(
        "ids_are_new",
        "the ids of commands go on, none comes again",
        "A backup was restored over a younger state, or the sequence was set back: "
        "SELECT setval(pg_get_serial_sequence('command', 'id'), greatest((SELECT max(id) FROM command), "
        "(SELECT max(command_id) FROM command_history))). Or its ids are out of order: ALTER SEQUENCE command_id_seq "
        "CACHE 1 NO CYCLE.",
        _IDS_COME_AGAIN,
    ),
    Check(
        "runs_have_an_owner",
        "each unfinished run has a living master, or is failed over",
        "Any living master hands it on within seconds; is one alive? shoal master list. If it stays, the masters' logs "
        "say what is in its way: left_as_it_is.",
        _RUNS_WITHOUT_OWNER,
    ),
)
AFTER_REASONS = (
    Check(
        "runs_in_line_are_called",
        "a run waits for its turn only while something is before it",
        "Any living master calls it within seconds; if it stays, read the logs of the masters.",
        _RUNS_STUCK_IN_LINE,
    ),
    Check(
        "attempts_do_not_overlap",
        "a task has one attempt under way at a time",
        "Stop the run, and see who wrote the second one: shoal stop RUN; please report it.",
        _ATTEMPTS_OVERLAP,
    ),
    Check(
        "attempts_are_dense",
        "the attempts of a task are numbered without gaps",
        "Somebody deleted rows of task_instance of a run that goes on; leave them until it has ended.",
        _ATTEMPTS_MISSING,
    ),
    Check(
        "running_tasks_have_a_worker",
        "what runs has a living worker",
        "Any living master gives it a new attempt within seconds; is one alive? shoal master list",
        _TASKS_WITHOUT_WORKER,
    ),
    Check(
        "timers_go_off",
        "what waits for a time is queued when it has come",
        "Any living master queues it; is one alive, and does it reach the database? shoal master list",
        _TIMERS_OVERDUE,
    ),
    Check(
        "schedules_fire",
        "what is to fire has fired",
        "Any living master with a slot fires it; is one alive? shoal master list; how late it may be: "
        "docs/guides/schedules.md.",
        _SCHEDULES_LATE,
    ),
    Check(
        "events_are_read",
        "each end of a task reaches the master of its run",
        "Read the log of that master; if its run is not there or has ended: DELETE FROM task_event WHERE id = ID.",
        _EVENTS_UNREAD,
    ),
    Check(
        "duties_are_done",
        "the masters do their duties",
        "See shoal master duties, and the log of the master that tried it last. As long as one fails nobody does it: "
        "alerts, retention and the upkeep of the tables are such duties.",
        _DUTIES_FAIL,
    ),
)
"""In the order in which they are reported: commands, runs (in between, `dao/checks/stuck_runs.py` checks why they
wait), tasks."""
OF_LOST_NODES = tuple(
    each
    for each in (*BEFORE_REASONS, *AFTER_REASONS)
    if each.name in ("runs_have_an_owner", "running_tasks_have_a_worker")
)
"""Those that find what a lost node left and nobody failed over."""


async def find(connection: AsyncConnection, check: Check, values: Mapping[str, Any]) -> Finds:
    """The current violations of a check. Raises `Unavailable` or `BadData` when it cannot be run.

    `values` has `failed_over_after`, the time within which living nodes must have completed a failover.
    """
    rows = (await connection.execute(check.statement, {**values, "shown": SHOWN_MAX})).all()
    return Finds(rows[0].ever if rows else 0, [row.what for row in rows])
