"""`workflow_version.source_text`: the YAML of a version as it was written."""

from __future__ import annotations

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
from model.ids import WorkflowCode

_READ = text("SELECT source_text FROM workflow_version WHERE workflow_code = :code AND version = :version")
_WRITE = text("""
    UPDATE workflow_version SET source_text = :source
    WHERE workflow_code = :code AND version = :version AND source_text IS DISTINCT FROM :source
""")


async def read(connection: AsyncConnection, code: WorkflowCode, version: int) -> str | None:
    """The text; None if the version has none, or is not there."""
    found: str | None = (await connection.execute(_READ, {"code": code, "version": version})).scalar()
    return found


async def write(connection: AsyncConnection, code: WorkflowCode, version: int, source: str) -> None:
    """Replace the text of a version; its secrets must be sealed."""
    await connection.execute(_WRITE, {"code": code, "version": version, "source": source})
