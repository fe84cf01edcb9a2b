"""Events that start workflows: the end of a run, and the success of a task that updates datasets.

The commands are inserted in the transaction that ends the run, or in which the master of the run takes note of the
success: so an event starts a workflow once, or the event has not happened. A master that takes over a run takes note of
all its successes again; their rows say which of them it need not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from dao.postgres.database import FencedTransaction
from dao.postgres.row_arrays import RowArrays
from dao.postgres.rows import Row
from dao.postgres.sql import Sql
from dao.postgres.statements import statement, unless_empty
from model.ids import Epoch, TaskCode, WorkflowInstanceId

TRIGGER = "trigger"
"""`created_by` of the commands."""


@dataclass(frozen=True, slots=True)
class DatasetUpdate:
    """The success of an attempt, and the datasets that it updates."""

    instance: WorkflowInstanceId
    code: TaskCode
    attempt: int
    datasets: Sequence[str]


# Each workflow that an end starts, once, however many of its triggers fit. How many runs triggered one another is in
# `started_by`.
_AFTER_RUNS = Sql("""
    SELECT starts.code,
           concat_ws('/', i.id, 0, 0, CASE WHEN i.started_by ~ '/e' THEN substring(i.started_by FROM '/e([0-9]+)')::int
                                           ELSE 0 END + 1, 'event') AS parent,
           json_build_object('event', json_build_object(
               'kind', 'workflow', 'project', d.project, 'workflow', d.name, 'run', i.id::text, 'state', i.state,
               'schedule_time', i.schedule_time)::text)::text AS params
    FROM workflow_instance i JOIN workflow_definition d ON d.code = i.workflow_code
    CROSS JOIN LATERAL (
        SELECT l.code
        FROM workflow_version v                                                -- index: workflow_version_triggers
        JOIN workflow_definition l ON l.code = v.workflow_code AND l.version = v.version
        CROSS JOIN LATERAL jsonb_array_elements(v.triggers) AS t
        WHERE v.triggers <> '[]' AND v.triggers @> jsonb_build_array(jsonb_build_object('workflow', d.name))
          AND l.release_state = 'ONLINE'
          AND t ->> 'workflow' = d.name AND coalesce(t ->> 'project', l.project) = d.project
          AND coalesce(t -> 'states', '["SUCCESS"]') @> to_jsonb(i.state)
        GROUP BY l.code
    ) AS starts
    WHERE i.id = ANY(CAST(:ids AS bigint[])) AND NOT i.dry_run AND NOT d.is_trial
    ORDER BY i.id, starts.code
