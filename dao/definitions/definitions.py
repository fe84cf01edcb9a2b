"""`workflow_definition` and `workflow_version`: workflows and their versions."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dao.commands import commands
from dao.commands.commands import NewCommand
from dao.definitions import versions
from dao.postgres.notify import changed
from dao.postgres.pool import AsyncConnection
from dao.postgres.rows import Row
from dao.postgres.sql import Sql
from dao.postgres.statements import made_by, statement
from model.accounts.project_limits import NO_LIMITS, ProjectLimits, limits_of
from model.changes import Changes
from model.choices import ReleaseState
from model.cost import READ_SPEC_US, spend
from model.definitions.layout import Layout
from model.definitions.names import fault_of_workflow_name
from model.definitions.problems import InvalidWorkflow, Problem, faults_of_task_names
from model.definitions.workflow import WorkflowSpec
from model.errors import NotFound, Refused
from model.ids import ScheduleId, WorkflowCode
from model.runs.command_moves import CommandType
from model.time.intervals import FireRule


@dataclass(frozen=True, slots=True)
class Definition:
    """The head of a workflow: its name, its current version, whether it may be started.

    `project_params` is the JSON text of its project's parameters, `limits` what its project may use. `rule` is that of
    its first schedule, and `rules` are those by which starts of schedules fired: only of one that is to be started.
    """

    code: WorkflowCode
    project: str
    name: str
    version: int
    release_state: ReleaseState
    project_params: str = "{}"
    limits: ProjectLimits = NO_LIMITS
    rule: FireRule | None = None
    rules: Mapping[ScheduleId, FireRule] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The name of a definition and its project; the code of a project without a row is 0."""

    name: str
    project: str
    project_code: int


@dataclass(frozen=True)
class Wanted:
    """Which definitions are wanted; None = any. `part` occurs in the name, in any case; all of `tags` are needed."""

    project: str | None = None
    part: str | None = None
    state: ReleaseState | None = None
    tags: Collection[str] = ()
    visible: Collection[str] | None = None
    """Only those of these projects."""


ALL = Wanted()
# The same, with what the intervals of their runs are computed by: of the schedules that fired, and for other starts of
# the first schedule that is ONLINE, else the first.
_TO_START = Sql("""
    WITH fired AS MATERIALIZED (
        SELECT workflow_code, json_agg(json_build_array(id, crontab, time_zone))::text AS rules FROM schedule
        WHERE id = ANY(CAST(:schedules AS bigint[]))                                -- index: schedule_pkey
        GROUP BY workflow_code
    )
    SELECT d.code, d.project, d.name, d.version, d.release_state, coalesce(p.params, '{}') AS project_params,
           p.tenants, p.worker_groups, p.environments, p.data_sources, p.alert_groups, fired.rules,
           (SELECT json_build_array(s.crontab, s.time_zone)::text FROM schedule s    -- index: schedule_of_workflow
            WHERE s.workflow_code = d.code AND d.code = ANY(CAST(:others AS bigint[]))
            ORDER BY s.state <> 'ONLINE', s.id LIMIT 1) AS first
    FROM workflow_definition d LEFT JOIN project p ON p.name = d.project
    LEFT JOIN fired ON fired.workflow_code = d.code
    WHERE d.code = ANY(CAST(:codes AS bigint[]))
""")
# The row lock serializes two saves of one name. Codes that people gave by SQL are passed over.
_LOCK_HEAD = Sql("""
    INSERT INTO workflow_definition (code, project, name, version, release_state)
    VALUES (coalesce(CAST(:code AS bigint),
                     (SELECT next.code
                      FROM (SELECT nextval(pg_get_serial_sequence('workflow_definition', 'code')) AS code
                            FROM generate_series(1, 10000)) AS next
                      WHERE NOT EXISTS (SELECT FROM workflow_definition d WHERE d.code = next.code) LIMIT 1)),
            :project, :name, 1, :release_state)
    ON CONFLICT (project, name) DO UPDATE SET updated_at = clock_timestamp()
    RETURNING code, version
""")
_LAST_VERSION = Sql("SELECT max(version) FROM workflow_version WHERE workflow_code = :code")
_INSERT_VERSION = Sql("""
    INSERT INTO workflow_version (workflow_code, version, spec, created_by, source_text)
    VALUES (:code, :version, CAST(:spec AS jsonb), coalesce(:by, session_user), :source)
""")
_SET_HEAD = Sql("""
    UPDATE workflow_definition SET version = :version, release_state = :release_state, updated_at = clock_timestamp()
    WHERE code = :code
""")


def _definition(row: Row) -> Definition:
    state = ReleaseState(row.release_state)
    limits = limits_of(row)
    return Definition(WorkflowCode(row.code), row.project, row.name, row.version, state, row.project_params, limits)


@made_by(_definition)
@statement("""
    SELECT d.code, d.project, d.name, d.version, d.release_state, coalesce(p.params, '{}') AS project_params,
           p.tenants, p.worker_groups, p.environments, p.data_sources, p.alert_groups
    FROM workflow_definition d LEFT JOIN project p ON p.name = d.project
    WHERE d.code = ANY(CAST(:codes AS bigint[]))
""")
async def heads(connection: AsyncConnection, codes: Collection[WorkflowCode]) -> dict[WorkflowCode, Definition]:
    """The definitions with these codes; those that do not exist are missing."""


