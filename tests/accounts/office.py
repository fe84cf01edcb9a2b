"""The scene of tests about accounts, each part in one sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from dao.postgres.database import Database
from model.accounts.rights import Role, Scope
from service.accounts import logins, own_tokens, people, project_access
from service.accounts.logins import LoggedIn
from service.accounts.own_tokens import NewToken, TokenMade
from service.accounts.passwords import Passwords
from service.accounts.people import ChangeUser, LoginLink, NewPassword, NewUser, UserAnswer
from service.accounts.project_access import MemberRole
from service.batches import Batches
from service.call import Backend, Call
from service.callers import Caller, Visitor
from service.operation import Operation
from shoal.backend import backend_of
from shoal.config.settings import load_settings
from tests.dao.scene import Scene

P = ParamSpec("P")
R = TypeVar("R")
PASSWORD = "correct horse"
ROOT = Caller.of_system_user("root")
HERE = Visitor(address="10.0.0.1", user_agent="Firefox", request_id="request-1")


class Office:
    """Accounts, made by the operating system's user."""

    def __init__(self, backend: Backend) -> None:
        self.backend, self.database, self.passwords = backend, backend.database, backend.passwords
        self.sql = Scene(self.database).sql
        self.writing = self.database.writing

    @classmethod
    def of(cls, database: Database, passwords: Passwords) -> Office:
        """Create the office of a database, with cheap passwords."""
        backend = backend_of(database, load_settings({"database_url": database.url}))
        backend.passwords.close()
        return cls(replace(backend, passwords=passwords))

    async def ask(self, caller: Caller, operation: Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The answer of an operation to a caller."""
        return await operation(Call(self.backend, caller, operation), *args, **kwargs)

    async def account(self, name: str = "anna", is_admin: bool = False, **roles: Role) -> UserAnswer:
        """An account with `PASSWORD`, and these roles by project."""
        made = await self.ask(ROOT, people.create_user, NewUser(name=name, is_admin=is_admin))
        for project, role in roles.items():
            await self.ask(ROOT, project_access.put_member, project, name, MemberRole(role=role))
        await self.ask(ROOT, people.set_user_password, made.id, NewPassword(password=PASSWORD))
        return made

    async def change(self, account: int, **what: bool) -> UserAnswer:
        return await self.ask(ROOT, people.change_user, account, ChangeUser(**what))

    async def link(self, account: int) -> LoginLink:
        return await self.ask(ROOT, people.make_login_link, account)

    async def log_in(self, name: str = "anna", password: str = PASSWORD, address: str = "10.0.0.1") -> LoggedIn:
        visitor = Visitor(address=address, user_agent="Firefox", request_id="request-1")
        return await logins.log_in(self.database, self.passwords, name, password, visitor)

    async def session(self, secret: str) -> Caller:
        async with self.database.reading() as connection:
            return await Caller.of_session(connection, secret, HERE)

    async def caller(self, name: str = "anna") -> Caller:
        """The account, logged in."""
        return await self.session((await self.log_in(name)).secret)

    async def token(
        self,
        owner: Caller,
        *scopes: Scope,
        projects: set[str] | None = None,
        name: str = "ci",
        password: str = PASSWORD,
    ) -> TokenMade:
        assert owner.account is not None
        wanted = NewToken(name=name, scopes=scopes, projects=sorted(projects) if projects else None, password=password)
        return await self.ask(owner, own_tokens.make_token, owner.account, wanted)

    async def token_caller(self, text: str) -> Caller:
        return await Caller.of_token(self.database, Batches(), text, HERE)

    async def audited(self) -> list[Any]:
        """Actor and action of each entry, the oldest first."""
        return await self.sql("SELECT actor, action FROM audit ORDER BY id")