""")
# Attempts beyond the places that a command has for their number are counted as the last of these. What waits for all of
# several datasets has a row with what it has heard of: transactions that update two of them wait for each other, so
# that one of the two sees that nothing is missing. A row that misses nothing has started its workflow, and begins anew.
_AFTER_UPDATES = Sql("""
    WITH told AS (
        UPDATE task_instance t SET updated_datasets = CAST(u.datasets AS jsonb)
        FROM unnest(CAST(:instance AS bigint[]), CAST(:code AS bigint[]), CAST(:attempt AS integer[]),
                    CAST(:datasets AS text[])) AS u (run, code, attempt, datasets)
        JOIN workflow_instance i ON i.id = u.run AND i.master_id = :master
        WHERE t.workflow_instance_id = u.run AND t.task_code = u.code AND t.attempt = u.attempt
          AND t.updated_datasets IS NULL                                        -- index: task_instance_attempt
        RETURNING t.workflow_instance_id AS run, t.task_code AS code, t.attempt, t.task_name, t.updated_datasets
    ), known AS (
        SELECT told.*, d.project, d.name AS workflow, i.schedule_time,
               CASE WHEN i.started_by ~ '/e' THEN substring(i.started_by FROM '/e([0-9]+)')::int ELSE 0 END AS chain
        FROM told JOIN workflow_instance i ON i.id = told.run JOIN workflow_definition d ON d.code = i.workflow_code
        WHERE NOT d.is_trial
    ), heard AS (
        INSERT INTO dataset_wait AS w (workflow_code, project, datasets, missing, updates)
        SELECT l.code, known.project, t -> 'datasets', (t -> 'datasets') - array_agg(dataset.name),
               jsonb_object_agg(dataset.name, jsonb_build_object(
                   'workflow', known.workflow, 'run', known.run::text, 'task', known.task_name,
                   'attempt', known.attempt, 'schedule_time', known.schedule_time, 'chain', known.chain)
                   ORDER BY known.run, known.code, known.attempt)
        FROM known CROSS JOIN LATERAL jsonb_array_elements_text(known.updated_datasets) AS dataset (name)
        JOIN workflow_version v                                                -- index: workflow_version_triggers
          ON v.triggers <> '[]'
          AND v.triggers @> jsonb_build_array(jsonb_build_object('datasets', jsonb_build_array(dataset.name)))
        JOIN workflow_definition l ON l.code = v.workflow_code AND l.version = v.version
        CROSS JOIN LATERAL jsonb_array_elements(v.triggers) AS t
        WHERE l.release_state = 'ONLINE'
          AND t -> 'datasets' @> to_jsonb(dataset.name) AND coalesce(t ->> 'project', l.project) = known.project
        GROUP BY l.code, known.project, t -> 'datasets'
        ORDER BY l.code, known.project, md5((t -> 'datasets')::text)           -- all lock the rows in one order
        ON CONFLICT (workflow_code, project, md5(datasets::text)) DO UPDATE SET
            missing = CASE WHEN w.missing = '[]' THEN excluded.missing
                           ELSE w.missing - ARRAY(SELECT jsonb_object_keys(excluded.updates)) END,
            updates = CASE WHEN w.missing = '[]' THEN '{}' ELSE w.updates END || excluded.updates,
            changed_at = clock_timestamp()
        RETURNING w.*
    ), starts AS (
        SELECT starts.code, known.run, known.code AS task, known.attempt, known.chain, starts.datasets,
               '{}'::jsonb AS updates
        FROM known
        CROSS JOIN LATERAL (
            SELECT l.code, jsonb_agg(DISTINCT dataset.name) AS datasets
            FROM jsonb_array_elements_text(known.updated_datasets) AS dataset (name)
            JOIN workflow_version v                                            -- index: workflow_version_triggers
              ON v.triggers <> '[]' AND v.triggers @> jsonb_build_array(jsonb_build_object('dataset', dataset.name))
            JOIN workflow_definition l ON l.code = v.workflow_code AND l.version = v.version
            CROSS JOIN LATERAL jsonb_array_elements(v.triggers) AS t
            WHERE l.release_state = 'ONLINE'
              AND t ->> 'dataset' = dataset.name AND coalesce(t ->> 'project', l.project) = known.project
            GROUP BY l.code
        ) AS starts
        UNION ALL
        SELECT heard.workflow_code, last.run, last.code, last.attempt, (
                   SELECT min((value ->> 'chain')::int) FROM jsonb_each(heard.updates)
               ), heard.datasets, jsonb_build_object('updates', heard.updates)
        FROM heard
        CROSS JOIN LATERAL (
            SELECT known.run, known.code, known.attempt FROM known
            WHERE known.project = heard.project AND EXISTS (
                SELECT FROM jsonb_array_elements(known.updated_datasets) AS dataset WHERE heard.datasets @> dataset)
            ORDER BY known.run DESC, known.code DESC, known.attempt DESC LIMIT 1
        ) AS last
        WHERE heard.missing = '[]'
    )
    SELECT starts.code,
           concat_ws('/', starts.run, starts.task, least(starts.attempt, 32767), starts.chain + 1, 'event') AS parent,
           json_build_object('event', (jsonb_build_object(
               'kind', 'dataset', 'project', known.project, 'datasets', starts.datasets, 'workflow', known.workflow,
               'run', known.run::text, 'task', known.task_name, 'schedule_time', known.schedule_time)
               || starts.updates)::text)::text AS params
    FROM starts JOIN known ON (known.run, known.code, known.attempt) = (starts.run, starts.task, starts.attempt)
    ORDER BY starts.run, starts.task, starts.code, starts.datasets
""")
_UPDATES = RowArrays(_AFTER_UPDATES, {"datasets": lambda each: json.dumps(list(each.datasets), ensure_ascii=False)})


async def after_runs(connection: FencedTransaction, ids: Sequence[WorkflowInstanceId]) -> None:
    """Start what waits for the ends of these runs, which have just ended."""
    await _ask(connection, (await connection.execute(_AFTER_RUNS, {"ids": list(ids)})).all())


async def after_updates(connection: FencedTransaction, updates: Sequence[DatasetUpdate], master: Epoch) -> None:
    """Start what waits for these datasets, except what was started for the same attempts before; of own runs."""
    values = {**_UPDATES.values(updates), "master": master}
    await _ask(connection, (await connection.execute(_AFTER_UPDATES, values)).all())


# Apart from what is found: an INSERT into `command` wakes all masters, even one of no rows.
@unless_empty
@statement("""
    INSERT INTO command (type, workflow_code, parent, params, created_by, from_above)
    SELECT 'START_PROCESS', a.code, a.parent, a.params, :TRIGGER, true
    FROM unnest(CAST(:starts.0 AS bigint[]), CAST(:starts.1 AS text[]), CAST(:starts.2 AS text[]))
         WITH ORDINALITY AS a (code, parent, params, place)
    ORDER BY a.place
""")
async def _ask(connection: FencedTransaction, starts: Sequence[Row]) -> None: ...
