"""What triggers that wait for all of several datasets have heard since they last started their workflow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.ids import WorkflowCode

# Of the current version, in the order of its triggers. What misses nothing has started the workflow, and begins anew.
_OF_WORKFLOW = Sql("""
    SELECT waits.project, waits.datasets::text, coalesce(w.missing, waits.datasets)::text AS missing,
           coalesce(w.updates, '{}')::text AS updates
    FROM (
        SELECT coalesce(t.given ->> 'project', d.project) AS project, t.given -> 'datasets' AS datasets, t.place
        FROM workflow_definition d JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
        CROSS JOIN LATERAL jsonb_array_elements(v.triggers) WITH ORDINALITY AS t (given, place)
        WHERE d.code = :code AND jsonb_typeof(t.given -> 'datasets') = 'array' AND t.given -> 'datasets' <> '[]'
    ) AS waits
    LEFT JOIN dataset_wait w                                                   -- index: dataset_wait_key
      ON w.workflow_code = :code AND w.project = waits.project AND md5(w.datasets::text) = md5(waits.datasets::text)
     AND w.missing <> '[]'
    ORDER BY waits.place
""")


@dataclass(frozen=True, slots=True)
class DatasetWait:
    """`updates`: dataset -> its newest update; of those that are not `missing`."""

    project: str
    datasets: Sequence[str]
    missing: Sequence[str]
    updates: Mapping[str, Mapping[str, Any]]


async def of_workflow(connection: AsyncConnection, code: WorkflowCode) -> list[DatasetWait]:
    rows = (await connection.execute(_OF_WORKFLOW, {"code": code})).all()
    return [DatasetWait(project, *(json.loads(each) for each in known)) for project, *known in rows]
