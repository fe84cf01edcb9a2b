"""Events that start workflows: the end of a run, and the success of a task that updates datasets.

The commands are inserted in the transaction that ends the run, or in which the master of the run takes note of the
success: so an event starts a workflow once, or the event has not happened. A master that takes over a run takes note of
all its successes again; their rows say which of them it need not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, text

from dao.postgres.database import FencedTransaction
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
_AFTER_RUNS = text("""
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
# Attempts beyond the places that a command has for their number are counted as the last of these.
_AFTER_UPDATES = text("""
    WITH told AS (
        UPDATE task_instance t SET updated_datasets = CAST(u.datasets AS jsonb)
        FROM unnest(CAST(:runs AS bigint[]), CAST(:codes AS bigint[]), CAST(:attempts AS integer[]),
                    CAST(:datasets AS text[])) AS u (run, code, attempt, datasets)
        JOIN workflow_instance i ON i.id = u.run AND i.master_id = :master
        WHERE t.workflow_instance_id = u.run AND t.task_code = u.code AND t.attempt = u.attempt
          AND t.updated_datasets IS NULL                                        -- index: task_instance_attempt
        RETURNING t.workflow_instance_id AS run, t.task_code AS code, t.attempt, t.task_name, t.updated_datasets
    )
    SELECT starts.code,
           concat_ws('/', told.run, told.code, least(told.attempt, 32767),
                     CASE WHEN i.started_by ~ '/e' THEN substring(i.started_by FROM '/e([0-9]+)')::int ELSE 0 END + 1,
                     'event') AS parent,
           json_build_object('event', json_build_object(
               'kind', 'dataset', 'project', d.project, 'datasets', starts.datasets, 'workflow', d.name,
               'run', told.run::text, 'task', told.task_name, 'schedule_time', i.schedule_time)::text)::text AS params
    FROM told JOIN workflow_instance i ON i.id = told.run JOIN workflow_definition d ON d.code = i.workflow_code
    CROSS JOIN LATERAL (
        SELECT l.code, json_agg(DISTINCT dataset.name) AS datasets
        FROM jsonb_array_elements_text(told.updated_datasets) AS dataset (name)
        JOIN workflow_version v                                                -- index: workflow_version_triggers
          ON v.triggers <> '[]' AND v.triggers @> jsonb_build_array(jsonb_build_object('dataset', dataset.name))
        JOIN workflow_definition l ON l.code = v.workflow_code AND l.version = v.version
        CROSS JOIN LATERAL jsonb_array_elements(v.triggers) AS t
        WHERE l.release_state = 'ONLINE'
          AND t ->> 'dataset' = dataset.name AND coalesce(t ->> 'project', l.project) = d.project
        GROUP BY l.code
    ) AS starts
    WHERE NOT d.is_trial
    ORDER BY told.run, told.code, starts.code
""")
# Apart from what is found: an INSERT into `command` wakes all masters, even one of no rows.
_ASK = text("""
    INSERT INTO command (type, workflow_code, parent, params, created_by, from_above)
    SELECT 'START_PROCESS', a.code, a.parent, a.params, :by, true
    FROM unnest(CAST(:codes AS bigint[]), CAST(:parents AS text[]), CAST(:params AS text[]))
         WITH ORDINALITY AS a (code, parent, params, place)
    ORDER BY a.place
""")


async def after_runs(connection: FencedTransaction, ids: Sequence[WorkflowInstanceId]) -> None:
    """Start what waits for the ends of these runs, which have just ended."""
    await _ask(connection, (await connection.execute(_AFTER_RUNS, {"ids": list(ids)})).all())


async def after_updates(connection: FencedTransaction, updates: Sequence[DatasetUpdate], master: Epoch) -> None:
    """Start what waits for these datasets, except what was started for the same attempts before; of own runs."""
    values = {
        "runs": [each.instance for each in updates],
        "codes": [each.code for each in updates],
        "attempts": [each.attempt for each in updates],
        "datasets": [json.dumps(list(each.datasets), ensure_ascii=False) for each in updates],
    }
    await _ask(connection, (await connection.execute(_AFTER_UPDATES, {**values, "master": master})).all())


async def _ask(connection: FencedTransaction, starts: Sequence[Row[Any]]) -> None:
    if starts:
        codes, parents, params = (list(column) for column in zip(*starts, strict=True))
        await connection.execute(_ASK, {"codes": codes, "parents": parents, "params": params, "by": TRIGGER})
