"""The first login: without any account, a process that serves people creates an admin and a link for it."""

from __future__ import annotations

from dao.postgres.database import Database
from service.accounts.people import make_first_admin
from service.callers import Caller


async def first_login(database: Database, by: str) -> str | None:
    """The API path at which the first admin logs in, once and soon; None if there is an account.

    `by` is the operating-system user, for the audit.
    """
    link = await database.write(make_first_admin, Caller.of_system_user(by))
    return None if link is None else f"/login?link={link.secret}"
