"""Runs that a task of another run started without waiting for them (SUB_PROCESS with `wait: false`).

They are no children: they have no parent, and stay as they are whatever becomes of the run that started them. The
attempt is over when its run has begun: it gets an event in the transaction that makes the run. So an attempt starts one
run, however often its master dies and asks again: a run knows the attempt that started it, and no two know the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import EVENT
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import notifying, statement
from dao.runs.relations import ChildRun
from model.ids import Epoch, WorkflowInstanceId
from model.runs.instances import ChildState, Parent

_EXISTING = Sql("""
    SELECT i.id, i.started_by
    FROM unnest(CAST(:runs AS text[]), CAST(:places AS text[])) AS w (run, place)
    JOIN workflow_instance i                                    -- index: workflow_instance_started_by_task
      ON left(split_part(i.started_by, '/', 1), 20) = w.run AND i.started_by = w.place
""")


async def existing(connection: AsyncConnection, parents: Sequence[Parent]) -> dict[Parent, WorkflowInstanceId]:
    """Those of these attempts whose runs were started before."""
    by_place = {parent.place: parent for parent in parents}
    values = {"runs": [str(parent.instance) for parent in by_place.values()], "places": list(by_place)}
    return {by_place[place]: WorkflowInstanceId(id_) for id_, place in await connection.execute(_EXISTING, values)}


@statement("""
    SELECT split_part(i.started_by, '/', 1)::bigint, split_part(i.started_by, '/', 2)::bigint,
           split_part(i.started_by, '/', 3)::integer, 0, 'SUCCESS', jsonb_build_object('started.run', i.id::text)::text
    FROM workflow_instance i  -- index: workflow_instance_started_by_task
    WHERE left(split_part(i.started_by, '/', 1), 20) = ANY(CAST(CAST(:runs AS bigint[]) AS text[]))
      AND i.started_by LIKE '%/0'
    ORDER BY i.id
""")
async def of(
    connection: AsyncConnection, runs: Collection[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, list[ChildState]]:
    """What tasks of these runs have started: to the task its run is over, with its id as the output."""


@notifying(EVENT, named=True)
@statement("""
    WITH notified AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, child_index, state, outputs)
        SELECT b.instance, b.code, b.attempt, b.child_index, 'SUCCESS',
               jsonb_build_object('started.run', b.id::text)::text
        FROM unnest(CAST(:begun AS bigint[]), CAST(:begun.values.instance AS bigint[]),
                    CAST(:begun.values.code AS bigint[]), CAST(:begun.values.attempt AS smallint[]),
                    CAST(:begun.values.index AS integer[]))
             AS b (id, instance, code, attempt, child_index)
        RETURNING workflow_instance_id
    )
    SELECT DISTINCT p.master_id FROM notified JOIN workflow_instance p ON p.id = notified.workflow_instance_id
""")
async def report(connection: FencedTransaction, begun: Mapping[WorkflowInstanceId, Parent]) -> set[Epoch]:
    """These runs were just made: notify the runs whose attempts asked for them."""


@statement("""
    SELECT i.id, d.project, d.name, i.state, split_part(i.started_by, '/', 2)::bigint,
           split_part(i.started_by, '/', 3)::integer, 0
    FROM workflow_instance i  -- index: workflow_instance_started_by_task
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE left(split_part(i.started_by, '/', 1), 20) = CAST(:run AS bigint)::text AND i.started_by IS NOT NULL
    ORDER BY i.id
""")
async def of_run(connection: AsyncConnection, run: WorkflowInstanceId) -> list[ChildRun]:
    """The runs that tasks of this one, or its end, started; for people."""
