"""`project`: parameters that the workflows of one project share. A project without parameters needs no row."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.definitions.defaults import TaskDefaults
from model.definitions.project_defaults import read_defaults, written_defaults
from model.errors import NotFound, Refused
from model.parameters.parameters import parse_parameters

_DEFAULTS = Sql("SELECT defaults::text FROM project WHERE name = :name AND defaults <> '{}'")
_SET_DEFAULTS = Sql("UPDATE project SET defaults = CAST(:defaults AS jsonb) WHERE name = :name")
_PARAMS = Sql("SELECT params FROM project WHERE name = :name")
_HAS_WORKFLOWS = Sql("SELECT EXISTS (SELECT FROM workflow_definition WHERE project = :name)")
_SET = Sql("UPDATE project SET params = :params WHERE name = :name")


@dataclass(frozen=True, slots=True)
class Project:
    """A project. `params` and `defaults` are JSON text; `created_at` is None for one without a row.

    `kept_days`: for how long its ended runs are kept; 0 = forever, None = the masters' setting.
    """

    name: str
    params: str
    created_at: datetime | None
    tenants: Sequence[str] | None
    worker_groups: Sequence[str] | None
    environments: Sequence[str] | None
    data_sources: Sequence[str] | None
    alert_groups: Sequence[str] | None
    kept_days: int | None
    defaults: str
    workflows: int


# Few rows: what the projects are is read whole, and counted for those of the page only.
@statement("""
    SELECT n.name, coalesce(p.params, '{}'), p.created_at,
           p.tenants, p.worker_groups, p.environments, p.data_sources, p.alert_groups, p.kept_days,
           coalesce(p.defaults, '{}')::text,
           (SELECT count(*) FROM workflow_definition d WHERE d.project = n.name AND NOT d.is_trial)
    FROM (SELECT name FROM project UNION SELECT project FROM workflow_definition WHERE NOT is_trial) n
    LEFT JOIN project p USING (name)
    WHERE n.name > coalesce(CAST(:after AS text), '')
      AND (CAST(:visible AS text[]) IS NULL OR n.name = ANY(CAST(:visible AS text[])))
    ORDER BY n.name LIMIT :limit
""")
async def page(
    connection: AsyncConnection, limit: int, *, after: str | None = None, visible: Collection[str] | None = None
) -> list[Project]:
    """Up to `limit` projects by name, those after the name `after`; only the `visible` ones, None = all."""


async def find(connection: AsyncConnection, name: str) -> Project:
    """A project. Raises `NotFound`: it has neither a row nor a workflow."""
    found = await page(connection, 1, visible=[name])
    if not found:
        raise _not_there(name)
    return found[0]


@statement("INSERT INTO project (name) VALUES (:name) ON CONFLICT DO NOTHING")
async def insert(connection: AsyncConnection, name: str) -> bool:
    """Make a project; False if it has a row already."""


@statement("SELECT name FROM workflow_definition WHERE project = :name AND NOT is_trial ORDER BY name LIMIT :limit")
async def workflows_of(connection: AsyncConnection, name: str, limit: int) -> list[str]:
    """The names of up to `limit` workflows of a project."""


@statement("""
    WITH former AS (DELETE FROM project_member WHERE project = :name),
         views AS (DELETE FROM saved_view WHERE project = :name),
         files AS (DELETE FROM project_file WHERE project = :name)
    DELETE FROM project WHERE name = :name
""")
async def delete(connection: AsyncConnection, name: str) -> None:
    """Delete a project, its members, the views that they share, and its files."""


def _not_there(name: str) -> NotFound:
    return NotFound(f'there is no project "{name}"; `shoal workflow list` shows the projects that there are')


async def parameters(connection: AsyncConnection, name: str) -> dict[str, str]:
    """The parameters of a project.

    Raises:
        NotFound: it has neither a row nor a workflow.
        Refused: they were written by hand and cannot be read.
    """
    params = (await connection.execute(_PARAMS, {"name": name})).scalar()
    if params is None and not (await connection.execute(_HAS_WORKFLOWS, {"name": name})).scalar_one():
        raise _not_there(name)
    return parse_parameters(params or "{}", f'the parameters of project "{name}"')


# The update changes nothing: it locks the row, so that of two concurrent changes the second sees the first.
@statement("""
    INSERT INTO project (name) VALUES (:name) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING params
""")
async def hold(connection: AsyncConnection, name: str) -> str:
    """The parameters of a project, JSON, which no other transaction changes until this one ends; one without a row
    gets one."""


async def change(
    connection: AsyncConnection, name: str, given: Mapping[str, str], without: Collection[str] = ()
) -> dict[str, str]:
    """Set these parameters of a project and remove others; a project without a row gets one. Returns all parameters.

    Raises:
        NotFound: it has no parameter of a name to be removed.
        Refused: its parameters were written by hand and cannot be read, or the new ones cannot be stored.
    """
    where = f'the parameters of project "{name}"'
    params = parse_parameters(await hold(connection, name), where)
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


@statement("UPDATE project SET kept_days = :days WHERE name = :name")
async def keep(connection: AsyncConnection, name: str, days: int | None) -> None:
    """Say for how many days ended runs of a project are kept, which has a row; see `Project`."""


async def defaults(connection: AsyncConnection, name: str) -> TaskDefaults:
    """The fields that tasks of a project get as they are saved. Raises `Refused`: they cannot be read."""
    written = (await connection.execute(_DEFAULTS, {"name": name})).scalar()
    return TaskDefaults() if written is None else read_defaults(written, name)


async def set_defaults(connection: AsyncConnection, name: str, given: TaskDefaults) -> None:
    """Replace the defaults of a project that has a row."""
    written = json.dumps(written_defaults(given), ensure_ascii=False)
    await connection.execute(_SET_DEFAULTS, {"name": name, "defaults": written})
