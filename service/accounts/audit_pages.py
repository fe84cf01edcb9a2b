"""The audit for people: each sees that of the projects that it owns, an admin all of it."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.accounts import audit
from dao.accounts.audit import AuditFilter, AuditRow
from model.ids import AuditId
from model.rights import Right
from service.callers import Caller


async def page(
    connection: AsyncConnection, caller: Caller, wanted: AuditFilter, limit: int, before: AuditId | None = None
) -> list[AuditRow]:
    """The last `limit` entries that the caller may see, or those before one of them, newest first.

    Raises `Forbidden` if it asks for a project that it does not own.
    """
    if caller.may(Right.ADMINISTER):
        return await audit.page(connection, wanted, limit, before)
    if wanted.projects is None:
        owned = caller.projects_with(Right.OWN)
        if owned is None:  # an admin by a token that is not for this
            caller.need(Right.ADMINISTER)
        wanted = replace(wanted, projects=owned)
    for project in wanted.projects or ():
        caller.need(Right.OWN, project)
    return await audit.page(connection, wanted, limit, before)
