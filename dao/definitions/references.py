"""References between workflows, as in their current versions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import WorkflowCode
from model.logic.references import TRIGGER, Reference, references, triggering

# Rarely run, and reads definitions only: no index for it.
_NAMING = Sql("""
    SELECT d.code, d.project, d.name, d.release_state, v.spec::text AS spec
    FROM workflow_definition d JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
    WHERE NOT d.is_trial AND v.spec @> ANY(CAST(:types AS jsonb[]))
""")
_WAITING = Sql("""
    SELECT coalesce(d.project, 'default') AS project, v.spec::text AS spec, i.workflow_code AS code,
           v.spec ->> 'after_last' IS NOT NULL AS is_dated
    FROM (SELECT DISTINCT i.workflow_code, i.workflow_version
          FROM task_instance t JOIN workflow_instance i ON i.id = t.workflow_instance_id
          WHERE t.state = 'RUNNING_EXECUTION' AND t.task_type = 'DEPENDENT') AS i    -- index: task_instance_dependent
    JOIN workflow_version v ON v.workflow_code = i.workflow_code AND v.version = i.workflow_version
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
""")
# Of chains that stopped, too: they go on when their last run is repeated.
_BACKFILLED = Sql("""
    SELECT workflow_code FROM workflow_instance WHERE backfill IS NOT NULL          -- index: workflow_instance_chain
    UNION SELECT workflow_code FROM command WHERE type = 'COMPLEMENT_DATA' AND workflow_code IS NOT NULL
""")
# Their dates wait for each other, though no task of a definition says so.
_DATED = Sql("""
    SELECT d.code FROM workflow_definition d
    JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
    WHERE NOT d.is_trial AND v.spec ->> 'after_last' IS NOT NULL
""")


@dataclass(frozen=True, slots=True)
class _Naming:
    code: WorkflowCode
    project: str
    name: str
    is_online: bool
    named: tuple[tuple[Reference, WorkflowCode | None], ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """A task of one workflow that runs another one or depends on it, or a trigger that waits for its end (`task` is
    empty). `named_code` None: there is no such workflow."""

    code: WorkflowCode
    project: str
    name: str
    task: str
    type: str
    runs: bool
    named_code: WorkflowCode | None
    named_project: str
    named: str


async def relations(connection: AsyncConnection) -> list[Relation]:
    """All relations between workflows, by project, name and task."""
    names = {code: key for key, code in (await _codes(connection)).items()}
    found = []
    for naming in await _namings(connection, ["SUB_PROCESS", "DYNAMIC", "DEPENDENT", TRIGGER]):
        for reference, code in naming.named:
            written = (reference.project or naming.project, str(reference.workflow))
            project, name = written if code is None else names[code]
            own = (naming.code, naming.project, naming.name, reference.task, reference.type, reference.runs)
            found.append(Relation(*own, code, project, name))
    return sorted(set(found), key=lambda each: (each.project, each.name, each.task, each.named_project, each.named))


async def depending_on(connection: AsyncConnection, code: WorkflowCode) -> set[WorkflowCode]:
    """The ONLINE workflows that depend on this one by DEPENDENT tasks, directly or indirectly, without itself."""
    waiting: dict[WorkflowCode, set[WorkflowCode]] = {}
    for naming in await _namings(connection, ["DEPENDENT"]):
        for reference, named in naming.named:
            if named is not None and not reference.runs and naming.is_online:
                waiting.setdefault(named, set()).add(naming.code)
    return _reached(code, waiting) - {code}


async def named_by(connection: AsyncConnection, code: WorkflowCode) -> list[tuple[str, str]]:
    """The other workflows whose tasks run this one or depend on it, or which it triggers: their projects and names."""
    return sorted(
        (naming.project, naming.name)
        for naming in await _namings(connection, ["SUB_PROCESS", "DYNAMIC", "DEPENDENT", TRIGGER])
        if naming.code != code and any(named == code for _, named in naming.named)
    )


async def needed_by_dependents(connection: AsyncConnection) -> tuple[set[WorkflowCode], set[WorkflowCode]]:
    """The workflows that DEPENDENT tasks name: in current versions; and in runs that wait for them now, or will when
    their turn comes in a chain of a backfill. A workflow with `after_last` names itself."""
    codes = await _codes(connection)
    named = {WorkflowCode(code) for (code,) in await connection.execute(_DATED)}
    depends: dict[WorkflowCode, set[WorkflowCode]] = {}
    runs: dict[WorkflowCode, set[WorkflowCode]] = {}
    for naming in await _namings(connection, ["DEPENDENT", "SUB_PROCESS", "DYNAMIC"]):
        for reference, code in naming.named:
            if code is not None:
                (runs if reference.runs else depends).setdefault(naming.code, set()).add(code)
                named |= set() if reference.runs else {code}
    waited: set[WorkflowCode] = set()
    for (backfilled,) in await connection.execute(_BACKFILLED):
        for each in _reached(WorkflowCode(backfilled), runs):
            waited |= depends.get(each, set())
    for row in await connection.execute(_WAITING):
        waited |= {
            code
            for each in _references(row.spec)
            if each.type != TRIGGER and (code := _code(each, row.project, codes)) is not None
        }
        waited |= {WorkflowCode(row.code)} if row.is_dated else set()
    return named, waited


@statement("""
    SELECT :project = 'default' OR EXISTS (SELECT FROM project WHERE name = :project)
        OR EXISTS (SELECT FROM workflow_definition WHERE project = :project)
