"""What a test of accounts wants to be there, each in one sentence."""

from __future__ import annotations

from typing import Any

from dao.accounts.accounts import Account
from dao.postgres.database import Database
from model.rights import Role, Scope
from service.accounts import logins, own_tokens, people, project_access
from service.accounts.logins import LoggedIn
from service.accounts.own_tokens import NewToken
from service.accounts.passwords import Passwords
from service.callers import Caller, Visitor
from tests.dao.scene import Scene

PASSWORD = "correct horse"
ROOT = Caller.of_system_user("root")
HERE = Visitor("10.0.0.1", "Firefox", "request-1")


class Office:
    """Accounts, made by the operating system's user."""

    def __init__(self, database: Database, passwords: Passwords) -> None:
        self.database, self.passwords = database, passwords
        self.sql = Scene(database).sql
        self.writing = database.writing

    async def account(self, name: str = "anna", is_admin: bool = False, **roles: Role) -> Account:
        """An account with `PASSWORD`, and these roles by project."""
        async with self.writing() as connection:
            made = await people.create(connection, ROOT, name, is_admin)
            for project, role in roles.items():
                await project_access.put(connection, ROOT, project, name, role)
        await people.set_password(self.database, self.passwords, ROOT, name, PASSWORD)
        return made

    async def log_in(self, name: str = "anna", password: str = PASSWORD, address: str = "10.0.0.1") -> LoggedIn:
        visitor = Visitor(address, "Firefox", "request-1")
        return await logins.log_in(self.database, self.passwords, name, password, visitor)

    async def session(self, secret: str) -> Caller:
        async with self.database.reading() as connection:
            return await Caller.of_session(connection, secret, HERE)

    async def caller(self, name: str = "anna") -> Caller:
        """The account, logged in."""
        return await self.session((await self.log_in(name)).secret)

    async def token(
        self, owner: Caller, *scopes: Scope, projects: set[str] | None = None, name: str = "ci"
    ) -> NewToken:
        assert owner.account is not None
        async with self.writing() as connection:
            return await own_tokens.make(connection, owner, owner.account, name, scopes, projects=projects)

    async def token_caller(self, text: str) -> Caller:
        async with self.database.reading() as connection:
            return await Caller.of_token(connection, text, HERE)

    async def audited(self) -> list[Any]:
        """Actor and action of each entry, the oldest first."""
        return await self.sql("SELECT actor, action FROM audit ORDER BY id")
