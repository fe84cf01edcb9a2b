"""Versions of workflows that have a required parameter: a start without values must be compared with them too."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
from model.ids import WorkflowCode

# By the primary key. What a person inserted may still have declarations among its `params`.
_ASKING = text("""
    SELECT workflow_code, version FROM workflow_version
    JOIN unnest(CAST(:codes AS bigint[]), CAST(:versions AS integer[])) AS wanted (wanted_code, wanted_version)
      ON workflow_code = wanted_code AND version = wanted_version
    WHERE jsonb_path_exists(spec, '$.declared.*.required ? (@ == true)')
       OR jsonb_path_exists(spec, '$.params.*.required ? (@ == true)')
""")


async def among(
    connection: AsyncConnection, versions: Collection[tuple[WorkflowCode, int]]
) -> set[tuple[WorkflowCode, int]]:
    """Those of these versions that have a required parameter."""
    rows = await connection.execute(
        _ASKING, {"codes": [code for code, _ in versions], "versions": [version for _, version in versions]}
    )
    return {(WorkflowCode(row.workflow_code), row.version) for row in rows.all()}
