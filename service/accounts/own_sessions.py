"""The sessions of an account, for itself and for admins: which there are, and ending them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.accounts import audit, sessions
from dao.accounts.sessions import SessionRow
from model.errors import NotFound
from model.ids import AccountId, LoginSessionId
from service.callers import Caller


async def listed(connection: AsyncConnection, caller: Caller, account: AccountId) -> Sequence[SessionRow]:
    """The sessions of an account that live, the last used first. Raises `Forbidden`."""
    caller.need_account(account)
    return await sessions.of_account(connection, account)


async def end(connection: AsyncConnection, caller: Caller, account: AccountId, session: LoginSessionId) -> None:
    """End one of them. Raises `Forbidden`, `NotFound`."""
    caller.need_account(account)
    if not await sessions.end(connection, account, session):
        raise NotFound(f"the account has no session {session}; it may have ended")
    await audit.insert(connection, [caller.entry("end_session", "session", session)])


async def end_others(connection: AsyncConnection, caller: Caller, account: AccountId) -> int:
    """End all of them but the caller's own. Returns how many. Raises `Forbidden`."""
    caller.need_account(account)
    ended = await sessions.end_all(connection, account, caller.session)
    await audit.insert(connection, [caller.entry("end_sessions", "account", account, after={"ended": ended})])
    return ended
