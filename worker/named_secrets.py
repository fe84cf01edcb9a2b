"""What a task gets decrypted: the URL of a data source, the script of an environment, its SECRET parameters.

Read and decrypted for each attempt, in a short transaction of its own, so that a changed password counts at once and
none stays in memory. The parts of a URL that are secret are hidden from the task's log before the task has them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from dao import data_sources, environments
from dao.data_source_url import parse_data_source_url, secrets_of
from dao.database import Database
from dao.secret_parameters import unseal
from dao.vault import Vault
from model.secret_values import sealed_value


class NamedSecrets:
    """Reads through one worker's database pool."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    async def data_source(self, name: str, hide: Callable[[str], None]) -> str:
        """The URL with its password, which `hide` was told. Raises `NotFound`, `Refused` or `Unavailable`."""
        async with self._database.reading() as connection:
            url = await data_sources.url_of(connection, name, self._vault)
        for secret in secrets_of(parse_data_source_url(url)):
            hide(secret)
        return url

    def parameters(
        self, values: Mapping[str, str], used: Collection[str], hide: Callable[[str], None]
    ) -> dict[str, str]:
        """The same with the sealed ones of `used` opened, which `hide` was told; other sealed ones are left out.

        Raises `Refused`: the key is missing, or one is not of its name.
        """
        found: dict[str, str] = {}
        for name, value in values.items():
            sealed = sealed_value(value)
            if sealed is None:
                found[name] = value
            elif name in used:
                found[name] = unseal(name, sealed, self._vault)
                hide(found[name])
        return found

    async def exports(self, environment: str) -> str:
        """The script of an environment. Raises `NotFound`, `Refused` or `Unavailable`."""
        async with self._database.reading() as connection:
            return await environments.script_of(connection, environment, self._vault)
