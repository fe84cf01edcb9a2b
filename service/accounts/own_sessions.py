"""The operations on the sessions of an account, for itself and for admins: which there are, and ending them."""

from __future__ import annotations

from dao.accounts import accounts, sessions
from dao.accounts.rows import SessionRow
from model.accounts.rights import Right
from model.errors import NotFound
from model.ids import AccountId, LoginSessionId
from service.call import Call, Subject
from service.fields import Answer, Id
from service.operation import operation
from service.paging import ItemsOf


class SessionAnswer(Answer, SessionRow):
    """A browser that is logged in; `is_this` if it is the one that asks."""

    is_this: bool = False


class SessionsEnded(Answer):
    """How many sessions were ended."""

    ended: int


@operation("GET", "/users/{account}/sessions", Right.VIEW_CLUSTER, "sessions", of_account=True)
async def list_sessions(call: Call, account: Id) -> ItemsOf[SessionAnswer]:
    """List the sessions of an account that live, the last used first: its own, or for an admin."""
    call.permit_account(AccountId(account))
    async with call.reading() as connection:
        await accounts.by_id(connection, AccountId(account))
        found = await sessions.of_account(connection, AccountId(account))
    return ItemsOf[SessionAnswer](items=[_answer(row, call.caller.session) for row in found])


@operation("DELETE", "/users/{account}/sessions/{id}", Right.VIEW_CLUSTER, "sessions", status=204)
async def end_session(call: Call, account: Id, id: Id) -> None:
    """End a session of an account: its own, or for an admin."""
    async with call.changing(Subject("session", id, account=AccountId(account))) as change:
        if not await sessions.end(change.connection, AccountId(account), LoginSessionId(id)):
            raise NotFound(f"the account has no session {id}; it may have ended")
        change.before = {"account": account}


@operation("DELETE", "/users/{account}/sessions", Right.VIEW_CLUSTER, "sessions")
async def end_other_sessions(call: Call, account: Id) -> SessionsEnded:
    """End all sessions of an account but the one that asks: its own, or for an admin."""
    async with call.changing(Subject("account", account, account=AccountId(account))) as change:
        await accounts.by_id(change.connection, AccountId(account))
        ended = await sessions.end_all(change.connection, AccountId(account), call.caller.session)
        change.after = {"ended": ended}
        change.answer = SessionsEnded(ended=ended)
    return change.answered(SessionsEnded)


def _answer(row: SessionRow, this: LoginSessionId | None) -> SessionAnswer:
    return SessionAnswer.model_validate(row).model_copy(update={"is_this": row.id == this})
