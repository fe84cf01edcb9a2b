"""All that is done with accounts is done with the rights of the database role `api`, and of no other part."""

from __future__ import annotations

import secrets

from sqlalchemy import make_url

from dao.accounts import expired, idempotency
from dao.accounts.idempotency import KeyedRequest
from dao.postgres import roles
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from model.accounts.rights import Role, Scope
from service.accounts import audit_pages, logins, own_account, own_sessions, own_tokens, people, project_access
from service.accounts.audit_pages import AuditQuery
from service.accounts.own_account import OwnPassword
from service.accounts.project_access import Limits
from tests.accounts.office import HERE, PASSWORD, ROOT, Office


async def test_the_role_api_may_do_all_that_accounts_need(office: Office) -> None:
    prefix = f"t{secrets.token_hex(4)}_"
    user = f"{prefix}user"
    await roles.grant(office.database, prefix)
    await office.sql(f"CREATE USER {user} PASSWORD 'secret' IN ROLE {prefix}api")
    url = make_url(office.database.url).set(username=user, password="secret").render_as_string(hide_password=False)
    database = Database(url, application_name="shoal-test")
    try:
        await _do_everything(Office.of(database, office.passwords))
    finally:
        await database.close()
        for part in roles.PARTS:
            await office.sql(f"DROP OWNED BY {prefix}{part}")
        await office.sql(f"DROP ROLE {user}, {', '.join(f'{prefix}{part}' for part in roles.PARTS)}")


async def _do_everything(office: Office) -> None:
    async with office.writing() as connection:
        (user,) = (await connection.execute(Sql("SELECT current_user"))).scalars()
        assert str(user).endswith("_user")
        link = await people.make_first_admin(connection, ROOT)
        assert link is not None
        await logins.log_in_by_link(connection, link.secret, HERE)
    anna = await office.account("anna", etl=Role.OWNER)
    caller = await office.caller()
    new = OwnPassword(current=PASSWORD, password="another one")
    await office.ask(caller, own_account.change_own_password, new)
    made = await office.token(caller, Scope.ADMIN, password=new.password)
    await office.token_caller(made.token)
    async with office.writing() as connection:
        request = KeyedRequest(caller.key, "k", b"h" * 32)
        await idempotency.begin(connection, request)
        await idempotency.finish(connection, [(request, idempotency.Answer(200, {}, b""))])
        await expired.delete(connection)
    await office.ask(caller, own_tokens.revoke_token, anna.id, made.id)
    await office.ask(caller, own_sessions.end_other_sessions, anna.id)
    await office.ask(ROOT, project_access.set_project_limits, "etl", Limits(tenants=["etl"]))
    await office.ask(caller, project_access.remove_member, "etl", "anna")
    await office.change(anna.id, disabled=True)
    await office.ask(ROOT, audit_pages.list_audit, AuditQuery())
