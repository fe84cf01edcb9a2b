"""An API in this process, on a real database with the rights of its role alone, and clients of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from argon2 import PasswordHasher
from sqlalchemy import make_url

from api.server import ApiServer
from api.settings import ApiSettings
from api.web_page import Page
from dao.accounts import accounts, tokens
from dao.accounts.tokens import NewToken
from dao.postgres import roles
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from model.accounts.rights import Scope
from model.accounts.tokens import RANDOM_BYTES, make
from service.accounts.passwords import Passwords
from service.call import Backend
from shoal.backend import backend_of, open_heavy_backend
from shoal.config.settings import load_settings
from tests.servers.postgres import secret_of

BASE = "/api/v1"
NO_PAGE = Page(Path(__file__).parent / "none")
"""As where the web page could not be built; tests/page has the other case."""


@dataclass
class Serving:
    """A running API."""

    backend: Backend
    database: Database
    """Its database with all rights, for what a test writes and reads itself."""
    url: str
    stop: asyncio.Event
    """Set, it ends the server."""

    def client(self, token: str | None = None, **headers: str) -> httpx.AsyncClient:
        """A client with a token."""
        return client_of(self.url, token, **headers)


def client_of(url: str = "", token: str | None = None, **headers: str) -> httpx.AsyncClient:
    """A client without TLS, for which it would read the certificates of this machine: 20 ms of processor."""
    given = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(base_url=url, headers={**given, **headers}, timeout=60, verify=False, trust_env=False)


CHEAP = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
"""A password takes a thousandth of the processor that it takes in service, where tests/accounts has it."""


@asynccontextmanager
async def serving(
    database_url: str, registry_url: str | None = None, page: Page = NO_PAGE, **settings: Any
) -> AsyncIterator[Serving]:
    """An API on loopback, on a free port unless the `settings`, which are its own, name one."""
    owner = Database(database_url, application_name="shoal-test", connections_max=4)
    url = await _as_api(owner)
    database = Database(url, application_name="shoal-api", connections_max=8)
    whole = load_settings({"database_url": url, "registry_url": registry_url})
    backend = replace(backend_of(database, whole), passwords=Passwords(CHEAP))
    own = ApiSettings(**{"port": 0, **settings})
    server = ApiServer(backend, own, "0.0.0-test", partial(open_heavy_backend, whole), page)
    server.listen()
    stop = asyncio.Event()
    running = asyncio.create_task(server.serve(stop))
    try:
        yield Serving(backend, owner, server.url, stop)
    finally:
        stop.set()
        await running
        backend.passwords.close()
        await database.close()
        await owner.close()


async def _as_api(owner: Database) -> str:
    """The URL of a user in the role of the API, which has its rights in the databases of tests/api already."""
    async with owner.reading() as connection:
        may = "SELECT has_table_privilege(oid, 'command', 'INSERT') FROM pg_roles WHERE rolname = 'api_of_tests'"
        has_rights = (await connection.execute(Sql(may))).scalar()
    if not has_rights:
        await give_rights(owner)
    return make_url(owner.url).set(username="api_of_tests", password="secret").render_as_string(hide_password=False)


async def give_rights(owner: Database) -> None:
    """Give all roles their rights in a database, and make a user in that of the API."""
    await roles.grant(owner)
    async with owner.writing() as connection:
        if (await connection.execute(Sql("SELECT FROM pg_roles WHERE rolname = 'api_of_tests'"))).first() is None:
            # By the driver: of a statement of ours, the colon in the secret would be a parameter.
            user = f"CREATE USER api_of_tests PASSWORD '{secret_of('secret')}' IN ROLE shoal_api"
            await connection.driver.execute(user.encode())


async def token_of(
    backend: Backend, name: str, *, is_admin: bool = False, scopes: frozenset[Scope] = frozenset({Scope.ADMIN})
) -> str:
    """A token of a new account; give it roles by `members`."""
    token = make(os.urandom(RANDOM_BYTES))
    async with backend.database.writing() as connection:
        account = await accounts.insert(connection, name, is_admin)
        await tokens.insert(connection, account.id, NewToken("test", token.hash, scopes, None, timedelta(days=1)))
    return token.text
