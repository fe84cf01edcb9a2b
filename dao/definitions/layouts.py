"""`workflow_version.layout`: where the tasks and notes of a version stand on a canvas."""

from __future__ import annotations

from pydantic import ValidationError
from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
from model.definitions.layout import Layout
from model.ids import WorkflowCode

_READ = text("SELECT layout::text FROM workflow_version WHERE workflow_code = :code AND version = :version")
_WRITE = text("""
    UPDATE workflow_version SET layout = CAST(:layout AS jsonb) WHERE workflow_code = :code AND version = :version
""")


async def read(connection: AsyncConnection, code: WorkflowCode, version: int) -> Layout:
    """The layout of a version; an empty one if it has none, or one written by hand that is not as it must be."""
    found = (await connection.execute(_READ, {"code": code, "version": version})).scalar()
    try:
        return Layout() if found is None else Layout.model_validate_json(found)
    except ValidationError:
        return Layout()


async def write(connection: AsyncConnection, code: WorkflowCode, version: int, layout: Layout) -> bool:
    """Replace the layout of a version; False if there is no such version."""
    values = {"code": code, "version": version, "layout": layout.model_dump_json()}
    return (await connection.execute(_WRITE, values)).rowcount == 1
