"""The layout of a version: read, and replaced without a new version."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.definitions import layouts
from dao.definitions.definitions import Definition
from model.errors import Refused
from model.layout import Layout
from service.workflows.saved_workflow import read_version

NAMED_MAX = 5


async def read_layout(connection: AsyncConnection, head: Definition, version: int | None = None) -> Layout:
    """The layout of a version, by default of the current one; empty without one."""
    return await layouts.read(connection, head.code, version or head.version)


async def save_layout(
    connection: AsyncConnection, head: Definition, layout: Layout, version: int | None = None
) -> None:
    """Replace the layout of a version, by default of the current one. The last one who saves wins.

    Raises:
        NotFound: there is no such version.
        Refused: it has places of tasks that the version does not have, or the version cannot be read.
    """
    version = version or head.version
    spec = await read_version(connection, head, version)
    if strangers := layout.strangers([task.name for task in spec.tasks]):
        named = ", ".join(f'"{name}"' for name in strangers[:NAMED_MAX])
        raise Refused(f'version {version} of workflow "{head.name}" has no task {named}; leave it out of the layout')
    await layouts.write(connection, head.code, version, layout)
