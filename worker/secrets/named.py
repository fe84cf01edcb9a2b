"""What a task receives decrypted: the URL of a data source, the script of an environment, its SECRET parameters.

Each attempt reads and decrypts them in a short transaction of its own, so that a changed password takes effect at once
and none stays in memory. The secret parts of a URL are masked in the task's log before the task receives them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from dao.accounts import members
from dao.postgres.database import Database
from dao.secrets import data_sources, environments
from dao.secrets.data_source_url import parse_data_source_url, secrets_of
from dao.secrets.parameters import unseal
from dao.secrets.vault import Vault
from model.accounts.project_limits import Resource
from model.definitions.task_data_sources import variable_of
from model.ids import WorkflowCode
from model.parameters.secret_values import sealed_value


class NamedSecrets:
    """Reads through one worker's database pool."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    async def data_source(self, workflow: WorkflowCode, name: str, hide: Callable[[str], None]) -> str:
        """The URL with its password, for a run of that workflow; `hide` is called with its secrets.

        Raises `NotFound`, `Refused` (its project may not use it) or `Unavailable`.
        """
        async with self._database.reading() as connection:
            project, limits = await members.of_workflow(connection, workflow)
            limits.check(project, [(Resource.DATA_SOURCE, name)])
            url = await data_sources.url_of(connection, name, self._vault)
        for secret in secrets_of(parse_data_source_url(url)):
            hide(secret)
        return url

    async def variables(
        self, workflow: WorkflowCode, data_sources: Collection[str], hide: Callable[[str], None]
    ) -> dict[str, str]:
        """The URLs of data sources in the form of other programs, without Python drivers, each under its variable.
        Raises as `data_source`."""
        urls = {name: parse_data_source_url(await self.data_source(workflow, name, hide)) for name in data_sources}
        return {
            variable_of(name): url.set(drivername=url.get_backend_name()).render_as_string(hide_password=False)
            for name, url in urls.items()
        }

    async def parameters(
        self, workflow: WorkflowCode, values: Mapping[str, str], used: Collection[str], hide: Callable[[str], None]
    ) -> dict[str, str]:
        """Decrypt the sealed values of `used`, for a run of that workflow; `hide` is called with them. Other sealed
        values are left out.

        Raises `Refused` (the key is missing, or a sealed value belongs to another name or project) or `Unavailable`.
        """
        project, _ = await self._database.read(members.of_workflow, workflow)
        found: dict[str, str] = {}
        for name, value in values.items():
            sealed = sealed_value(value)
            if sealed is None:
                found[name] = value
            elif name in used:
                found[name] = unseal(name, sealed, self._vault, project)
                hide(found[name])
        return found

    async def check_alert_group(self, workflow: WorkflowCode, name: str) -> None:
        """Check that a run of that workflow may send to this alert group. Raises as `data_source`."""
        project, limits = await self._database.read(members.of_workflow, workflow)
        limits.check(project, [(Resource.ALERT_GROUP, name)])

    async def exports(self, environment: str) -> str:
        """The script of an environment. Raises `NotFound`, `Refused` or `Unavailable`."""
        return await self._database.read(environments.script_of, environment, self._vault)
