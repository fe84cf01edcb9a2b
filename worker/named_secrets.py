"""What a task gets by name from the database: the URL of a data source, the script of an environment.

Read and decrypted for each attempt, in a short transaction of its own, so that a changed password counts at once and
none stays in memory. The parts of a URL that are secret are hidden from the task's log before the task has them.
"""

from __future__ import annotations

from collections.abc import Callable

from dao import data_sources, environments
from dao.data_source_url import parse_data_source_url, secrets_of
from dao.database import Database
from dao.vault import Vault


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

    async def exports(self, environment: str) -> str:
        """The script of an environment. Raises `NotFound`, `Refused` or `Unavailable`."""
        async with self._database.reading() as connection:
            return await environments.script_of(connection, environment, self._vault)
