"""Which runs are gone, for the logs that workers keep of them. Reads only."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
from model.ids import WorkflowInstanceId

# A run above all that there are is not gone: the database is another one, or an older state of it.
_GONE = text("""
    SELECT l.id FROM unnest(CAST(:ids AS bigint[])) AS l (id)
    WHERE l.id < (SELECT max(id) FROM workflow_instance)
      AND (SELECT 1 FROM workflow_instance i WHERE i.id = l.id) IS NULL           -- index: workflow_instance_pkey
""")


async def gone(connection: AsyncConnection, ids: Sequence[WorkflowInstanceId]) -> set[WorkflowInstanceId]:
    """Those of these runs that were deleted."""
    return set((await connection.execute(_GONE, {"ids": list(ids)})).scalars())
