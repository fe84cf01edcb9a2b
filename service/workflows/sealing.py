"""Sealing SECRET parameters where users supply them: in an applied file, at a start, or in a schedule.

A file gets the defaults and the files of its project there too: what seals it makes the content that is
saved, or compared.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from dao.definitions import definitions, projects
from dao.secrets.parameters import sealed_spec, sealed_values
from model.definitions.project_defaults import with_project_defaults
from model.definitions.workflow import WorkflowSpec
from model.errors import NotFound, Refused
from model.parameters.parameters import parse_parameters
from model.parameters.secret_values import without_sealed
from model.time.schedules import ScheduleSpec
from service.secrets.key_settings import SecretSettings, open_vault
from service.workflows.project_files import with_project_files

if TYPE_CHECKING:
    from dao.definitions.definitions import Definition
    from dao.definitions.schedule_contents import StoredSchedule
    from dao.postgres.pool import AsyncConnection
    from service.workflows.workflow_file import WorkflowDocument

S = TypeVar("S", bound=WorkflowSpec)


async def sealed_for_saving(
    connection: AsyncConnection, document: WorkflowDocument, settings: SecretSettings
) -> WorkflowSpec:
    """The content of a file to save, with the defaults and files of its project, and its secrets sealed.

    Raises `Refused`: it has some, and there is no key, the defaults do not fit, or a file is not there.
    """
    defaults = await projects.defaults(connection, document.project)
    spec = await with_project_files(
        connection, with_project_defaults(document.spec, defaults, document.project), document.project
    )
    if not spec.secret_names():
        return spec
    try:
        head = await definitions.find(connection, document.name, document.project)
    except NotFound:
        current = None
    else:
        current = await definitions.spec_of(connection, head.code, head.version)
    before = current if isinstance(current, WorkflowSpec) else None
    return sealed_spec(spec, before, open_vault(settings), document.project)


async def sealed_for_start(
    connection: AsyncConnection,
    head: Definition,
    values: Mapping[str, str],
    settings: SecretSettings,
    version: int | None = None,
) -> dict[str, str]:
    """The values for a run, with those sealed that its workflow declares SECRET.

    Raises `Refused`: there is no key, or the definition cannot be read to find out which are secret.
    """
    return sealed_for(head, await secrets_of(connection, head, values, version), values, settings)


def sealed_for(
    head: Definition, secrets: Collection[str], values: Mapping[str, str], settings: SecretSettings
) -> dict[str, str]:
    """The values, with those of `secrets` sealed. Raises `Refused`: there is no key."""
    return sealed_values(values, secrets, open_vault(settings), head.project) if secrets else dict(values)


async def secrets_of(
    connection: AsyncConnection, head: Definition, names: Collection[str], version: int | None = None
) -> set[str]:
    """Which of these parameters its workflow declares SECRET. Raises `Refused`: the definition cannot be read."""
    if not names:
        return set()
    return secrets_among(head, names, await definitions.spec_of(connection, head.code, version or head.version))


def secrets_among(head: Definition, names: Collection[str], spec: WorkflowSpec | Refused | None) -> set[str]:
    """The same, from what was read; None: the version is missing."""
    if isinstance(spec, Refused):
        raise Refused(f'workflow "{head.name}" cannot be read: {spec}')
    return set() if spec is None else set(spec.secret_names().intersection(names))


async def sealed_schedule(
    connection: AsyncConnection,
    head: Definition,
    spec: ScheduleSpec,
    settings: SecretSettings,
    others: Sequence[StoredSchedule],
) -> ScheduleSpec:
    """A schedule with its SECRET parameters sealed; as one of `others` has them, if it equals that one then.

    Raises `Refused`: it has some, and there is no key.
    """
    values = parse_parameters(spec.params, "params")
    names = await secrets_of(connection, head, values)
    if not names:
        return spec
    vault = open_vault(settings)
    for other in others:
        if other.spec is not None:
            try:
                before = parse_parameters(other.params, "params")
                as_there = sealed_values(values, names, vault, head.project, before)
            except Refused:
                continue  # asterisks stand for nothing there; of what else is wrong the last line speaks
            found = replace(spec, params=json.dumps(as_there, ensure_ascii=False))
            if found.identity == other.spec.identity:
                return found
    sealed = sealed_values(values, names, vault, head.project)
    return replace(spec, params=json.dumps(sealed, ensure_ascii=False))


def masked(spec: WorkflowSpec, type_: type[S]) -> S:
    """The same with asterisks instead of sealed values, which a save takes for those that are stored."""
    return type_.parse(json.loads(without_sealed(spec.model_dump_json(exclude_defaults=True))))