async def to_start(
    connection: AsyncConnection,
    codes: Collection[WorkflowCode],
    schedules: Collection[ScheduleId],
    others: Collection[WorkflowCode],
) -> dict[WorkflowCode, Definition]:
    """The definitions with these codes, which are to be started; those that do not exist are missing.

    Args:
        schedules: those that fired some of the starts.
        others: those of the codes that are also started by people, or for the dates of a backfill.
    """
    if not schedules and not others:
        return await heads(connection, codes)  # of children, which have the intervals of their parents
    values = {"codes": list(codes), "schedules": list(schedules), "others": list(others)}
    found = {}
    for row in await connection.execute(_TO_START, values):
        rules = {ScheduleId(id_): FireRule(*rule) for id_, *rule in json.loads(row.rules or "[]")}
        first = FireRule(*json.loads(row.first)) if row.first else None
        found[WorkflowCode(row.code)] = replace(_definition(row), rule=first, rules=rules)
    return found


async def head(connection: AsyncConnection, code: WorkflowCode) -> Definition:
    """One workflow by its code. Raises `NotFound`."""
    found = (await heads(connection, [code])).get(code)
    if found is None:
        raise no_workflow(code)
    return found


def no_workflow(code: WorkflowCode) -> NotFound:
    """The error about a code that no workflow has."""
    return NotFound(f"there is no workflow with the code {code}; `shoal workflow list` lists those there are")


@statement("""
    SELECT d.code, d.name, d.project, coalesce(p.code, 0) AS project_code
    FROM workflow_definition d LEFT JOIN project p ON p.name = d.project
    WHERE d.code = ANY(CAST(:codes AS bigint[]))
""")
async def whereabouts(connection: AsyncConnection, codes: Collection[WorkflowCode]) -> dict[WorkflowCode, Whereabouts]:
    """Names and projects of these definitions; those that do not exist are missing."""


async def find(
    connection: AsyncConnection, name: str, project: str = "default", visible: Collection[str] | None = None
) -> Definition:
    """The definition with this name or code.

    Raises `NotFound`, which names the `visible` projects that have a workflow of this name; None = all.
    """
    found = await _named(connection, project, name)
    if found is None and name.isascii() and name.isdigit() and len(name) < 19:
        found = (await heads(connection, [WorkflowCode(int(name))])).get(WorkflowCode(int(name)))
    if found is None:
        others = [each for each in await projects_with(connection, name) if visible is None or each in visible]
        known = f"it is in {', '.join(others)}: name that with --project" if others else ""
        raise NotFound(
            f'there is no workflow "{name}" in project "{project}"; '
            f"{known or '`shoal workflow list` shows what there is'}"
        )
    return found


@made_by(_definition)
@statement("""
    SELECT d.code, d.project, d.name, d.version, d.release_state, coalesce(p.params, '{}') AS project_params,
           p.tenants, p.worker_groups, p.environments, p.data_sources, p.alert_groups
    FROM workflow_definition d LEFT JOIN project p ON p.name = d.project
    WHERE d.project = :project AND d.name = :name
""")
async def _named(connection: AsyncConnection, project: str, name: str) -> Definition | None: ...


@statement("SELECT project FROM workflow_definition WHERE name = :name ORDER BY project")
async def projects_with(connection: AsyncConnection, name: str) -> list[str]:
    """The names of the projects that have a workflow of this name, sorted."""


# By the primary key; with a project by workflow_definition_name, of which a project has few rows.
@made_by(_definition)
@statement("""
    SELECT d.code, d.project, d.name, d.version, d.release_state, coalesce(p.params, '{}') AS project_params,
           p.tenants, p.worker_groups, p.environments, p.data_sources, p.alert_groups
    FROM workflow_definition d LEFT JOIN project p ON p.name = d.project
    WHERE d.code > coalesce(CAST(:after AS bigint), 0) AND NOT d.is_trial
      AND (CAST(:wanted.project AS text) IS NULL OR d.project = :wanted.project)
      AND (CAST(:wanted.visible AS text[]) IS NULL OR d.project = ANY(CAST(:wanted.visible AS text[])))
      AND (CAST(:wanted.state AS text) IS NULL OR d.release_state = :wanted.state)
      AND (CAST(:wanted.part AS text) IS NULL OR position(lower(:wanted.part) IN lower(d.name)) > 0)
      AND (cardinality(CAST(:wanted.tags AS text[])) = 0
           OR (SELECT v.tags @> to_jsonb(CAST(:wanted.tags AS text[])) FROM workflow_version v
               WHERE v.workflow_code = d.code AND v.version = d.version))           -- index: workflow_version_pkey
    ORDER BY d.code LIMIT :limit
""")
async def page(
    connection: AsyncConnection, limit: int, wanted: Wanted = ALL, after: int | None = None
) -> list[Definition]:
    """Up to `limit` definitions by code, those after the code `after`."""


