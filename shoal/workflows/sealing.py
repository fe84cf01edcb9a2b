"""Sealing SECRET parameters where users supply them: in an applied file, at a start, or in a schedule."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.definitions import definitions
from dao.definitions.definitions import Definition
from dao.secrets.parameters import sealed_spec, sealed_values
from model.errors import NotFound, Refused
from model.workflow import WorkflowSpec
from shoal.config.keys import SecretSettings, open_vault
from shoal.workflows.workflow_file import WorkflowDocument


async def sealed_for_saving(
    connection: AsyncConnection, document: WorkflowDocument, settings: SecretSettings
) -> WorkflowSpec:
    """The content of a file to save, with its secrets sealed. Raises `Refused`: it has some, and there is no key."""
    if not document.spec.secret_names():
        return document.spec
    try:
        head = await definitions.find(connection, document.name, document.project)
    except NotFound:
        current = None
    else:
        current = (await definitions.specs(connection, [(head.code, head.version)])).get((head.code, head.version))
    before = current if isinstance(current, WorkflowSpec) else None
    return sealed_spec(document.spec, before, open_vault(settings))


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
    if not values:
        return {}
    found = await definitions.specs(connection, [(head.code, version or head.version)])
    secrets: set[str] = set()
    for spec in found.values():
        if isinstance(spec, Refused):
            raise Refused(f'workflow "{head.name}" cannot be read: {spec}')
        secrets |= spec.secret_names().intersection(values)
    return sealed_values(values, secrets, open_vault(settings)) if secrets else dict(values)