""")
async def has_project(connection: AsyncConnection, project: str) -> bool:
    """Whether there is one of this name: it has a row or a workflow, or is `default`."""


async def check(connection: AsyncConnection, project: str, name: str, spec: WorkflowSpec) -> list[str]:
    """Errors in the references of this workflow, which is not saved yet: one message each.

    A referenced workflow must exist, and so must the project of a dataset. A workflow may not run itself, directly or
    indirectly.
    """
    problems = []
    for trigger in spec.triggers:
        if not (trigger.dataset or trigger.datasets) or trigger.project in (None, project):
            continue
        if not await has_project(connection, trigger.project):
            problems.append(f'triggers: there is no project "{trigger.project}" whose tasks could update a dataset')
    named = [*references(spec.tasks), *triggering(spec.triggers)]
    if not named:
        return problems
    codes = await _codes(connection)
    own = codes.get((project, name))
    below: dict[WorkflowCode, set[WorkflowCode]] = {}
    for naming in await _namings(connection, ["SUB_PROCESS", "DYNAMIC"]):
        runs = {code for reference, code in naming.named if code is not None and reference.runs}
        if naming.code != own:
            below[naming.code] = runs
    for reference in named:
        where = f'task "{reference.task}"' if reference.task else "triggers"
        code = _code(reference, project, codes)
        if (reference.project or project, reference.workflow) == (project, name) or (own is not None and code == own):
            if reference.runs:
                problems.append(f'{where}: workflow "{name}" contains itself; remove this task')
            elif reference.type == TRIGGER:
                problems.append(f'{where}: workflow "{name}" would start itself again and again; remove this trigger')
            continue
        if code is None:
            problems.append(
                f'{where}: there is no workflow "{reference.workflow}" in project '
                f'"{reference.project or project}"; save that one first'
            )
        elif reference.runs and own is not None and own in _reached(code, below):
            problems.append(
                f'{where}: workflow "{reference.workflow}" runs "{name}" in turn; a workflow must not contain itself'
            )
    return problems


async def _namings(connection: AsyncConnection, types: Collection[str]) -> list[_Naming]:
    wanted = [json.dumps({"triggers": [{}]} if type_ == TRIGGER else {"tasks": [{"type": type_}]}) for type_ in types]
    rows = (await connection.execute(_NAMING, {"types": wanted})).all()
    codes = await _codes(connection) if rows else {}
    namings = []
    for row in rows:
        named = tuple((each, _code(each, row.project, codes)) for each in _references(row.spec) if each.type in types)
        namings.append(_Naming(WorkflowCode(row.code), row.project, row.name, row.release_state == "ONLINE", named))
    return namings


def _references(spec: str) -> list[Reference]:
    """The references of a definition as it is stored; one that cannot be run references nothing."""
    try:
        read = WorkflowSpec.parse(json.loads(spec))
        return [*references(read.tasks), *triggering(read.triggers)]
    except (Refused, ValueError, RecursionError):
        return []


@statement("SELECT project, name, code FROM workflow_definition")
async def _codes(connection: AsyncConnection) -> dict[tuple[str, str], WorkflowCode]: ...


def _code(reference: Reference, project: str, codes: Mapping[tuple[str, str], WorkflowCode]) -> WorkflowCode | None:
    if isinstance(reference.workflow, int):
        code = WorkflowCode(reference.workflow)
        return code if code in codes.values() else None
    return codes.get((reference.project or project, reference.workflow))


def _reached(code: WorkflowCode, after: Mapping[WorkflowCode, Iterable[WorkflowCode]]) -> set[WorkflowCode]:
    found: set[WorkflowCode] = set()
    pending = [code]
    while pending:
        for each in after.get(pending.pop(), ()):
            if each not in found:
                found.add(each)
                pending.append(each)
    return found | {code}