async def spec_of(connection: AsyncConnection, code: WorkflowCode, version: int) -> WorkflowSpec | Refused | None:
    """A version, or the reason why it cannot be read; None if it is missing."""
    return (await specs(connection, [(code, version)])).get((code, version))


async def specs(
    connection: AsyncConnection, wanted: Collection[tuple[WorkflowCode, int]]
) -> dict[tuple[WorkflowCode, int], WorkflowSpec | Refused]:
    """The requested versions; one that cannot be read has the reason as its value, one that is missing is left out."""
    return {key: _spec_or_reason(content) for key, content in (await contents(connection, wanted)).items()}


# As text: JSON nested too deeply for Python's parser must fail one definition, not the whole fetch.
@statement("""
    SELECT workflow_code, version, spec::text FROM workflow_version
    JOIN unnest(CAST(:wanted.0 AS bigint[]), CAST(:wanted.1 AS integer[])) AS wanted (wanted_code, wanted_version)
      ON workflow_code = wanted_code AND version = wanted_version
""")
async def contents(
    connection: AsyncConnection, wanted: Collection[tuple[WorkflowCode, int]]
) -> dict[tuple[WorkflowCode, int], str]:
    """The same versions as stored, for `read_spec`: JSON text."""


async def save(
    connection: AsyncConnection,
    project: str,
    name: str,
    release_state: ReleaseState,
    spec: WorkflowSpec,
    *,
    new_code: WorkflowCode | None = None,
    layout: Layout | None = None,
    by: str | None = None,
    source: str | None = None,
) -> tuple[Definition, bool]:
    """Save as the current version; a content equal to the current one makes no version. Returns whether one was made.

    Tasks keep the codes that their names had in the previous version. A new workflow gets `new_code`, or the next free
    one. The version gets `layout`; without one a new version gets that of the previous one. It gets `source`, the text
    that says it, its secrets sealed; without one a version that was there keeps its own. `by` is who saves it; None =
    the database's user. If more runs may go on at once, the next of those that wait are called.

    Raises `InvalidWorkflow`: its name, or that of a task, may not be saved.
    """
    _check_names(name, spec)
    values = {"code": new_code, "project": project, "name": name, "release_state": release_state}
    head = (await connection.execute(_LOCK_HEAD, values)).one()
    code = WorkflowCode(head.code)
    current = await spec_of(connection, code, head.version)
    known = _codes(current) if isinstance(current, WorkflowSpec) else {}
    coded = spec.coded(known)
    version, is_new = head.version, False
    if not isinstance(current, WorkflowSpec) or current.coded() != coded:
        last = (await connection.execute(_LAST_VERSION, {"code": code})).scalar()
        version, is_new = (last or 0) + 1, True
        content = coded.model_dump_json(exclude_defaults=True)
        new = {"code": code, "version": version, "spec": content, "by": by, "source": source}
        await connection.execute(_INSERT_VERSION, new)
    elif source is not None:
        await versions.write_source(connection, code, version, source)
    if layout is None and version != head.version:
        before = await versions.read_layout(connection, code, head.version)
        layout = before.only(_codes(coded))
    if layout is not None:
        await versions.write_layout(connection, code, version, layout)
    await connection.execute(_SET_HEAD, {"code": code, "version": version, "release_state": release_state})
    if is_new and spec.max_active > (current.max_active if isinstance(current, WorkflowSpec) else 1):
        # In its lines runs may wait for which there is room now.
        await commands.insert(connection, NewCommand(CommandType.RECOVER_SERIAL_WAIT, code, created_by="serial"))
    await changed(connection, Changes(definitions={code}))
    return Definition(code, project, name, version, release_state), is_new


@statement("SELECT FROM workflow_definition WHERE code = :code FOR NO KEY UPDATE")
async def lock(connection: AsyncConnection, code: WorkflowCode) -> None:
    """Let no other transaction change this workflow, or its schedules through Shoal, until this one ends."""


def _check_names(name: str, spec: WorkflowSpec) -> None:
    fault = fault_of_workflow_name(name)
    of_workflow = [Problem(where=("name",), sentence=fault)] if fault is not None else []
    if problems := [*of_workflow, *faults_of_task_names(spec)]:
        raise InvalidWorkflow(problems)


def _codes(spec: WorkflowSpec) -> Mapping[str, int]:
    return {task.name: task.code for task in spec.coded().tasks if task.code is not None}


def _as_it_is(found: dict[str, Any]) -> dict[str, Any]:
    """Python code, so that other threads can run during the parsing."""
    return found


def _spec_or_reason(content: str) -> WorkflowSpec | Refused:
    try:
        return read_spec(content)
    except Refused as error:
        return error


def read_spec(content: str) -> WorkflowSpec:
    """Parse the content of a version. Raises `Refused`. Parses megabytes in small steps, to let other threads run."""
    spend(len(content) * READ_SPEC_US)
    try:
        return WorkflowSpec.parse(json.loads(content, object_hook=_as_it_is))
    except (ValueError, RecursionError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused(
            "its definition is nested too deeply or contains a number too large to read; save it again"
        ) from None
