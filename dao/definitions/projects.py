"""`project`: parameters that the workflows of one project share. A project without parameters needs no row."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from model.errors import NotFound, Refused
from model.parameters import parse_parameters

_PARAMS = text("SELECT params FROM project WHERE name = :name")
_HAS_WORKFLOWS = text("SELECT EXISTS (SELECT FROM workflow_definition WHERE project = :name)")
# The update changes nothing: it locks the row, so that of two concurrent changes the second sees the first.
_HOLD = text("""
    INSERT INTO project (name) VALUES (:name) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING params
""")
_SET = text("UPDATE project SET params = :params WHERE name = :name")


async def parameters(connection: AsyncConnection, name: str) -> dict[str, str]:
    """The parameters of a project.

    Raises:
        NotFound: it has neither a row nor a workflow.
        Refused: they were written by hand and cannot be read.
    """
    params = (await connection.execute(_PARAMS, {"name": name})).scalar()
    if params is None and not (await connection.execute(_HAS_WORKFLOWS, {"name": name})).scalar_one():
        raise NotFound(f'there is no project "{name}"; `shoal workflow list` shows the projects that there are')
    return parse_parameters(params or "{}", f'the parameters of project "{name}"')


async def change(
    connection: AsyncConnection, name: str, given: Mapping[str, str], without: Collection[str] = ()
) -> dict[str, str]:
    """Set these parameters of a project and remove others; a project without a row gets one. Returns all parameters.

    Raises:
        NotFound: it has no parameter of a name to be removed.
        Refused: its parameters were written by hand and cannot be read, or the new ones cannot be stored.
    """
    where = f'the parameters of project "{name}"'
    params = parse_parameters((await connection.execute(_HOLD, {"name": name})).scalar_one(), where)
    missing = [each for each in without if each not in params]
    if missing:
        known = ", ".join(params) or "none"
        raise NotFound(f'project "{name}" has no parameter "{missing[0]}"; it has {known}')
    left = {key: value for key, value in params.items() if key not in without} | dict(given)
    written = json.dumps(left, ensure_ascii=False)
    try:
        parse_parameters(written, where)
    except Refused as error:
        raise Refused(f"{error}; nothing was changed") from None
    await connection.execute(_SET, {"name": name, "params": written})
    return left
